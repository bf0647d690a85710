import { exactSum, placeholders, sumIn, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { Binding, Row, Session } from '../db/session.js';
import { formatMinor } from '../kernel/money.js';
import type { Checklist } from './checklist.js';

// What a payout row says, against its audit trail and against the journal, each read by itself.

/** From which state to which a payout may move, as the design has it. */
const lawful = new Set([
  'INIT PROCESSING',
  'PROCESSING SUCCESS',
  'PROCESSING FAILED',
  'PROCESSING UNKNOWN',
  'UNKNOWN SUCCESS',
  'UNKNOWN PROCESSING',
  'UNKNOWN MANUAL',
  'MANUAL SUCCESS',
  'MANUAL FAILED',
  'MANUAL PROCESSING',
]);

const windowSize = 300;

/** A payout, as far as others tell of it too. */
interface PayoutRow {
  id: bigint;
  batchDay: string;
  accountNo: string;
  currency: string;
  seq: number;
  amountMinor: bigint;
  channel: string;
  key: string;
  state: string;
  version: number;
  checkCount: number;
  submittedOn: string | null;
  returnedOn: string | null;
}

/** Every payout of a day, or of all days. */
export async function checkPayouts(
  session: Session,
  checklist: Checklist,
  batchDay: string | undefined,
): Promise<void> {
  let booked = 0;
  for (let last: PayoutRow | undefined; ;) {
    const window = await readWindow(session, batchDay, last);
    if (window.length === 0) break;
    checklist.examine('payout', window.length);
    const entries = await entriesOf(session, window);
    const moves = await movesOf(session, window);
    const alerts = await alertsOf(session, moves);
    for (const payout of window) {
      const problems = [
        ...keyProblems(payout),
        ...entryProblems(payout, entries),
        ...trailProblems(payout, moves.get(payout.id) ?? [], alerts),
      ];
      for (const problem of problems) checklist.contradict('payout', 'payout', String(payout.id), problem);
      booked += expectedEntries(payout).size;
    }
    last = window[window.length - 1];
  }
  await checkStrayEntries(session, checklist, batchDay, booked);
  await checkTransit(session, checklist);
}

async function readWindow(
  session: Session,
  batchDay: string | undefined,
  last: PayoutRow | undefined,
): Promise<PayoutRow[]> {
  const after = '(p.account_no > ? or (p.account_no = ? and (p.currency > ? or (p.currency = ? and p.seq > ?))))';
  const [where, order, bindings]: [string, string, Binding[]] =
    batchDay === undefined
      ? ['p.id > ?', 'p.id', [last?.id ?? 0n]]
      : [
          `p.batch_day = ? and ${after}`,
          'p.account_no, p.currency, p.seq',
          [batchDay, last?.accountNo ?? '', last?.accountNo ?? '', ...twice(last?.currency ?? ''), last?.seq ?? 0],
        ];
  const rows = await session.rows(
    `select p.id, p.batch_day, p.account_no, p.currency, p.seq, p.amount_minor, p.channel, p.idempotency_key, p.state,
            p.version, p.check_count, p.submitted_on, p.returned_on
       from payout p where ${where} order by ${order} limit ${String(windowSize)}`,
    bindings,
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    batchDay: toText(row['batch_day']),
    accountNo: toText(row['account_no']),
    currency: toText(row['currency']),
    seq: toCount(row['seq']),
    amountMinor: toBigInt(row['amount_minor']),
    channel: toText(row['channel']),
    key: toText(row['idempotency_key']),
    state: toText(row['state']),
    version: toCount(row['version']),
    checkCount: toCount(row['check_count']),
    submittedOn: toTextOrNull(row['submitted_on']),
    returnedOn: toTextOrNull(row['returned_on']),
  }));
}

function twice(text: string): [string, string] {
  return [text, text];
}

function keyProblems({ key, batchDay }: PayoutRow): string[] {
  const isOfDay = key.startsWith(`${batchDay.replaceAll('-', '')}-`) && /^[0-9]{8}-[0-9a-f]{26}$/.test(key);
  return isOfDay ? [] : [`has the key ${key}, which is none of ${batchDay}`];
}

