import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { header, orderLine } from './support/importing.js';
import { settleInside as settle } from './support/inside.js';
import { startServer, type Server } from './support/server.js';

// What docs/engines.md promises about our SQL, asked of every statement that a server was really sent: by a whole life of
// the program on a server that keeps its general log.

let server: Server;
let administrator: Connection;
let folder: string;
/** Statements of transactions and outside of them, per connection, in the order in which they were sent. */
let sent: { thread: string; sql: string; command: string }[];

const days = Array.from({ length: 10 }, (_, at) => `2026-11-${String(19 + at)}`);
const lastDay = '2026-11-28';
const ordersADay = 1_000;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'settle-sql-rules-'));
  server = await startServer(['--innodb-flush-log-at-trx-commit=2', '--log-output=TABLE']);
  administrator = await createConnection(server.url);
  await administrator.query('create database settle');
  await live();
  const [rows] = await administrator.query<RowDataPacket[]>(
    `select thread_id, event_time, convert(argument using utf8mb4) as argument from mysql.general_log
      where command_type in ('Query', 'Execute') and (thread_id <> connection_id() or argument like 'select ''command: %')`,
  );
  sent = [];
  let command = '';
  for (const row of rows) {
    const sql = String(row['argument']);
    const marked = /^select 'command: (.*)'$/.exec(sql)?.[1];
    if (marked === undefined) sent.push({ thread: String(row['thread_id']), sql, command });
    else command = marked;
  }
}, 400_000);
afterAll(async () => {
  await administrator.end();
  await server.stop();
  rmSync(folder, { recursive: true });
}, 60_000);

