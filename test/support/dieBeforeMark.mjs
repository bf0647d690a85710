import { createRequire } from 'node:module';

// Loaded before the program (node --import): kills it when it is about to write down what a receiver has confirmed. That is
// the moment in which the receiver has the messages and the outbox does not know.
const Sqlite = createRequire(import.meta.url)('better-sqlite3');
const probe = new Sqlite(':memory:');
const statement = Object.getPrototypeOf(probe.prepare('select 1'));
probe.close();
const { run } = statement;
statement.run = function (...given) {
  if (/^update delivery\s+set state = 'SENT'/.test(this.source)) process.kill(process.pid, 'SIGKILL');
  return run.apply(this, given);
};