/** Legs by business number: what must be booked of a payout in its state, and on which day of the books. */
function expectedEntries(payout: PayoutRow): Map<string, { legs: string; bookingDay: string | null }> {
  const { id, accountNo, currency, amountMinor, channel, state, submittedOn, returnedOn } = payout;
  const number = (what: string): string => `P${String(id)}.${what}`;
  const amount = `${String(amountMinor)} ${currency}`;
  const legs = (debited: string, credited: string): string =>
    `DEBIT ${debited} ${amount}, CREDIT ${credited} ${amount}`;
  const payable = `MERCHANT_PAYABLE/${accountNo}`;
  const transit = `PAYOUT_IN_TRANSIT/${accountNo}`;
  const expected = new Map<string, { legs: string; bookingDay: string | null }>();
  if (state !== 'INIT') expected.set(number('SUBMITTED'), { legs: legs(payable, transit), bookingDay: submittedOn });
  if (state === 'SUCCESS') {
    expected.set(number('PAID'), { legs: legs(transit, `CHANNEL_CASH/${channel}`), bookingDay: null });
  }
  if (state === 'FAILED') expected.set(number('RETURNED'), { legs: legs(transit, payable), bookingDay: returnedOn });
  return expected;
}

interface BookedEntry {
  batchDay: string;
  bookingDay: string;
  type: string;
  legs: string[];
}

async function entriesOf(session: Session, window: readonly PayoutRow[]): Promise<Map<string, BookedEntry>> {
  const numbers = window.flatMap(({ id }) => ['SUBMITTED', 'PAID', 'RETURNED'].map((what) => `P${String(id)}.${what}`));
  const rows = await session.rows(
    `select j.biz_no, j.type, j.batch_day, j.booking_day, e.side, e.ledger_account, e.sub_account, e.amount_minor, e.currency
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.biz_no in (${placeholders(numbers)}) order by j.id, e.line_no`,
    numbers,
  );
  const entries = new Map<string, BookedEntry>();
  for (const row of rows) {
    const bizNo = toText(row['biz_no']);
    const entry = entries.get(bizNo) ?? {
      batchDay: toText(row['batch_day']),
      bookingDay: toText(row['booking_day']),
      type: toText(row['type']),
      legs: [],
    };
    entries.set(bizNo, entry);
    entry.legs.push(legText(row));
  }
  return entries;
}

function legText(row: Row): string {
  const account = `${toText(row['ledger_account'])}/${toText(row['sub_account'])}`;
  return `${toText(row['side'])} ${account} ${String(toBigInt(row['amount_minor']))} ${toText(row['currency'])}`;
}

function entryProblems(payout: PayoutRow, entries: ReadonlyMap<string, BookedEntry>): string[] {
  const problems: string[] = [];
  const expected = expectedEntries(payout);
  for (const what of ['SUBMITTED', 'PAID', 'RETURNED']) {
    const bizNo = `P${String(payout.id)}.${what}`;
    const [due, is] = [expected.get(bizNo), entries.get(bizNo)];
    if (due === undefined && is === undefined) continue;
    if (is === undefined) problems.push(`is ${payout.state}, and ${bizNo} is not booked`);
    else if (due === undefined) problems.push(`is ${payout.state}, and ${bizNo} is booked`);
    else if (is.legs.join(', ') !== due.legs)
      problems.push(`${bizNo} books ${is.legs.join(', ')} instead of ${due.legs}`);
    else if (is.type !== 'PAYOUT' || is.batchDay !== payout.batchDay) {
      problems.push(`${bizNo} is a ${is.type} of ${is.batchDay} instead of a PAYOUT of ${payout.batchDay}`);
    } else if (due.bookingDay !== null && is.bookingDay !== due.bookingDay) {
      problems.push(`${bizNo} is booked on ${is.bookingDay}, the payout says ${due.bookingDay}`);
    }
  }
  return problems;
}

interface MoveRow {
  payoutId: bigint;
  event: string;
  from: string;
  to: string;
  code: string;
}

async function movesOf(session: Session, window: readonly PayoutRow[]): Promise<Map<bigint, MoveRow[]>> {
  const ids = window.map(({ id }) => id);
  const rows = await session.rows(
    `select payout_id, event, from_state, to_state, code from payout_move
      where payout_id in (${placeholders(ids)}) order by payout_id, id`,
    ids,
  );
  const moves = new Map<bigint, MoveRow[]>();
  for (const row of rows) {
    const payoutId = toBigInt(row['payout_id']);
    const own = moves.get(payoutId) ?? [];
    moves.set(payoutId, own);
    const [event, from, to, code] = ['event', 'from_state', 'to_state', 'code'].map((column) => toText(row[column]));
    own.push({ payoutId, event: event ?? '', from: from ?? '', to: to ?? '', code: code ?? '' });
  }
  return moves;
}

