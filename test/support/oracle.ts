import { readdirSync } from 'node:fs';
import type { Database } from '../../src/db/database.js';
import type { Row } from '../../src/db/session.js';
import { reconcileDay } from '../../src/reconciliation/reconcile.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { collectReport } from '../../src/reports/dayReport.js';
import { reportJson } from '../../src/reports/reportJson.js';
import { day, everyRow, moneyDump, runDay } from './day.js';

// What must hold after any fault and the run that mends it. Each question is asked twice where it can be: of the program's
// own proofs, and by SQL of this file, which shares nothing with them.

export interface OracleOptions {
  batchDay?: string;
  /** A further run, which must change no row; null where the test has shown it already. */
  rerun?: (() => Promise<unknown>) | null;
  /** Folders in which no half-written file may be left. */
  folders?: readonly string[];
}

/**
 * Throws, naming all that is wrong, unless the database is as sound as one in which the run was never disturbed.
 * `undisturbed` is the money dump of such a database; null where the day cannot be compared with another.
 */
export async function soundAfter(
  database: Database,
  undisturbed: readonly string[] | null,
  options: OracleOptions = {},
): Promise<void> {
  const wrong = await contradictions(database, undisturbed, options);
  if (wrong.length > 0) throw new Error(`Not sound after the fault:\n${wrong.join('\n')}`);
}

/** The same as a list; empty when all is sound. */
export async function contradictions(
  database: Database,
  undisturbed: readonly string[] | null,
  options: OracleOptions = {},
): Promise<string[]> {
  const batchDay = options.batchDay ?? day;
  const wrong: string[] = [];
  wrong.push(...(await proofs(database, batchDay)));
  for (const [what, sql] of questions) wrong.push(...(await found(database, what, sql)));
  wrong.push(...(await messagesAndOrders(database)));
  if (undisturbed !== null) wrong.push(...differences(undisturbed, await moneyDump(database)));
  wrong.push(...(await toldAndStored(database, batchDay)));
  if (options.rerun !== null) {
    const before = await everyRow(database);
    await (options.rerun ?? (() => runDay(database, { target: batchDay })))();
    if ((await everyRow(database)) !== before) wrong.push('a further run changed rows');
  }
  for (const folder of options.folders ?? []) {
    const left = readdirSync(folder).filter((name) => /\.[0-9]{3,}$|\.tmp$|~$/.test(name));
    wrong.push(...left.map((name) => `left in ${folder}: ${name}`));
  }
  return wrong;
}

async function proofs(database: Database, batchDay: string): Promise<string[]> {
  const verified = await verifyBooks(database, { batchDay });
  const reconciled = await reconcileDay(database, batchDay);
  return [
    ...verified.filter(({ ok }) => !ok).map((check) => `verify ${JSON.stringify(check.contradictions)}`),
    ...(reconciled.outcome === 'OK' ? [] : [`reconcile says ${reconciled.outcome}`]),
  ];
}