async function live(): Promise<void> {
  const url = `${server.url}settle`;
  const type = async (args: string[], codes: number[] = [0]): Promise<void> => {
    await administrator.query(`select 'command: ${args.slice(0, 2).join(' ')}'`);
    const ended = await settle(args, { url });
    if (!codes.includes(ended.code ?? -1)) throw new Error(`settle ${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
  };
  const file = (name: string, lines: string[]): string => {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
    return join(folder, name);
  };
  const ordersOf = (day: string, from: number, count: number): string[] =>
    Array.from({ length: count }, (_, at) =>
      orderLine({
        order_no: `${day}-${String(from + at)}`,
        account_no: at % 50 === 7 ? 'FROZEN' : `A${String(at % 300)}`,
        batch_day: day,
        amount: '1.00',
      }),
    );
  await type(['migrate', 'up']);
  await administrator.query('set global general_log = ON');
  const by = ['--by', 'alice', '--reason', 'a test'];
  await type(['import', 'accounts', file('a.csv', ['account_no,status', 'FROZEN,FROZEN', 'CLOSED,CLOSED'])]);
  const all = days.flatMap((day) => ordersOf(day, 0, ordersADay));
  await type(['import', 'orders', file('o.csv', [header, ...all])]);
  await administrator.query(`update settle.settlement_order set state = 'CANCELED', cancel_code = 'OPERATOR',
    finished_at = now() where order_no = '2026-11-28-3'`);
  await administrator.query('analyze table settle.settlement_order, settle.account');
  await type(['run', '--batch-day', '2026-11-19', '--dry-run'], [3]);
  await type(['run', '--batch-day', lastDay, '--chunk-size', '700'], [3]);
  await type(['import', 'orders', file('late.csv', [header, ...ordersOf('2026-11-20', ordersADay, 5)])]);
  await type(['run', '--batch-day', lastDay], [3]);
  await type(['rerun', '--from-watermark', '0', '--batch-day', lastDay, '--reason', 'a test'], [3]);
  await type(['quarantine', 'list']);
  await type(['import', 'accounts', file('b.csv', ['account_no,status', 'FROZEN,ACTIVE'])]);
  await type(['quarantine', 'release', 'FROZEN', ...by]);
  await type(['run', '--batch-day', lastDay], [0]);
  await type(['resume']);
  for (const view of ['status', 'runs', 'verify', 'reconcile', 'doctor', 'report']) await type([view], [0, 5]);
  for (const view of ['balances', 'entries', 'trial-balance', 'accounts']) await type(['ledger', view]);
  await type(['outbox', 'status']);
  await administrator.query(`update settle.outbox set state = 'PARKED', sent_at = null, last_error = 'x' where id = 1`);
  await type(['outbox', 'requeue', ...by]);
  await administrator.query(`update settle.batch set closed_at = '2026-01-01' where batch_day < '2026-11-25'`);
  await administrator.query(`insert into settle.run (batch_day, kind, state, fencing_no, owner, from_id, reached_id, top_id,
      stage, started_at, heartbeat_at, finished_at, cancel_code)
    select batch_day, kind, 'INTERRUPTED', 0, owner, 0, 0, 0, stage, started_at, heartbeat_at, finished_at, 'DEADLINE'
      from settle.run where batch_day = '2026-11-19' limit 1`);
  await administrator.query(`update settle.run set id = 0 where id = last_insert_id()`);
  await type(['purge', '--older-than', '30', '--yes', ...by]);
  await type(['lock', 'show']);
  await type(['lock', 'release', ...by], [0, 2]);
  await administrator.query('set global general_log = OFF');
}

/** The statement without its values: one for each place in the source. */
function shape(sql: string): string {
  return sql
    .replaceAll(/'(?:[^'\\]|\\.|'')*'/g, `'?'`)
    .replaceAll(/\b[0-9]+\b/g, 'N')
    .replaceAll(/(N|'\?'|null)(\s*,\s*(N|'\?'|null))+/gi, '…')
    .replaceAll(/(\((…|N)\))(,\((…|N)\))+/g, '(…)')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

const own =
  /\b(settlement_order|account|batch|source_total|run|lease|chunk|net|outbox|journal_entry|ledger_entry|quarantine|withdrawn_order|operator_action|ledger_period|balanced_day)\b/;
const shapes = (): string[] => [...new Set(sent.map(({ sql }) => shape(sql)))].filter((sql) => own.test(sql)).sort();
const offending = (rule: RegExp): string[] => shapes().filter((sql) => rule.test(sql));

test('the life of the program went through the statements that matter', () => {
  const seen = shapes();
  expect(seen.length).toBeGreaterThan(80);
  for (const start of [
    /^update settlement_order set state = 'PROCESSING'|^update settlement_order set state = '\?', version/,
    /^update lease/,
    /^insert into net/,
    /^insert into withdrawn_order|^select .*withdrawn_order/,
    /^update quarantine/,
    /^update outbox/,
    /^insert into operator_action/,
    /^delete from run where id /,
  ]) {
    expect(seen.filter((sql) => start.test(sql))).not.toEqual([]);
  }
});

describe('no statement', () => {
  test.each<[string, RegExp]>([
    ['takes a lock by name or on a table', /get_lock|release_lock|\block tables\b|skip locked|nowait/i],
    ['counts over rows to skip them', /\boffset\b|\blimit [^ )]+ ?,/i],
    ['leaves it to the engine what a duplicate means', /insert ignore|replace into|on duplicate key/i],
    ['calculates with ids', /\b(id|[a-z]+_id)\b\s*[-+*/%]\s*(N|[a-z(])/i],
    [
      'changes or deletes rows of several tables',
      /^update [^ ]+ ?(,|[^ ]* join)|^delete [^ ]* ?from [^ ]+ ?,|^delete [a-z]+ from/i,
    ],
    [
      'uses variables of the session, temporary tables or code on the server',
      /@[a-z]|temporary table|\bcall \b|create (trigger|procedure|function|event|view)/i,
    ],
    ['gives back what it wrote, merges, or recurses', /\breturning\b|\bmerge\b|with recursive/i],
    [
      'inserts what it selects, balances apart',
      /^insert into (?!account_balance|general_balance)[^(]+\([^)]*\) ?select/i,
    ],
    ['uses a full join, a window, or a lateral table', /full (outer )?join|\bover ?\(|lateral/i],
  ])('%s', (_what, rule) => {
    expect(offending(rule)).toEqual([]);
  });
});

/** Changes that find their rows otherwise than by primary key: few rows, or none on most nights. */
const byOtherKeys = [
  /^delete from (source_total where batch_day|(account|general)_balance where booking_day) = /, // by the first part of the key
  /^update quarantine set .* where batch_day = '\?' and account_no = '\?' and active = N/, // unique key
  /^update outbox set .* where state = '\?' and biz_no in /, // unique key; messages put back by hand
  /^update run set .* where state = '\?' and fencing_no <> N|^update run set state = '\?'.* where state = /, // runs found dead
];

test('every UPDATE and DELETE names its rows by primary key, or is one of a few that are listed', () => {
  const keys: Record<string, RegExp> = {
    settlement_order: /where id (in \(|= |between )/,
    account: /where account_no (in \(|= )/,
    batch: /where batch_day = /,
    run: /where id (in \(|= |between )/,
    lease: /where job = /,
    outbox: /where id (in \(|= |between )/,
    quarantine: /where id (in \(|= |between )/,
    ledger_period: /where id = /,
    balanced_day: /where booking_day (=|>=) /,
  };
  const changing = shapes().filter((sql) => /^(update|delete)/i.test(sql));
  const tableOf = (sql: string): string => /^(?:update|delete from) ([a-z_]+)/.exec(sql)?.[1] ?? '';
  const strange = changing.filter(
    (sql) => !(keys[tableOf(sql)]?.test(sql) ?? false) && !byOtherKeys.some((listed) => listed.test(sql)),
  );
  expect(strange).toEqual([]);
});

const wholeTables = /^select .* from (batch|run|lease|quarantine)\b/;

test('every SELECT of the run says which rows it wants, so that its cost does not grow with the books', () => {
  const ofRuns = [
    ...new Set(sent.filter(({ command }) => /^run|^rerun|^resume/.test(command)).map(({ sql }) => shape(sql))),
  ];
  const all = ofRuns.filter((sql) => /^select/i.test(sql) && own.test(sql) && !/\bwhere\b/i.test(sql));
  expect(all.filter((sql) => !wholeTables.test(sql))).toEqual([]);
});

test('no transaction is long: statements are bounded, whatever the day', () => {
  const lengths = new Map<string, number>();
  const longest = { statements: 0, command: '' };
  for (const { thread, sql, command } of sent) {
    if (/^start transaction$/i.test(sql)) lengths.set(thread, 0);
    else if (/^(commit|rollback)$/i.test(sql)) {
      const statements = lengths.get(thread) ?? 0;
      if (statements > longest.statements) Object.assign(longest, { statements, command });
      lengths.delete(thread);
    } else if (lengths.has(thread)) lengths.set(thread, (lengths.get(thread) ?? 0) + 1);
  }
  expect(longest.statements).toBeGreaterThan(4);
  expect(longest.statements).toBeLessThan(20);
});

test('orders are claimed, netted and posted together: few statements for a thousand', () => {
  const written = /^(insert into|update) (settlement_order|chunk|net|outbox|journal_entry|ledger_entry)\b/;
  const statements = sent.filter(({ command, sql }) => command === 'run --batch-day' && written.test(sql)).length;
  const thousands = (days.length * ordersADay) / 1_000;
  expect(statements / thousands).toBeGreaterThan(5);
  expect(statements / thousands).toBeLessThan(60);
});

test('each statement of the run that touches orders, nets, messages or entries uses an index', async () => {
  const large = /^(settlement_order|o|outbox|net|n|journal_entry|j|ledger_entry|l|chunk|c)$/;
  const seen = new Map<string, string>();
  for (const { sql, command } of sent) {
    if (command === 'run --batch-day' && /^(select|update)/i.test(sql) && own.test(sql)) seen.set(shape(sql), sql);
  }
  await administrator.query('use settle');
  await administrator.query('analyze table settlement_order, outbox, net, chunk, journal_entry, ledger_entry');
  const scans: string[] = [];
  for (const [form, sql] of seen) {
    const [plan] = await administrator.query<RowDataPacket[]>(`explain ${sql}`);
    for (const step of plan) {
      if (wholeTables.test(form)) continue;
      if (large.test(String(step['table'])) && step['type'] === 'ALL' && Number(step['rows']) > 1_000) {
        scans.push(`${String(step['table'])}: ${form}`);
      }
    }
  }
  expect(seen.size).toBeGreaterThan(20);
  expect(scans).toEqual([]);
});
