import { createHash } from 'node:crypto';
import type { Binding, Session } from '../../src/db/session.js';
import { toBigInt, toCount, toText } from '../../src/db/values.js';

// What a finished run leaves beside the entries, made from them here by plain arithmetic: shares no code with the program.

/** Makes the balances of all days anew. */
export async function writeBalances(trx: Session): Promise<void> {
  for (const table of ['account_balance', 'general_balance']) await trx.change(`delete from ${table}`);
  const days = (await trx.tuples('select batch_day from batch order by batch_day')).map(([day]) => toText(day));
  const closing = new Map<string, bigint>();
  for (const day of days) {
    const [row] = await trx.rows('select count(*) as entries from journal_entry where batch_day = ?', [day]);
    await trx.change('update batch set balanced_entries = ? where batch_day = ?', [toCount(row?.['entries']), day]);
    const legs = await trx.tuples(
      `select e.ledger_account, e.sub_account, e.currency, e.side, e.amount_minor
         from journal_entry j join ledger_entry e on e.journal_entry_id = j.id where j.batch_day = ?`,
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
      const columns = ['batch_day', ...keys, 'opening_minor', 'debit_minor', 'credit_minor', 'closing_minor'];
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
): string {
  const moment = `${postedAt.slice(0, 10)}T${postedAt.slice(11, 23)}Z`;
  const head = [id, bizNo, type, batchDay, runId ?? '', ledgerEntries, moment];
  return hashOf(
    [...head, ...legs.flatMap(([, ...leg]) => [...leg.slice(0, 6), (leg as unknown[])[6] ?? ''])]
      .map(netstring)
      .join(''),
  );
}

/** Posts entries with their digests. */
export async function insertEntries(trx: Session, entries: readonly Entry[], legs: readonly Leg[]): Promise<void> {
  const ofEntry = (id: Binding): Leg[] => legs.filter(([of]) => of === id);
  if (entries.length === 0) return;
  await trx.insertMany(
    'journal_entry',
    ['id', 'biz_no', 'type', 'batch_day', 'ledger_entries', 'posted_at', 'digest'],
    entries.map((entry) => [...entry, digestOf(entry, ofEntry(entry[0]), null)]),
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
    'select id, biz_no, type, batch_day, ledger_entries, posted_at, run_id from journal_entry where digest is null',
  );
  for (const row of rows) {
    const legs = await trx.tuples(
      `select journal_entry_id, line_no, ledger_account, sub_account, side, amount_minor, currency, reason
         from ledger_entry where journal_entry_id = ? order by line_no`,
      [toBigInt(row[0])],
    );
    const digest = digestOf(row as unknown as Entry, legs as unknown as Leg[], row[6]);
    await trx.change('update journal_entry set digest = ? where id = ?', [digest, toBigInt(row[0])]);
  }
}

/** Links what no link holds yet, day by day. */
export async function writeLinks(trx: Session): Promise<void> {
  const days = (await trx.tuples('select batch_day from batch order by batch_day')).map(([day]) => toText(day));
  for (const day of days) {
    const [last] = await trx.tuples('select link_no, head from chain_link order by link_no desc limit 1');
    const [ofDay] = await trx.tuples('select max(last_id) from chain_link where batch_day = ?', [day]);
    const afterId = ofDay?.[0] === null || ofDay === undefined ? null : toBigInt(ofDay[0]);
    const entries = await trx.tuples(
      'select id, digest from journal_entry where batch_day = ? and id > ? order by id',
      [day, afterId ?? 0n],
    );
    if (entries.length === 0 && afterId !== null) continue;
    const previous = last === undefined ? '0'.repeat(64) : toText(last[1]);
    const head = hashOf(
      ['settle.link.1', previous, day, ...entries.map(([, digest]) => String(digest)), ''].join('\n'),
    );
    const linkNo = last === undefined ? 1n : toBigInt(last[0]) + 1n;
    const lastId = entries.length === 0 ? (afterId ?? 0n) : toBigInt(entries[entries.length - 1]?.[0]);
    const at = trx.dialect === 'sqlite' ? '2026-12-01T00:00:00.000Z' : '2026-12-01 00:00:00.000';
    await trx.insertMany(
      'chain_link',
      ['link_no', 'batch_day', 'run_id', 'after_id', 'last_id', 'entries', 'previous_head', 'head', 'linked_at'],
      [[linkNo, day, 1, afterId ?? 0n, lastId, entries.length, previous, head, at]],
    );
  }
}
