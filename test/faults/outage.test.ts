import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection, type Connection } from 'mysql2/promise';
import { Database } from '../../src/db/database.js';
import { migrateUp } from '../../src/db/schema.js';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { emptyBooks } from '../support/books.js';
import { day, givenVariedDay, moneyDump, runDay } from '../support/day.js';
import { strikeEverywhere } from '../support/faults.js';
import { soundAfter } from '../support/oracle.js';
import { settleInside } from '../support/inside.js';
import { settle } from '../support/program.js';
import { startProxy } from '../support/proxy.js';
import { startServer, type Server } from '../support/server.js';

// A server that is killed, kills our sessions, locks rows that we want, or has settings nobody would choose. It is durable
// (flush at each commit), isolates snapshots where it knows how to, repeats reads by default, and takes 1 MiB a packet.

const tuning = ['--batch-day', day, '--page-size', '200', '--chunk-size', '5', '--lanes', '3', '--json'];
const size = 400;

let server: Server;
let administrator: Connection;
let url: string;
let database: Database;
let undisturbed: string[];

beforeAll(async () => {
  server = await startServer([
    '--innodb-flush-log-at-trx-commit=1',
    '--loose-innodb-snapshot-isolation=ON',
    '--transaction-isolation=REPEATABLE-READ',
    '--max-allowed-packet=1M',
    '--innodb-lock-wait-timeout=1',
  ]);
  await connectAgain();
  await administrator.query('create database settle');
  url = `${server.url}settle`;
  database = await Database.open(parseDatabaseUrl(url), { connections: 4 });
  await migrateUp(database);
  await givenVariedDay(database, size);
  await runDay(database);
  undisturbed = await moneyDump(database);
}, 120_000);
afterAll(async () => {
  administrator.destroy();
  await database.close();
  await server.stop();
}, 60_000);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function connectAgain(): Promise<void> {
  administrator = await createConnection({ uri: `${server.url}mysql` });
  administrator.on('error', () => undefined);
}

async function freshDay(): Promise<void> {
  await emptyBooks(database);
  await givenVariedDay(database, size);
}

async function deadlocks(): Promise<number> {
  const [rows] = await administrator.query(
    `select variable_value as n from information_schema.global_status where variable_name = 'INNODB_DEADLOCKS'`,
  );
  return Number((rows as { n: string }[])[0]?.n ?? 0);
}

describe('a server that is killed with -9 under load', () => {
  test.each(strikeEverywhere ? [0, 5, 30] : [0])(
    'and is back after %d s: the run ends by itself, done or with 75, and the next start finishes',
    async (seconds) => {
      await freshDay();
      const run = settle(['run', ...tuning], { url });
      const struck = new Promise<void>((resolve) => {
        run.onStderr((text) => {
          if (text.includes('SETTLING begins')) resolve();
        });
      });
      await struck;
      await pause(30);
      await server.kill();
      await pause(seconds * 1_000);
      await server.start();
      await connectAgain();
      const ended = await run;
      expect([3, 75]).toContain(ended.code);
      if (ended.code === 75) {
        expect(JSON.parse(ended.stdout)).toMatchObject({ cancellation: { code: 'DATABASE_LOST' } });
        // The lease was not given back; its process is gone, so nobody waits for it.
        expect((await settleInside(['run', ...tuning], { url })).code).toBe(3);
      }
      await soundAfter(database, undisturbed);
    },
    240_000,
  );
});

