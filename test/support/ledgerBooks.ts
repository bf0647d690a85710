import { createHash } from 'node:crypto';
import type { Binding, Session } from '../../src/db/session.js';
import { toBigInt, toCount, toText } from '../../src/db/values.js';

// What a finished run leaves beside the entries, made from them here by plain arithmetic: shares no code with the program.

/** Sets how far the books are closed by what the batches say. */
export async function writePeriod(trx: Session): Promise<void> {
  const [row] = await trx.tuples(
    `select max(batch_day), max(case when state = 'CLOSED' then batch_day end) from batch`,
  );
  const [opened, closed] = (row ?? []).map((day) => (day === null ? null : toText(day))) as [
    string | null,
    string | null,
  ];
  const next =
    opened === null ? null : new Date(Date.parse(`${opened}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
  await trx.change('update ledger_period set booking_day = ?, closed_through = ? where id = 1', [next, closed]);
}

/** Lets entries be written on any day, as long as `writePeriod` was not called again. */
export async function openPeriod(trx: Session): Promise<void> {
  await trx.change('update ledger_period set booking_day = null, closed_through = null where id = 1');
}

/** Days whose books are closed and have something in them, or a batch. */
async function closedDays(trx: Session): Promise<string[]> {
  const rows = await trx.tuples(
    `select day from (select batch_day as day from batch union select booking_day from journal_entry) as known
      where day <= (select closed_through from ledger_period where id = 1) order by day`,
  );
  return rows.map(([day]) => toText(day));
}

/** Makes the balances of all closed days anew. */
export async function writeBalances(trx: Session): Promise<void> {
  for (const table of ['account_balance', 'general_balance', 'balanced_day']) await trx.change(`delete from ${table}`);
  const closing = new Map<string, bigint>();
  for (const day of await closedDays(trx)) {
    const [row] = await trx.rows('select count(*) as entries from journal_entry where booking_day = ?', [day]);
    await trx.insertMany('balanced_day', ['booking_day', 'entries'], [[day, toCount(row?.['entries'])]]);
    const legs = await trx.tuples(
      `select e.ledger_account, e.sub_account, e.currency, e.side, e.amount_minor
         from journal_entry j join ledger_entry e on e.journal_entry_id = j.id where j.booking_day = ?`,
      [day],
    );
    const moved = { account_balance: new Map<string, bigint[]>(), general_balance: new Map<string, bigint[]>() };
    for (const [ledgerAccount, subAccount, currency, side, minor] of legs) {
      const move = (movements: Map<string, bigint[]>, key: unknown[]): void => {
        const [debit = 0n, credit = 0n] = movements.get(JSON.stringify(key)) ?? [];
        const amount = toBigInt(minor);
        movements.set(JSON.stringify(key), side === 'DEBIT' ? [debit + amount, credit] : [debit, credit + amount]);
      };
      move(moved.account_balance, [ledgerAccount, subAccount, currency]);
      move(moved.general_balance, [ledgerAccount, currency]);
    }
    for (const [table, movements] of Object.entries(moved)) {
      const keys =
        table === 'account_balance' ? ['ledger_account', 'sub_account', 'currency'] : ['ledger_account', 'currency'];
      const rows = [...movements].map(([key, [debit = 0n, credit = 0n]]) => {
        const opening = closing.get(table + key) ?? 0n;
        closing.set(table + key, opening + debit - credit);
        const amounts = [opening, debit, credit, opening + debit - credit].map(String);
        return [day, ...(JSON.parse(key) as string[]), ...amounts];
      });
      const columns = ['booking_day', ...keys, 'opening_minor', 'debit_minor', 'credit_minor', 'closing_minor'];
      if (rows.length > 0) await trx.insertMany(table, columns, rows);
    }
  }
}

const hashOf = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
const netstring = (value: unknown): string => `${String(Buffer.byteLength(String(value)))}:${String(value)},`;

type Entry = [id: Binding, bizNo: string, type: string, batchDay: string, ledgerEntries: number, postedAt: string];
type Leg = [
  id: Binding,
  lineNo: number,
  ledgerAccount: string,
  subAccount: string,
  side: string,
  minor: bigint,
  currency: string,
];

/** As docs/ledger.md tells it. `postedAt` as a database spells it. */
function digestOf(
  [id, bizNo, type, batchDay, ledgerEntries, postedAt]: Entry,
  legs: readonly Leg[],
  runId: unknown,
  bookingDay: string,
): string {
  const moment = `${postedAt.slice(0, 10)}T${postedAt.slice(11, 23)}Z`;
  const head = [id, bizNo, type, batchDay, bookingDay, runId ?? '', ledgerEntries, moment];
  return hashOf(
    [...head, ...legs.flatMap(([, ...leg]) => [...leg.slice(0, 6), (leg as unknown[])[6] ?? ''])]
      .map(netstring)
      .join(''),
  );
}

/** Posts entries on their own day, with their digests. */
export async function insertEntries(trx: Session, entries: readonly Entry[], legs: readonly Leg[]): Promise<void> {
  const ofEntry = (id: Binding): Leg[] => legs.filter(([of]) => of === id);
  if (entries.length === 0) return;
  await trx.insertMany(
    'journal_entry',
    ['id', 'biz_no', 'type', 'batch_day', 'ledger_entries', 'posted_at', 'booking_day', 'digest'],
    entries.map((entry) => [...entry, entry[3], digestOf(entry, ofEntry(entry[0]), null, entry[3])]),
  );
  if (legs.length === 0) return;
  await trx.insertMany(
    'ledger_entry',
    ['journal_entry_id', 'line_no', 'ledger_account', 'sub_account', 'side', 'amount_minor', 'currency'],
    legs,
  );
}

/** Gives entries their digests where triggers do not forbid it, for those that a test has written by hand. */
export async function writeDigests(trx: Session): Promise<void> {
  const rows = await trx.tuples(
    'select id, biz_no, type, batch_day, ledger_entries, posted_at, run_id, booking_day from journal_entry where digest is null',
  );
  for (const row of rows) {
    const legs = await trx.tuples(
      `select journal_entry_id, line_no, ledger_account, sub_account, side, amount_minor, currency, reason
         from ledger_entry where journal_entry_id = ? order by line_no`,
      [toBigInt(row[0])],
    );
    const digest = digestOf(row as unknown as Entry, legs as unknown as Leg[], row[6], toText(row[7]));
    await trx.change('update journal_entry set digest = ? where id = ?', [digest, toBigInt(row[0])]);
  }
}

/** Links the closed days that no link holds yet, each with a batch or with entries. */
export async function writeLinks(trx: Session): Promise<void> {
  for (const day of await closedDays(trx)) {
    const [ofDay] = await trx.tuples('select link_no from chain_link where booking_day = ?', [day]);
    if (ofDay !== undefined) continue;
    const [last] = await trx.tuples('select link_no, head from chain_link order by link_no desc limit 1');
    const entries = await trx.tuples('select digest from journal_entry where booking_day = ? order by id', [day]);
    const previous = last === undefined ? '0'.repeat(64) : toText(last[1]);
    const head = hashOf(['settle.link.1', previous, day, ...entries.map(([digest]) => String(digest)), ''].join('\n'));
    const linkNo = last === undefined ? 1n : toBigInt(last[0]) + 1n;
    const at = trx.dialect === 'sqlite' ? '2026-12-01T00:00:00.000Z' : '2026-12-01 00:00:00.000';
    await trx.insertMany(
      'chain_link',
      ['link_no', 'booking_day', 'run_id', 'entries', 'previous_head', 'head', 'linked_at'],
      [[linkNo, day, 1, entries.length, previous, head, at]],
    );
  }
}
