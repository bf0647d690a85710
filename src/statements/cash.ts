import type { Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { statementOrder } from './continuity.js';
import { countedStatements } from './storedFiles.js';

/** Why the channel's balance is not what our books say. TIMING passes by itself; TRUE is a difference somebody must mend. */
export type CashReason =
  | 'OPENING_BALANCE'
  | 'ORDERS'
  | 'FEES'
  | 'TRANSFERS'
  | 'LINES_WAITING'
  | 'PAYOUTS_WAITING'
  | 'LINES_MISSING_OURS'
  | 'DUPLICATES'
  | 'PAYOUTS_MISSING_THEIRS'
  | 'DIFFERING'
  | 'OTHER_ENTRIES'
  | 'UNPROVEN';

export interface CashItem {
  readonly reason: CashReason;
  readonly kind: 'EXPLAINED' | 'TIMING' | 'TRUE';
  readonly minor: bigint;
}

/** Channel cash in the books against the closing balance of its statements: the items add up to the difference. */
export interface CashExplanation {
  readonly channel: string;
  readonly currency: string;
  readonly asOf: BatchDay | null;
  readonly ledgerMinor: bigint;
  readonly statementMinor: bigint;
  readonly differenceMinor: bigint;
  readonly items: readonly CashItem[];
}

const kinds: Record<CashReason, CashItem['kind']> = {
  OPENING_BALANCE: 'EXPLAINED',
  ORDERS: 'EXPLAINED',
  FEES: 'EXPLAINED',
  TRANSFERS: 'EXPLAINED',
  LINES_WAITING: 'TIMING',
  PAYOUTS_WAITING: 'TIMING',
  LINES_MISSING_OURS: 'TRUE',
  DUPLICATES: 'TRUE',
  PAYOUTS_MISSING_THEIRS: 'TRUE',
  DIFFERING: 'TRUE',
  OTHER_ENTRIES: 'EXPLAINED',
  UNPROVEN: 'TRUE',
};

/**
 * Explains each currency of a channel whose statements state balances, to the cent: what was there before the first of them,
 * lines that our cash account does not book, lines without a counterpart, payouts that no line has moved, pairs that differ,
 * entries that are no payouts, and what the statement itself leaves open. From one snapshot.
 */
export async function explainCash(session: Session, channel: string): Promise<CashExplanation[]> {
  const explained: CashExplanation[] = [];
  const ends = await endsOf(session, channel);
  if (ends.length === 0) return explained;
  const { effects: lines, fees } = await linesByReason(session, channel);
  const payouts = await payoutsByCurrency(session, channel);
  for (const { currency, asOf, openingMinor, closingMinor } of ends) {
    const ledgerMinor = await ledgerCash(session, channel, currency);
    const line = (reason: string): bigint => lines.get(`${currency} ${reason}`) ?? 0n;
    const paid = payouts.get(currency) ?? { stated: 0n, waiting: 0n, missing: 0n };
    const effects = [...lines].reduce((sum, [key, minor]) => (key.startsWith(`${currency} `) ? sum + minor : sum), 0n);
    const rest = closingMinor - openingMinor - effects;
    // Of formats that take the fee of a line with it, and state no net.
    const untold = rest !== 0n && rest === -(fees.get(currency) ?? 0n) ? rest : 0n;
    const amounts: Record<CashReason, bigint> = {
      OPENING_BALANCE: openingMinor,
      ORDERS: line('ORDERS'),
      FEES: line('FEES') + untold,
      TRANSFERS: line('TRANSFERS'),
      LINES_WAITING: line('LINES_WAITING'),
      PAYOUTS_WAITING: paid.waiting,
      LINES_MISSING_OURS: line('LINES_MISSING_OURS'),
      DUPLICATES: line('DUPLICATES'),
      PAYOUTS_MISSING_THEIRS: paid.missing,
      DIFFERING: line('PAYOUTS') + paid.stated,
      OTHER_ENTRIES: -(ledgerMinor + paid.stated + paid.waiting + paid.missing),
      UNPROVEN: rest - untold,
    };
    const items = (Object.keys(amounts) as CashReason[])
      .map((reason): CashItem => ({ reason, kind: kinds[reason], minor: amounts[reason] }))
      .filter(({ minor }) => minor !== 0n);
    const differenceMinor = closingMinor - ledgerMinor;
    explained.push({ channel, currency, asOf, ledgerMinor, statementMinor: closingMinor, differenceMinor, items });
  }
  return explained;
}

interface Ends {
  currency: string;
  asOf: BatchDay | null;
  openingMinor: bigint;
  closingMinor: bigint;
}

/** The first opening and the last closing balance by currency, over all accounts at the channel. */
async function endsOf(session: Session, channel: string): Promise<Ends[]> {
  const ends = new Map<string, { first: bigint; last: bigint; day: BatchDay | null; currency: string }>();
  for (const { accountRef, balances, toDay } of [...(await countedStatements(session, channel))].sort(statementOrder)) {
    for (const { currency, openingMinor, closingMinor } of balances) {
      if (closingMinor === null) continue;
      const key = `${currency} ${accountRef ?? ''}`;
      const known = ends.get(key);
      ends.set(key, { first: known?.first ?? openingMinor ?? 0n, last: closingMinor, day: toDay, currency });
    }
  }
  const byCurrency = new Map<string, Ends>();
  for (const { currency, first, last, day } of ends.values()) {
    const sum = byCurrency.get(currency);
    byCurrency.set(currency, {
      currency,
      asOf: day !== null && day > (sum?.asOf ?? '') ? day : (sum?.asOf ?? null),
      openingMinor: (sum?.openingMinor ?? 0n) + first,
      closingMinor: (sum?.closingMinor ?? 0n) + last,
    });
  }
  return [...byCurrency.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

interface LineSums {
  /** By currency and reason: "EUR PAYOUTS". */
  effects: Map<string, bigint>;
  /** Fees that lines state, by currency. */
  fees: Map<string, bigint>;
}

/** What lines make of the balance, by what they were found to be: "EUR PAYOUTS". Only of statements that state balances. */
async function linesByReason(session: Session, channel: string): Promise<LineSums> {
  const isMissing = `exists (select 1 from discrepancy d
    where d.file_id = l.file_id and d.seq = l.seq and d.class = 'MISSING_OURS' and d.state <> 'RESOLVED')`;
  const rows = await session.rows(
    `select x.currency, x.reason, ${exactSum(session.dialect, 'x.effect_minor', 'effect')},
            ${exactSum(session.dialect, 'x.signed_minor', 'gross')},
            ${exactSum(session.dialect, 'x.fee_minor', 'fee')}
       from (select l.currency, l.effect_minor, coalesce(l.fee_minor, 0) as fee_minor,
                    case when l.direction = 'CREDIT' then l.amount_minor else -l.amount_minor end as signed_minor,
                    case when m.ours = 'PAYOUT' then 'PAYOUTS' when m.ours = 'ORDER' then 'ORDERS'
                         when o.why = 'DUPLICATE' then 'DUPLICATES'
                         when o.why = 'NOT_FOUND' and ${isMissing} then 'LINES_MISSING_OURS'
                         when o.why = 'NOT_FOUND' then 'LINES_WAITING'
                         when l.kind = 'FEE' then 'FEES' when l.kind = 'TRANSFER' then 'TRANSFERS'
                         else 'LINES_WAITING' end as reason
               from statement_file f
               join statement_head h on h.file_id = f.id and h.intraday = 0
               join statement_line l on l.file_id = f.id and l.statement_no = h.statement_no and l.state = 'DONE'
               join statement_total t on t.file_id = f.id and t.statement_no = h.statement_no and t.currency = l.currency
                                     and t.closing_minor is not null
               left join statement_match m on m.file_id = l.file_id and m.seq = l.seq and m.part <= 1
               left join statement_loose o on o.file_id = l.file_id and o.seq = l.seq
              where f.channel = ? and f.state in ('BOOKED', 'FLAGGED')) x
      group by x.currency, x.reason`,
    [channel],
  );
  const sums = new Map<string, bigint>();
  const fees = new Map<string, bigint>();
  const add = (key: string, minor: bigint): void => {
    sums.set(key, (sums.get(key) ?? 0n) + minor);
  };
  for (const row of rows) {
    const [currency, reason] = [toText(row['currency']), toText(row['reason'])];
    const [effect, gross] = [sumIn(row, 'effect'), sumIn(row, 'gross')];
    fees.set(currency, (fees.get(currency) ?? 0n) + sumIn(row, 'fee'));
    // What the channel kept of a payout is a fee, and no difference of the payout.
    add(`${currency} ${reason}`, reason === 'PAYOUTS' ? gross : effect);
    if (reason === 'PAYOUTS') add(`${currency} FEES`, effect - gross);
  }
  return { effects: sums, fees };
}

/** What our books say was paid, by currency: on a statement, not yet, or missing there. */
async function payoutsByCurrency(
  session: Session,
  channel: string,
): Promise<Map<string, { stated: bigint; waiting: bigint; missing: bigint }>> {
  const rows = await session.rows(
    `select x.currency, x.place, ${exactSum(session.dialect, 'x.amount_minor', 'amount')}
       from (select p.currency, p.amount_minor,
                    case when exists (select 1 from statement_match m
                                       where m.ours = 'PAYOUT' and m.ours_id = p.id and m.role = 'MOVED') then 'stated'
                         when exists (select 1 from discrepancy d
                                       where d.ours = 'PAYOUT' and d.ours_id = p.id and d.class = 'MISSING_THEIRS'
                                         and d.state <> 'RESOLVED') then 'missing'
                         else 'waiting' end as place
               from payout p where p.channel = ? and p.state = 'SUCCESS') x
      group by x.currency, x.place`,
    [channel],
  );
  const sums = new Map<string, { stated: bigint; waiting: bigint; missing: bigint }>();
  for (const row of rows) {
    const currency = toText(row['currency']);
    const sum = sums.get(currency) ?? { stated: 0n, waiting: 0n, missing: 0n };
    sum[toText(row['place']) as keyof typeof sum] = sumIn(row, 'amount');
    sums.set(currency, sum);
  }
  return sums;
}

/** Channel cash, debits less credits: the newest balance that was made, and what was booked on later days. */
async function ledgerCash(session: Session, channel: string, currency: string): Promise<bigint> {
  const [day] = await session.rows('select max(booking_day) as day from balanced_day where entries is not null');
  const until = toTextOrNull(day?.['day']) ?? '1000-01-01';
  const [balance] = await session.rows(
    `select closing_minor from account_balance
      where ledger_account = 'CHANNEL_CASH' and sub_account = ? and currency = ? and booking_day <= ?
      order by booking_day desc limit 1`,
    [channel, currency, until],
  );
  const signed = `case when e.side = 'DEBIT' then e.amount_minor else -e.amount_minor end`;
  const [later] = await session.rows(
    `select ${exactSum(session.dialect, signed, 'moved')} from journal_entry j
       join ledger_entry e on e.journal_entry_id = j.id
      where j.booking_day > ? and e.ledger_account = 'CHANNEL_CASH' and e.sub_account = ? and e.currency = ?`,
    [until, channel, currency],
  );
  const before = balance === undefined ? 0n : toBigInt(balance['closing_minor']);
  return before + (later === undefined ? 0n : sumIn(later, 'moved'));
}
