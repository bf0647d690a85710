import type { Session } from '../db/session.js';
import { placeholders, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { Checklist } from './checklist.js';
import { readOwnPayload, type OwnPayload } from './payload.js';

// Journal entries that no run posted: each was booked together with its message, which says it leg by leg.

interface OwnRow {
  id: bigint;
  bizNo: string;
  type: string;
  message: { payload: string; orders: number; accountNo: string | null; batchDay: string; state: string } | null;
}

const windowSize = 500;

/** The own entries of a batch day: what their messages say, and of a reversal the other side of what it reverses. */
export async function checkOwnEntries(session: Session, checklist: Checklist, batchDay: string): Promise<void> {
  for (let lastId = 0n; ;) {
    const window = await readWindow(session, batchDay, lastId);
    const last = window.at(-1);
    if (last === undefined) return;
    const legs = await legsOf(
      session,
      window.map(({ id }) => id),
    );
    for (const row of window) await checkOne(session, checklist, batchDay, row, legs.get(row.id) ?? []);
    lastId = last.id;
  }
}

async function readWindow(session: Session, batchDay: string, lastId: bigint): Promise<OwnRow[]> {
  const rows = await session.rows(
    `select j.id, j.biz_no, j.type, m.id as m_id, m.payload, m.orders, m.account_no, m.batch_day as m_day, m.state
       from journal_entry j left join outbox m on m.id = j.id and m.biz_no = j.biz_no
      where j.batch_day = ? and j.type not in ('SETTLEMENT', 'TERMS') and j.id > ?
      order by j.id limit ${String(windowSize)}`,
    [batchDay, lastId],
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    bizNo: toText(row['biz_no']),
    type: toText(row['type']),
    message:
      row['m_id'] === null
        ? null
        : {
            payload: toText(row['payload']),
            orders: toCount(row['orders']),
            accountNo: toTextOrNull(row['account_no']),
            batchDay: toText(row['m_day']),
            state: toText(row['state']),
          },
  }));
}

/** Legs by journal entry, each as one text, in the order of their lines. */
async function legsOf(session: Session, ids: readonly bigint[]): Promise<Map<bigint, string[]>> {
  const rows = await session.rows(
    `select journal_entry_id, ledger_account, sub_account, side, amount_minor, currency, reason from ledger_entry
      where journal_entry_id in (${placeholders(ids)}) order by journal_entry_id, line_no`,
    ids,
  );
  const legs = new Map<bigint, string[]>();
  for (const row of rows) {
    const id = toBigInt(row['journal_entry_id']);
    const own = legs.get(id) ?? [];
    legs.set(id, own);
    const [ledgerAccount, subAccount, side, currency] = ['ledger_account', 'sub_account', 'side', 'currency'].map(
      (column) => toText(row[column]),
    ) as [string, string, string, string];
    const [amountMinor, reason] = [String(toBigInt(row['amount_minor'])), toTextOrNull(row['reason'])];
    own.push(
      legText({ ledgerAccount, subAccount, side, amountMinor, currency, ...(reason === null ? {} : { reason }) }),
    );
  }
  return legs;
}

type Leg = Omit<OwnPayload['entries'][number], 'side'> & { side: string };

function legText({ ledgerAccount, subAccount, side, amountMinor, currency, reason }: Leg): string {
  const account = subAccount === '' ? ledgerAccount : `${ledgerAccount}/${subAccount}`;
  return `${side} ${currency} ${amountMinor} on ${account}${reason === undefined ? '' : ` for ${reason}`}`;
}

async function checkOne(
  session: Session,
  checklist: Checklist,
  batchDay: string,
  { id, bizNo, type, message }: OwnRow,
  legs: readonly string[],
): Promise<void> {
  checklist.examine('journal-entry', 1);
  if (message === null) return; // `message-posted` tells it
  checklist.examine('payload', 1);
  const contradict = (problem: string): void => checklist.contradict('payload', 'outbox', bizNo, problem);
  const payload = readOwnPayload(message.payload);
  if ('unreadable' in payload) {
    contradict(payload.unreadable);
    return;
  }
  if (message.state !== 'SENT') contradict(`is ${message.state}, and booked already`);
  const heads: [string, unknown, unknown][] = [
    ['type', payload.type, type],
    ['batchDay', payload.batchDay, batchDay],
    ['batchDay', message.batchDay, batchDay],
    ['accountNo', payload.accountNo, message.accountNo],
    ['orders', message.orders, 0],
  ];
  for (const [field, actual, expected] of heads) {
    if (actual !== expected) contradict(`${field} is ${String(actual)} instead of ${String(expected)}`);
  }
  compareLegs(checklist, id, legs, payload.entries.map(legText), 'its message says');
  if (type === 'REVERSAL') await checkReversal(session, checklist, { id, bizNo, batchDay, legs }, payload);
}

async function checkReversal(
  session: Session,
  checklist: Checklist,
  own: { id: bigint; bizNo: string; batchDay: string; legs: readonly string[] },
  { reverses }: OwnPayload,
): Promise<void> {
  const contradict = (problem: string): void =>
    checklist.contradict('journal-entry', 'journal_entry', String(own.id), problem);
  if (reverses === undefined || own.bizNo !== `R-${reverses}`) {
    contradict(`reverses ${String(reverses)} under the number ${own.bizNo}`);
    return;
  }
  const [original] = await session.rows('select id, batch_day from journal_entry where biz_no = ?', [reverses]);
  if (original === undefined) {
    contradict(`reverses ${reverses}, which is not there`);
    return;
  }
  const [originalId, day] = [toBigInt(original['id']), toText(original['batch_day'])];
  if (day !== own.batchDay) contradict(`is of ${own.batchDay}, what it reverses of ${day}`);
  const others = (await legsOf(session, [originalId])).get(originalId) ?? [];
  const turned = others.map((leg) => leg.replace(/^(DEBIT|CREDIT)/, (side) => (side === 'DEBIT' ? 'CREDIT' : 'DEBIT')));
  compareLegs(checklist, own.id, own.legs, turned, `the other side of ${reverses} is`);
}

function compareLegs(
  checklist: Checklist,
  id: bigint,
  booked: readonly string[],
  due: readonly string[],
  who: string,
): void {
  for (let at = 0; at < Math.max(booked.length, due.length); at += 1) {
    const [is, wanted] = [booked[at] ?? 'nothing', due[at] ?? 'nothing'];
    if (is === wanted) continue;
    const problem = `books ${is} in line ${String(at + 1)}, ${who} ${wanted}`;
    checklist.contradict('journal-entry', 'ledger_entry', String(id), problem);
  }
}
