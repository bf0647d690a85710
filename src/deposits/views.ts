import type { Binding, Row, Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';

/** A deposit order with what became of it, for lists. */
export interface DepositView {
  readonly outTradeNo: string;
  readonly chainName: string;
  readonly token: string;
  readonly receiver: string;
  readonly amountRaw: string;
  readonly status: string;
  readonly scene: string;
  readonly accountNo: string | null;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly finishedAt: string | null;
  readonly transactionHash: string | null;
  readonly logIndex: number | null;
}

export interface DepositFilter {
  status: string | undefined;
  chainName: string | undefined;
  transactionHash: string | undefined;
  outTradeNo?: string;
  limit: number;
}

/** Deposit orders, the newest first; by transaction those that claim it and those that it settled. */
export async function listDeposits(session: Session, filter: DepositFilter): Promise<DepositView[]> {
  const where: string[] = [];
  const bindings: Binding[] = [];
  const only = (sql: string, ...values: Binding[]): void => {
    where.push(sql);
    bindings.push(...values);
  };
  if (filter.outTradeNo !== undefined) only('o.out_trade_no = ?', filter.outTradeNo);
  if (filter.status !== undefined) only('o.status = ?', filter.status);
  if (filter.chainName !== undefined) only('o.chain_name = ?', filter.chainName);
  if (filter.transactionHash !== undefined) {
    const settled = 'select t.out_trade_no from deposit_transaction t where t.transaction_hash = ?';
    only(`(o.transaction_hash = ? or o.out_trade_no in (${settled}))`, filter.transactionHash, filter.transactionHash);
  }
  const rows = await session.rows(
    `select o.out_trade_no, o.chain_name, o.token, o.receiver, o.amount_raw, o.status, o.scene, o.account_no,
            o.created_at, o.expires_at, o.finished_at, o.transaction_hash, o.log_index
       from deposit_order o ${where.length === 0 ? '' : `where ${where.join(' and ')}`}
      order by o.id desc limit ${String(filter.limit)}`,
    bindings,
  );
  return rows.map(toView);
}

function toView(row: Row): DepositView {
  return {
    outTradeNo: toText(row['out_trade_no']),
    chainName: toText(row['chain_name']),
    token: toText(row['token']),
    receiver: toText(row['receiver']),
    amountRaw: toText(row['amount_raw']),
    status: toText(row['status']),
    scene: toText(row['scene']),
    accountNo: toTextOrNull(row['account_no']),
    createdAt: toInstant(row['created_at']),
    expiresAt: toInstantOrNull(row['expires_at']),
    finishedAt: toInstantOrNull(row['finished_at']),
    transactionHash: toTextOrNull(row['transaction_hash']),
    logIndex: row['log_index'] === null ? null : toCount(row['log_index']),
  };
}

export interface LogView {
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly code: string | null;
  readonly reason: string | null;
  readonly fingerprint: string | null;
}

/** Everything that happened to an order, in the order in which it did. */
export async function depositLog(session: Session, outTradeNo: string): Promise<LogView[]> {
  const rows = await session.rows(
    `select at, actor, action, from_state, to_state, code, reason, fingerprint from deposit_log
      where out_trade_no = ? order by id`,
    [outTradeNo],
  );
  return rows.map((row) => ({
    at: toInstant(row['at']),
    actor: toText(row['actor']),
    action: toText(row['action']),
    from: toTextOrNull(row['from_state']),
    to: toTextOrNull(row['to_state']),
    code: toTextOrNull(row['code']),
    reason: toTextOrNull(row['reason']),
    fingerprint: toTextOrNull(row['fingerprint']),
  }));
}

/** Pending orders that nothing tells apart from this one on the chain: same token, receiver and amount. */
export async function twinsOf(session: Session, view: DepositView): Promise<number> {
  const [row] = await session.rows(
    `select count(*) as orders from deposit_order
      where receiver = ? and token = ? and status = 'pending' and amount_raw = ? and chain_name = ? and out_trade_no <> ?`,
    [view.receiver, view.token, view.amountRaw, view.chainName, view.outTradeNo],
  );
  return Number(toBigInt(row?.['orders']));
}
