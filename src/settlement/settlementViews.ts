import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';

/** The transaction that claimed an order, with all that it claimed. */
export interface ChunkView {
  readonly lane: string;
  readonly orders: number;
  readonly nets: number;
  readonly committedAt: string;
}

export async function chunkOf(session: Session, runId: bigint, chunkNo: number): Promise<ChunkView | null> {
  const [row] = await session.rows(
    'select lane, orders, nets, committed_at from chunk where run_id = ? and chunk_no = ?',
    [runId, chunkNo],
  );
  if (row === undefined) return null;
  return {
    lane: toText(row['lane']),
    orders: toCount(row['orders']),
    nets: toCount(row['nets']),
    committedAt: toInstant(row['committed_at']),
  };
}

export interface NetView {
  readonly bizNo: string;
  readonly orders: number;
  readonly amountMinor: bigint;
  readonly feeMinor: bigint;
}

/** The net of an account in a chunk and currency, or null. */
export async function netIn(
  session: Session,
  { runId, chunkNo }: { runId: bigint; chunkNo: number },
  accountNo: string,
  currency: string,
): Promise<NetView | null> {
  const [row] = await session.rows(
    `select biz_no, orders, amount_minor, fee_minor from net
      where run_id = ? and chunk_no = ? and account_no = ? and currency = ?`,
    [runId, chunkNo, accountNo, currency],
  );
  if (row === undefined) return null;
  return {
    bizNo: toText(row['biz_no']),
    orders: toCount(row['orders']),
    amountMinor: toBigInt(row['amount_minor']),
    feeMinor: toBigInt(row['fee_minor']),
  };
}

/** Why and when an account was set aside for a day, and by whom it was let go. */
export interface QuarantineView {
  readonly code: string;
  readonly detail: string;
  readonly orders: number;
  readonly runId: bigint;
  readonly since: string;
  readonly isActive: boolean;
  readonly releasedAt: string | null;
  readonly releasedBy: string | null;
  readonly releaseReason: string | null;
}

export async function quarantineOf(session: Session, day: BatchDay, accountNo: string): Promise<QuarantineView[]> {
  const rows = await session.rows(
    `select code, detail, orders, run_id, since, active, released_at, released_by, release_reason from quarantine
      where batch_day = ? and account_no = ? order by id`,
    [day, accountNo],
  );
  return rows.map((row) => ({
    code: toText(row['code']),
    detail: toText(row['detail']),
    orders: toCount(row['orders']),
    runId: toBigInt(row['run_id']),
    since: toInstant(row['since']),
    isActive: row['active'] !== null,
    releasedAt: toInstantOrNull(row['released_at']),
    releasedBy: toTextOrNull(row['released_by']),
    releaseReason: toTextOrNull(row['release_reason']),
  }));
}

/** When a run noticed that an order was taken from it, and in which state it was; null where none did. */
export async function withdrawalOf(
  session: Session,
  orderId: bigint,
): Promise<{ runId: bigint; foundState: string; noticedAt: string } | null> {
  const [row] = await session.rows('select run_id, found_state, noticed_at from withdrawn_order where order_id = ?', [
    orderId,
  ]);
  if (row === undefined) return null;
  return {
    runId: toBigInt(row['run_id']),
    foundState: toText(row['found_state']),
    noticedAt: toInstant(row['noticed_at']),
  };
}

/** How many accounts are set aside now, each for each day. */
export async function quarantinedNow(session: Session): Promise<number> {
  const [row] = await session.rows('select count(*) as accounts from quarantine where active = 1');
  return toCount(row?.['accounts']);
}