/** Each finds rows that must not be there. */
const questions: readonly (readonly [string, string])[] = [
  [
    'journal entry whose debits are not its credits',
    `select journal_entry_id, currency, sum(case side when 'DEBIT' then amount_minor else -amount_minor end) as off_by
       from ledger_entry group by journal_entry_id, currency
     having sum(case side when 'DEBIT' then amount_minor else -amount_minor end) <> 0`,
  ],
  [
    'currency whose debits are not its credits',
    `select currency, sum(case side when 'DEBIT' then amount_minor else -amount_minor end) as off_by
       from ledger_entry group by currency
     having sum(case side when 'DEBIT' then amount_minor else -amount_minor end) <> 0`,
  ],
  [
    'account whose payable is not the sum of its settled orders',
    `select account_no, currency, sum(owed) as owed, sum(booked) as booked from (
       select account_no, currency,
              case when type in ('REFUND', 'FEE') then -amount_minor else amount_minor end as owed, 0 as booked
         from settlement_order where state = 'SUCCESS'
       union all
       select sub_account, currency, 0, case side when 'CREDIT' then amount_minor else -amount_minor end
         from ledger_entry where ledger_account = 'MERCHANT_PAYABLE') as both_sides
      group by account_no, currency having sum(owed) <> sum(booked)`,
  ],
  [
    // Grouped and not joined, so that no index is needed: each place has one net, which takes all its orders away.
    'place that has not one net, or whose net is not the sum of its orders',
    `select run_id, chunk_no, account_no, currency, sum(nets) as nets, sum(orders) as orders_off, sum(minor) as minor_off from (
       select run_id, chunk_no, account_no, currency, 0 as nets, 1 as orders,
              case when type in ('REFUND', 'FEE') then -amount_minor else amount_minor end as minor
         from settlement_order where state in ('PROCESSING', 'SUCCESS')
       union all
       select run_id, chunk_no, account_no, currency, 1, -orders, -amount_minor from net) as place
      group by run_id, chunk_no, account_no, currency
     having sum(nets) <> 1 or sum(orders) <> 0 or sum(minor) <> 0`,
  ],
  [
    'order whose history did not go forward step by step',
    `select order_no, state, version from settlement_order
      where version <> case state when 'INIT' then 0 when 'PROCESSING' then 1 when 'SUCCESS' then 2 else 1 end`,
  ],
  ['order that is still in PROCESSING', `select order_no from settlement_order where state = 'PROCESSING'`],
  [
    'message without its journal entry',
    `select m.id, m.biz_no, m.state from outbox m
       left join journal_entry j on j.id = m.id and j.biz_no = m.biz_no and j.batch_day = m.batch_day
      where j.id is null or m.state <> 'SENT'`,
  ],
  [
    'journal entry without its message',
    `select j.id, j.biz_no from journal_entry j left join outbox m on m.id = j.id and m.biz_no = j.biz_no where m.id is null`,
  ],
  [
    'net without exactly one message',
    `select n.biz_no, count(m.id) as messages from net n left join outbox m on m.biz_no = n.biz_no
      group by n.biz_no having count(m.id) <> 1`,
  ],
  [
    'journal entry with another number of lines than it says',
    `select j.id, j.ledger_entries, count(l.line_no) as found_entries from journal_entry j
       left join ledger_entry l on l.journal_entry_id = j.id group by j.id, j.ledger_entries
     having j.ledger_entries <> count(l.line_no)`,
  ],
  [
    'journal entry that is booked before its business, or later although its day is open',
    `select j.id, j.batch_day, j.booking_day from journal_entry j
      where j.booking_day < j.batch_day or (j.booking_day > j.batch_day and j.type = 'SETTLEMENT' and not exists (
        select 1 from ledger_period p where p.closed_through >= j.batch_day))`,
  ],
  [
    'closed day whose link does not hold all of its journal entries',
    `select j.booking_day, count(*) as found_entries, min(l.entries) as linked from journal_entry j
       left join chain_link l on l.booking_day = j.booking_day
      where j.booking_day <= (select closed_through from ledger_period) group by j.booking_day
     having count(*) <> coalesce(min(l.entries), 0)`,
  ],
  [
    'books that are not closed as far as the batches',
    `select closed_through from ledger_period
      where coalesce(closed_through, '') <> coalesce((select max(batch_day) from batch where state = 'CLOSED'), '')`,
  ],
  ['run that still says RUNNING', `select id, batch_day from run where state = 'RUNNING'`],
  ['lease that is still held', `select owner from lease where owner is not null`],
];

async function found(database: Database, what: string, sql: string): Promise<string[]> {
  const rows = await database.read((session) => session.rows(sql));
  return rows.slice(0, 5).map((row) => `${what}: ${shown(row)}`);
}

function shown(row: Row): string {
  return Object.entries(row)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}

/** What the payloads of the messages name, taken apart here: each settled order once, no other order at all. */
async function messagesAndOrders(database: Database): Promise<string[]> {
  const settled = new Set(
    (await database.read((session) => session.tuples(`select id from settlement_order where state = 'SUCCESS'`))).map(
      ([id]) => String(id),
    ),
  );
  const seen = new Set<string>();
  const wrong: string[] = [];
  for (const [bizNo, payload] of await database.read((session) =>
    session.tuples('select biz_no, payload from outbox'),
  )) {
    const { orderIds = '' } = JSON.parse(String(payload)) as { orderIds?: string };
    for (const part of orderIds.split(',').filter((ids) => ids !== '')) {
      const [first = '', last = first] = part.split('-');
      for (let id = BigInt(first); id <= BigInt(last); id += 1n) {
        if (seen.has(String(id))) wrong.push(`order ${String(id)} is in a second message: ${String(bizNo)}`);
        if (!settled.has(String(id))) wrong.push(`message ${String(bizNo)} names order ${String(id)}, not settled`);
        seen.add(String(id));
      }
    }
  }
  for (const id of settled) if (!seen.has(id)) wrong.push(`order ${id} is settled and in no message`);
  return wrong;
}

