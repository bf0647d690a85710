// Loaded into a `settle` process before anything else: sends it a signal when it reaches its n-th SQLite statement.
import Database from 'better-sqlite3';

const at = Number(process.env.SOAK_STATEMENT);
let statements = 0;

const counted = (prototype, names) => {
  for (const name of names) {
    const original = prototype[name];
    prototype[name] = function (...args) {
      statements += 1;
      if (statements === at) process.kill(process.pid, process.env.SOAK_SIGNAL);
      return original.apply(this, args);
    };
  }
};

const probe = new Database(':memory:');
counted(Object.getPrototypeOf(probe.prepare('select 1')), ['run', 'get', 'all']);
counted(Database.prototype, ['exec']);
probe.close();