describe('a server that', () => {
  /** Does something over and over while the program runs; gives how it ended, and how often it was done. */
  async function runBeside(deed: () => Promise<boolean>, everyMs: number) {
    await freshDay();
    let running = true;
    let done = 0;
    const run = settle(['run', ...tuning], { url }).finally(() => {
      running = false;
    });
    while (running) {
      if (await deed()) done += 1;
      await pause(everyMs);
    }
    return { ...(await run), done };
  }

  test('kills one of our sessions at random, again and again: the day is settled all the same', async () => {
    let killed = 0;
    const rounds = strikeEverywhere ? 10 : 1;
    for (let round = 0; round < rounds; round += 1) {
      const ended = await runBeside(async () => {
        const [rows] = await administrator.query(
          `select id from information_schema.processlist where db = 'settle' and id <> connection_id() order by rand() limit 1`,
        );
        const [victim] = rows as { id: number }[];
        if (victim === undefined) return false;
        await administrator.query(`kill connection ${String(victim.id)}`).catch(() => undefined);
        return true;
      }, 40);
      killed += ended.done;
      expect([3, 75]).toContain(ended.code);
      if (ended.code === 75) expect((await settleInside(['run', ...tuning], { url })).code).toBe(3);
      await soundAfter(database, undisturbed);
    }
    expect(killed).toBeGreaterThan(3 * rounds);
  }, 240_000);

  test('has a writer that locks the same orders the other way round: a deadlock is tried again, whole', async () => {
    await freshDay();
    const proxy = await startProxy(url);
    const opponent = await createConnection({ uri: url });
    await opponent.query('set session transaction isolation level read committed');
    await opponent.query('create table if not exists weight (id int not null primary key) engine = InnoDB');
    const before = await deadlocks();
    let claims: string[] = [];
    proxy.onStatement(/^update settlement_order set state = 'PROCESSING'/, (text) => claims.push(text));
    let running = true;
    const run = settle(['run', ...tuning], { url: proxy.url }).finally(() => {
      running = false;
    });
    /** Locks the last order of a chunk to come, waits for its claim, and then asks for the first one. */
    const oppose = async (): Promise<void> => {
      claims = [];
      await opponent.query('start transaction');
      // The server undoes whichever has done less, so the program must be the one.
      await opponent.query(
        `insert into weight values ${Array.from({ length: 500 }, (_, at) => `(${String(at)})`).join()}`,
      );
      const [rows] = await opponent.query(
        `select id from settlement_order where state = 'INIT' and account_no = 'ELEPHANT' order by id desc limit 1`,
      );
      const [last] = rows as { id: number }[];
      if (last === undefined) return;
      await opponent.query('select id from settlement_order where id = ? for update', [last.id]);
      for (let waited = 0; running && waited < 200; waited += 1) {
        const ids = claims.map((text) => /id in \(([0-9,]+)\)/.exec(text)?.[1]?.split(',') ?? []);
        const chunk = ids.find((list) => list.length > 1 && list.includes(String(last.id)));
        if (chunk !== undefined) {
          await pause(50);
          await opponent.query('select id from settlement_order where id = ? for update', [chunk[0]]);
          return;
        }
        await pause(10);
      }
    };
    try {
      // Fewer than the tries of a unit: an opponent that always wins is what exit code 75 is for.
      while (running && (await deadlocks()) - before < 5) {
        await oppose().catch(() => undefined);
        await opponent.query('rollback');
        await pause(50);
      }
      expect(await run).toMatchObject({ code: 3 });
      await soundAfter(database, undisturbed);
    } finally {
      await opponent.end();
      await proxy.close();
    }
    const forced = (await deadlocks()) - before;
    process.stdout.write(`deadlocks: ${String(forced)}\n`);
    expect(forced).toBeGreaterThan(0);
  }, 120_000);

  test('has a blocker that holds an order for longer than a lock may be waited for: the chunk is tried again', async () => {
    await freshDay();
    const blocker = await createConnection({ uri: url });
    try {
      await blocker.query('start transaction');
      await blocker.query(`select id from settlement_order where order_no = 'V0007' for update`);
      const run = settle(['run', ...tuning], { url });
      // The program's own lock limit is 10 s.
      await pause(13_000);
      await blocker.query('rollback');
      expect((await run).code).toBe(3);
    } finally {
      await blocker.end();
    }
    await soundAfter(database, undisturbed);
  }, 120_000);

  test('takes 1 MiB a packet: a chunk whose rows are larger is written in several statements, whole', async () => {
    await emptyBooks(database);
    await givenVariedDay(database, 400);
    // Some 9,000 accounts of the longest names in one chunk: nets, messages and entries of several MB.
    const rows = Array.from({ length: 9_000 }, (_, at) => [
      ...[
        `BIG${String(at)}`,
        `${'商'.repeat(14)}${String(at).padStart(6, '0')}`,
        day,
        'PAYMENT',
        BigInt(at + 1),
        'USD',
      ],
      ...['CARD', '2026-11-29 10:00:00.000000'],
    ]);
    await database.transact({
      name: 'many accounts',
      landed: () => Promise.resolve(undefined),
      work: async (trx) => {
        await trx.insertMany(
          'account',
          ['account_no', 'state', 'registered_at', 'changed_at'],
          rows.map(([, accountNo]) => [accountNo as string, 'ACTIVE', '2026-11-29', '2026-11-29']),
        );
        await trx.insertMany(
          'settlement_order',
          ['order_no', 'account_no', 'batch_day', 'type', 'amount_minor', 'currency', 'channel', 'occurred_at'],
          rows,
        );
      },
    });
    const ended = await settle(['run', '--batch-day', day, '--chunk-size', '50000', '--lanes', '1'], { url });
    expect(ended).toMatchObject({ code: 3 });
    await soundAfter(database, null);
  }, 120_000);

  test('isolates snapshots, where it can: a record changed since the last read is tried again, as the others', async () => {
    const [rows] = (await administrator.query(`show variables like 'innodb_snapshot_isolation'`)) as unknown as [
      { Value: string }[],
    ];
    const setting = rows[0]?.Value ?? 'unknown to this server';
    process.stdout.write(`innodb_snapshot_isolation: ${setting}\n`);
    // Everything above ran under it; that the setting took effect is all that is left to show.
    expect(['ON', 'unknown to this server']).toContain(setting);
  });
});