function differences(expected: readonly string[], actual: readonly string[]): string[] {
  const without = (lines: readonly string[], others: readonly string[]): string[] => {
    const left = new Map<string, number>();
    for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
    return lines.filter((line) => {
      const count = left.get(line) ?? 0;
      left.set(line, count - 1);
      return count <= 0;
    });
  };
  const missing = without(expected, actual).map((line) => `missing: ${line}`);
  const extra = without(actual, expected).map((line) => `too much: ${line}`);
  return [...missing.slice(0, 10), ...extra.slice(0, 10)];
}

interface Told {
  status: string;
  totals: { currency: string; orders: number; netMinor: string }[];
  tieOut: { currency: string; agrees: boolean }[];
  ledgerTotals: { currency: string; debitMinor: string; creditMinor: string }[];
  runs: { state: string; exitCode: number | null }[];
}

/** The report as JSON, the document of the last run and its exit code, against what the tables say to plain SQL. */
async function toldAndStored(database: Database, batchDay: string): Promise<string[]> {
  const told = JSON.parse(reportJson(await collectReport(database, { day: batchDay }))) as Told;
  const tuples = async (sql: string): Promise<string[]> =>
    (await database.read((session) => session.tuples(sql, [batchDay]))).map((row) => row.map(String).join(' '));
  const settled = await tuples(
    `select currency, count(*), sum(case when type in ('REFUND', 'FEE') then -amount_minor else amount_minor end)
       from settlement_order where batch_day = ? and state = 'SUCCESS' group by currency order by currency`,
  );
  const booked = await tuples(
    `select l.currency, sum(case l.side when 'DEBIT' then l.amount_minor else 0 end),
            sum(case l.side when 'CREDIT' then l.amount_minor else 0 end)
       from journal_entry j join ledger_entry l on l.journal_entry_id = j.id
      where j.batch_day = ? group by l.currency order by l.currency`,
  );
  const [batch] = await tuples('select state from batch where batch_day = ?');
  const [last] = await tuples(
    `select exit_code, state, document from run where batch_day = ? and document is not null order by id desc limit 1`,
  );
  const [exitCode, state, ...rest] = (last ?? '').split(' ');
  const document = JSON.parse(rest.join(' ') || 'null') as {
    exitCode: number;
    outcome: string;
    closed: boolean;
    totals: Record<string, { currency: string; orders: number; netMinor: string }[]>;
  } | null;
  const lines = (totals: readonly { currency: string; orders: number; netMinor: string }[] | undefined): string[] =>
    (totals ?? []).map(({ currency, orders, netMinor }) => `${currency} ${String(orders)} ${netMinor}`).sort();
  const pairs: [string, unknown, unknown][] = [
    ['report: totals', lines(told.totals), settled],
    [
      'report: ledger totals',
      told.ledgerTotals.map((row) => `${row.currency} ${row.debitMinor} ${row.creditMinor}`).sort(),
      booked,
    ],
    ['report: state', told.status, batch],
    ['report: ties out', told.tieOut.filter(({ agrees }) => !agrees).length, 0],
    ['report: exit code of the last run', String(told.runs.at(-1)?.exitCode), exitCode],
    ['document: exit code', String(document?.exitCode), exitCode],
    ['document: outcome', document?.outcome, state],
    ['document: closed', document?.closed, batch === 'CLOSED'],
    ['document: posted', lines(document?.totals['posted']), settled],
    ['document: claimed', lines(document?.totals['claimed']), settled],
  ];
  return pairs
    .filter(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other))
    .map(([what, one, other]) => `${what}: ${JSON.stringify(one)}, the tables say ${JSON.stringify(other)}`);
}
