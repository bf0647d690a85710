import type { Row, Session, Transaction } from '../db/session.js';
import { fromInstant, toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { DepositReviewState } from '../kernel/states.js';
import type { ReasonCode } from './reasons.js';

/** A plan that was put before people. */
export interface Review {
  readonly id: bigint;
  readonly outTradeNo: string;
  readonly fingerprint: string;
  readonly transactionHash: string;
  /** What was said to be the event; null where the plan chose it. */
  readonly logIndex: number | null;
  readonly planState: string;
  readonly codes: readonly string[];
  readonly state: DepositReviewState;
  readonly version: number;
  readonly openedAt: string;
  readonly openedBy: string;
  readonly decidedAt: string | null;
  readonly decidedBy: string | null;
  /** Decided by the time, and not by a person. */
  readonly isAuto: boolean;
  /** Automatic executions that were tried. */
  readonly attempts: number;
  readonly lastCode: ReasonCode | null;
}

const columns = `r.id, r.out_trade_no, r.fingerprint, r.transaction_hash, r.log_index, r.plan_state, r.codes, r.state,
  r.version, r.opened_at, r.opened_by, r.decided_at, r.decided_by, r.is_auto, r.attempts, r.last_code`;

function toReview(row: Row): Review {
  const codes = toText(row['codes']);
  return {
    id: toBigInt(row['id']),
    outTradeNo: toText(row['out_trade_no']),
    fingerprint: toText(row['fingerprint']),
    transactionHash: toText(row['transaction_hash']),
    logIndex: row['log_index'] === null ? null : toCount(row['log_index']),
    planState: toText(row['plan_state']),
    codes: codes === '' ? [] : codes.split(','),
    state: toText(row['state']) as DepositReviewState,
    version: toCount(row['version']),
    openedAt: toInstant(row['opened_at']),
    openedBy: toText(row['opened_by']),
    decidedAt: toInstantOrNull(row['decided_at']),
    decidedBy: toTextOrNull(row['decided_by']),
    isAuto: toCount(row['is_auto']) === 1,
    attempts: toCount(row['attempts']),
    lastCode: toTextOrNull(row['last_code']) as ReasonCode | null,
  };
}

export async function reviewById(session: Session, id: bigint): Promise<Review | null> {
  const [row] = await session.rows(`select ${columns} from deposit_review r where r.id = ?`, [id]);
  return row === undefined ? null : toReview(row);
}

/** The review of an order under a fingerprint, or null. */
export async function reviewOf(session: Session, outTradeNo: string, fingerprint: string): Promise<Review | null> {
  const [row] = await session.rows(
    `select ${columns} from deposit_review r where r.out_trade_no = ? and r.fingerprint = ?`,
    [outTradeNo, fingerprint],
  );
  return row === undefined ? null : toReview(row);
}

export async function reviewsFor(session: Session, outTradeNo: string): Promise<Review[]> {
  const rows = await session.rows(`select ${columns} from deposit_review r where r.out_trade_no = ? order by r.id`, [
    outTradeNo,
  ]);
  return rows.map(toReview);
}

/** Reviews in a state, the oldest first; opened at `until` or before when it is given. */
export async function reviewsIn(
  session: Session,
  state: DepositReviewState | null,
  limit: number,
  until: string | null = null,
): Promise<Review[]> {
  const bindings: string[] = [];
  const where: string[] = [];
  const only = (sql: string, value: string): void => {
    where.push(sql);
    bindings.push(value);
  };
  if (state !== null) only('r.state = ?', state);
  if (until !== null) only('r.opened_at <= ?', fromInstant(session.dialect, until));
  const rows = await session.rows(
    `select ${columns} from deposit_review r ${where.length === 0 ? '' : `where ${where.join(' and ')}`}
      order by r.opened_at, r.id limit ${String(limit)}`,
    bindings,
  );
  return rows.map(toReview);
}

/**
 * Approved reviews that wait to be settled by themselves, the oldest first: those whose last attempt failed for what may
 * pass, and those that the time approved and nobody has tried yet.
 */
export async function reviewsToRetry(
  session: Session,
  codes: readonly string[],
  includeAuto: boolean,
  limit: number,
): Promise<Review[]> {
  const untried = includeAuto ? `or (r.is_auto = 1 and r.last_code is null)` : '';
  const rows = await session.rows(
    `select ${columns} from deposit_review r
      where r.state = 'approved' and (r.last_code in (${codes.map(() => '?').join(',')}) ${untried})
      order by r.opened_at, r.id limit ${String(limit)}`,
    [...codes],
  );
  return rows.map(toReview);
}

export interface LogLine {
  readonly outTradeNo: string;
  readonly reviewId?: bigint;
  readonly findingId?: bigint;
  readonly actor: string;
  readonly action: string;
  readonly from?: string | null;
  readonly to?: string | null;
  readonly code?: string | null;
  readonly fingerprint?: string | null;
  readonly reason?: string | null;
}

const logColumns = [
  ...['out_trade_no', 'review_id', 'finding_id', 'at', 'actor', 'action', 'from_state', 'to_state', 'code'],
  ...['fingerprint', 'reason'],
];

/** Writes down what happened, in the transaction in which it does. */
export async function log(trx: Transaction, line: LogLine, at: string): Promise<void> {
  await trx.insertMany('deposit_log', logColumns, [
    [
      ...[line.outTradeNo, line.reviewId ?? null, line.findingId ?? null, fromInstant(trx.dialect, at), line.actor],
      ...[line.action, line.from ?? null, line.to ?? null, line.code ?? null, line.fingerprint ?? null],
      line.reason ?? null,
    ],
  ]);
}
