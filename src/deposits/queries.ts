import type { Row, Session } from '../db/session.js';
import { placeholders, toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { DepositOrderStatus } from '../kernel/states.js';
import type { DepositOrder, SettledTransfer } from './deposit.js';

const orderColumns = `o.id, o.out_trade_no, o.provider, o.chain_name, o.token, o.receiver, o.amount_raw,
  o.required_confirmations, o.scene, o.account_no, o.created_at, o.expires_at, o.status, o.version,
  o.transaction_hash, o.log_index`;

const settledColumns = `t.id, t.out_trade_no, t.chain_name, t.chain_id, t.transaction_hash, t.log_index, t.position,
  t.block_number, t.block_hash, t.token, t.from_address, t.to_address, t.value_raw, t.fingerprint, t.settled_at`;

const countOrNull = (value: unknown): number | null => (value === null ? null : toCount(value));

function toOrder(row: Row): DepositOrder {
  return {
    id: toBigInt(row['id']),
    outTradeNo: toText(row['out_trade_no']),
    provider: toText(row['provider']),
    chainName: toText(row['chain_name']),
    token: toText(row['token']),
    receiver: toText(row['receiver']),
    amountRaw: toText(row['amount_raw']),
    requiredConfirmations: countOrNull(row['required_confirmations']),
    scene: toText(row['scene']),
    accountNo: toTextOrNull(row['account_no']),
    createdAt: toInstant(row['created_at']),
    expiresAt: toInstantOrNull(row['expires_at']),
    status: toText(row['status']) as DepositOrderStatus,
    version: toCount(row['version']),
    transactionHash: toTextOrNull(row['transaction_hash']),
    logIndex: countOrNull(row['log_index']),
  };
}

function toSettled(row: Row): SettledTransfer {
  return {
    id: toBigInt(row['id']),
    outTradeNo: toText(row['out_trade_no']),
    chainName: toText(row['chain_name']),
    chainId: toBigInt(row['chain_id']),
    transactionHash: toText(row['transaction_hash']),
    logIndex: toCount(row['log_index']),
    position: toCount(row['position']),
    blockNumber: toBigInt(row['block_number']),
    blockHash: toText(row['block_hash']),
    token: toText(row['token']),
    from: toText(row['from_address']),
    to: toText(row['to_address']),
    value: BigInt(toText(row['value_raw'])),
    fingerprint: toText(row['fingerprint']),
    settledAt: toInstant(row['settled_at']),
  };
}

/** Old SQLite builds take 999 bound values in one statement. */
const boundMax = 900;

async function inParts<T>(values: readonly string[], read: (part: readonly string[]) => Promise<T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let at = 0; at < values.length; at += boundMax) all.push(...(await read(values.slice(at, at + boundMax))));
  return all;
}

/** Deposit orders by their numbers; those that are not known are left out. */
export async function depositOrders(
  session: Session,
  outTradeNos: readonly string[],
): Promise<Map<string, DepositOrder>> {
  const rows = await inParts(outTradeNos, (part) =>
    session.rows(`select ${orderColumns} from deposit_order o where o.out_trade_no in (${placeholders(part)})`, part),
  );
  return new Map(rows.map((row) => [toText(row['out_trade_no']), toOrder(row)]));
}

/** Pending orders after an id of which a transaction is known, in the order of ids. */
export async function claimedOrders(session: Session, afterId: bigint, limit: number): Promise<DepositOrder[]> {
  const rows = await session.rows(
    `select ${orderColumns} from deposit_order o
      where o.status = 'pending' and o.id > ? order by o.id limit ${String(limit)}`,
    [afterId],
  );
  return rows.map(toOrder);
}

/** What is settled of these transactions, on whatever chain. */
export async function settledOf(session: Session, hashes: readonly string[]): Promise<SettledTransfer[]> {
  const rows = await inParts(hashes, (part) =>
    session.rows(
      `select ${settledColumns} from deposit_transaction t where t.transaction_hash in (${placeholders(part)})`,
      part,
    ),
  );
  return rows.map(toSettled).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** What is settled for an order, the oldest first. */
export async function settlementsFor(session: Session, outTradeNo: string): Promise<SettledTransfer[]> {
  const rows = await session.rows(
    `select ${settledColumns} from deposit_transaction t where t.out_trade_no = ? order by t.id`,
    [outTradeNo],
  );
  return rows.map(toSettled);
}

/** Settlements after an id that are at least as old as `until`, in the order of ids; of one chain when it is named. */
export async function settlementsAfter(
  session: Session,
  afterId: bigint,
  until: string,
  chainName: string | null,
  limit: number,
): Promise<SettledTransfer[]> {
  const rows = await session.rows(
    `select ${settledColumns} from deposit_transaction t
      where t.id > ? and t.settled_at <= ? ${chainName === null ? '' : 'and t.chain_name = ?'}
      order by t.id limit ${String(limit)}`,
    [afterId, until, ...(chainName === null ? [] : [chainName])],
  );
  return rows.map(toSettled);
}

export async function settlementsById(session: Session, ids: readonly bigint[]): Promise<SettledTransfer[]> {
  const found: SettledTransfer[] = [];
  for (const id of ids) {
    const rows = await session.rows(`select ${settledColumns} from deposit_transaction t where t.id = ?`, [id]);
    found.push(...rows.map(toSettled));
  }
  return found;
}

/** Those of these transactions of which an earlier plan saw a receipt. */
export async function seenBefore(session: Session, hashes: readonly string[]): Promise<Set<string>> {
  const rows = await inParts(hashes, (part) =>
    session.tuples(
      `select distinct transaction_hash from deposit_review where transaction_hash in (${placeholders(part)})`,
      part,
    ),
  );
  return new Set(rows.map(([hash]) => toText(hash)));
}