/** Numbers of the alerts that the moves ask for, as far as they are in the outbox. */
async function alertsOf(session: Session, moves: ReadonlyMap<bigint, readonly MoveRow[]>): Promise<Set<string>> {
  const numbers = [...moves.values()].flatMap((own) => own.filter(({ to }) => to === 'MANUAL').map(alertNo));
  const found = new Set<string>();
  for (let at = 0; at < numbers.length; at += windowSize) {
    const part = numbers.slice(at, at + windowSize);
    const rows = await session.tuples(
      `select biz_no from outbox where topic = 'ALERT' and biz_no in (${placeholders(part)})`,
      part,
    );
    for (const [bizNo] of rows) found.add(toText(bizNo));
  }
  return found;
}

function alertNo({ payoutId, code }: MoveRow): string {
  return `A${String(payoutId)}.${code}`;
}

/** The trail begins at INIT, each move goes on where the one before ended, and the last one ends where the payout is. */
function trailProblems(
  { state, version, checkCount }: PayoutRow,
  moves: readonly MoveRow[],
  alerts: ReadonlySet<string>,
): string[] {
  const problems: string[] = [];
  let at = 'INIT';
  for (const move of moves) {
    if (move.from !== at) problems.push(`moves from ${move.from} after it came to ${at}`);
    if (move.from !== move.to && !lawful.has(`${move.from} ${move.to}`)) {
      problems.push(`moves from ${move.from} to ${move.to}, which no payout may`);
    }
    if (move.to === 'MANUAL' && move.from !== 'MANUAL' && !alerts.has(alertNo(move))) {
      problems.push(`is MANUAL for ${move.code} without an alert`);
    }
    at = move.to;
  }
  if (at !== state) problems.push(`is ${state}, and its audit trail ends in ${at}`);
  if (version !== moves.length + checkCount) {
    const known = `${String(moves.length)} rows of audit and ${String(checkCount)} checks`;
    problems.push(`is in version ${String(version)} with ${known}`);
  }
  return problems;
}

/** No entry of a payout that nobody knows. */
async function checkStrayEntries(
  session: Session,
  checklist: Checklist,
  batchDay: string | undefined,
  expected: number,
): Promise<void> {
  const [row] = await session.rows(
    `select count(*) as entries from journal_entry where type = 'PAYOUT' ${batchDay === undefined ? '' : 'and batch_day = ?'}`,
    batchDay === undefined ? [] : [batchDay],
  );
  const entries = toCount(row?.['entries']);
  if (entries === expected) return;
  const problem = `has ${String(entries)} entries of payouts, and payouts call for ${String(expected)}`;
  checklist.contradict('payout', 'journal_entry', batchDay ?? 'all days', problem);
}

/** What is on its way = what the ledger has in transit, per currency. */
async function checkTransit(session: Session, checklist: Checklist): Promise<void> {
  const payouts = await session.rows(
    `select currency, ${exactSum(session.dialect, 'amount_minor', 'amount')} from payout
      where state in ('PROCESSING', 'UNKNOWN', 'MANUAL') group by currency`,
  );
  const signed = `case side when 'CREDIT' then amount_minor else -amount_minor end`;
  const booked = await session.rows(
    `select currency, ${exactSum(session.dialect, signed, 'amount')} from ledger_entry
      where ledger_account = 'PAYOUT_IN_TRANSIT' group by currency`,
  );
  const byCurrency = (rows: readonly Row[]): Map<string, bigint> =>
    new Map(rows.map((row) => [toText(row['currency']), sumIn(row, 'amount')]));
  const [expected, actual] = [byCurrency(payouts), byCurrency(booked)];
  for (const currency of new Set([...expected.keys(), ...actual.keys()])) {
    checklist.examine('payout-transit', 1);
    const [is, due] = [actual.get(currency) ?? 0n, expected.get(currency) ?? 0n];
    if (is === due) continue;
    const problem = `has ${formatMinor(is, currency)} in transit, payouts on their way are ${formatMinor(due, currency)}`;
    checklist.contradict('payout-transit', 'ledger_entry', currency, problem);
  }
}
