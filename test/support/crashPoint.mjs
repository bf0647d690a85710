import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

// Loaded before the program (node --import). Wraps the database drivers from outside, writes down each statement, and
// kills the process at one of them. CRASH_POINT says which, as JSON:
//   trace     file that gets a line for each statement, {"no":1,"sql":"…"}, and a last one of the counts
//   at, side  number of the statement to die at, from 1; "before" it reaches the database, once it is "sent", or "after"
//             it took effect, before the program knows. Without them the process lives.
//   inTurn    on a server, statements go out one at a time, in an order that is the same in each run
//   heartbeat statements between two heartbeats, instead of the time that would be different in each run
const point = JSON.parse(process.env.CRASH_POINT ?? '{}');
const trace = openSync(point.trace, 'a');
const require = createRequire(import.meta.url);
const clock = timers.setTimeout;
const sleepers = new Set();
let counted = 0;
let seenByDriver = null;

function note(sql) {
  counted += 1;
  writeSync(trace, `${JSON.stringify({ no: counted, sql: sql.replaceAll(/\s+/g, ' ').trim().slice(0, 400) })}\n`);
  for (const wake of sleepers) wake();
  return counted;
}

/** SIGKILL to oneself is there when the call returns: not one more line of the program runs. */
function dieAt(no, side) {
  if (no === point.at && side === point.side) process.kill(process.pid, 'SIGKILL');
}

process.on('exit', () => {
  writeSync(trace, `${JSON.stringify({ counted, seenByDriver })}\n`);
});

function wrap(prototype, name, textOf) {
  const original = prototype[name];
  prototype[name] = function (...given) {
    const no = note(textOf(this, given));
    dieAt(no, 'before');
    try {
      return original.apply(this, given);
    } finally {
      dieAt(no, 'sent');
      dieAt(no, 'after');
    }
  };
}

function wrapSqlite() {
  const Sqlite = require('better-sqlite3');
  const probe = new Sqlite(':memory:');
  const statement = Object.getPrototypeOf(probe.prepare('select 1'));
  probe.close();
  for (const name of ['run', 'get', 'all', 'iterate']) wrap(statement, name, (self) => self.source);
  wrap(Sqlite.prototype, 'exec', (_, [sql]) => sql);
  // The log is written into the file and deleted then: the last that can be cut.
  wrap(Sqlite.prototype, 'close', () => {
    seenByDriver += 1; // no statement, so nobody tells
    return 'close';
  });
  // The native part of the driver tells each statement too, whichever way it came: what the wrapping is checked against.
  seenByDriver = 0;
  const verbose = () => (seenByDriver += 1);
  const Listening = function (file, options) {
    return new Sqlite(file, { ...options, verbose });
  };
  require.cache[require.resolve('better-sqlite3')].exports = Object.assign(Listening, Sqlite);
}

/** Who goes next. `start` is called with the function that gives the turn back. */
class Turns {
  waiting = [];
  busy = false;
  closing = Promise.resolve();
  /** The connection whose transaction has locked the lease: nobody else goes, or he would wait for it with the turn. */
  holder = null;

  take(connection, text, start) {
    this.waiting.push({ connection, text, start });
    this.next();
  }

  next() {
    if (this.busy) return;
    const at = this.position();
    if (at === -1) return;
    const [{ connection, text, start }] = this.waiting.splice(at, 1);
    this.busy = true;
    start((failed) => {
      this.busy = false;
      this.follow(connection, text, failed);
      void this.afterTheProgram();
    });
  }

  /** Whoever goes on because of this answer, at once or after a few turns of the event loop, has a say in who is next. */
  async afterTheProgram() {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    // How long the pool takes to replace a connection that the program gave up is not the program's doing.
    await this.closing;
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    this.next();
  }

  givenUp(connection) {
    if (this.holder === connection) this.holder = null;
    this.closing = Promise.race([once(connection.stream, 'close'), clock(500)]).then(() => clock(20));
  }

  position() {
    if (this.holder !== null) return this.waiting.findIndex(({ connection }) => connection === this.holder);
    const commit = this.waiting.findIndex(({ text }) => text === 'commit');
    return commit === -1 && this.waiting.length > 0 ? 0 : commit;
  }

  follow(connection, text, failed) {
    if (/^start transaction/.test(text)) connection.crashPointUnit = true;
    if (failed || text === 'commit' || text === 'rollback') connection.crashPointUnit = false;
    if (connection.crashPointUnit === true && /\blease\b/.test(text)) this.holder = connection;
    if (this.holder === connection && connection.crashPointUnit !== true) this.holder = null;
  }
}

function wrapMysql() {
  const { Connection } = require('mysql2');
  const turns = new Turns();
  const turn = (connection, text, start) => {
    if (point.inTurn === true) turns.take(connection, text, start);
    else start(() => undefined);
  };
  for (const name of ['query', 'execute']) {
    const original = Connection.prototype[name];
    Connection.prototype[name] = function (...given) {
      const sql = typeof given[0] === 'string' ? given[0] : given[0].sql;
      const answered = given.pop();
      if (typeof answered !== 'function') throw new Error(`A statement that nobody waits for: ${sql}`);
      turn(this, sql, (done) => {
        const no = note(sql);
        dieAt(no, 'before');
        original.call(this, ...given, (error, ...result) => {
          dieAt(no, 'after');
          done(error !== null);
          answered(error, ...result);
        });
        dieAt(no, 'sent');
      });
    };
  }
  const { connect, destroy } = Connection.prototype;
  Connection.prototype.destroy = function () {
    if (this.stream.closed !== true) turns.givenUp(this);
    return destroy.call(this);
  };
  Connection.prototype.connect = function (connected) {
    turn(this, 'connect', (done) => {
      connect.call(this, (...result) => {
        connected(...result);
        done(false);
      });
    });
  };
}

if ((process.env.SETTLE_DATABASE_URL ?? '').startsWith('sqlite:')) wrapSqlite();
else wrapMysql();

if (point.heartbeat !== undefined) {
  timers.setTimeout = (_ms, value, options) =>
    new Promise((resolve, reject) => {
      const due = counted + point.heartbeat;
      const wake = () => {
        if (counted >= due) end(() => resolve(value));
      };
      const stop = () => end(() => reject(options.signal.reason));
      const end = (settle) => {
        sleepers.delete(wake);
        options?.signal?.removeEventListener('abort', stop);
        settle();
      };
      if (options?.signal?.aborted) stop();
      else {
        sleepers.add(wake);
        options?.signal?.addEventListener('abort', stop);
      }
    });
  syncBuiltinESMExports();
}
