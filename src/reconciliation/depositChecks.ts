import type { Row, Session } from '../db/session.js';
import { placeholders, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { Checklist } from './checklist.js';
import { listedMax } from './ledgerProof.js';
import { dayOfRow, orderRows } from './orderRows.js';

// A settled deposit stands in an order, an event, a review, a message and, by its scene, an order of a merchant. Each is read
// by itself and compared with the others. They belong to no batch day, so that all of them are looked at.

const windowSize = 300;

/** Every settlement against what must stand beside it, then what stands somewhere without a settlement. */
export async function checkDeposits(session: Session, checklist: Checklist): Promise<void> {
  let told = 0;
  for (let afterId = 0n; ;) {
    const window = await session.rows(
      `select t.id, t.out_trade_no, t.chain_name, t.chain_id, t.transaction_hash, t.log_index, t.block_hash, t.token,
              t.to_address, t.value_raw, t.review_id, t.fingerprint, o.status, o.chain_name as o_chain,
              o.token as o_token, o.receiver, o.amount_raw, r.state as r_state, r.fingerprint as r_fingerprint,
              r.out_trade_no as r_no
         from deposit_transaction t
         left join deposit_order o on o.out_trade_no = t.out_trade_no
         left join deposit_review r on r.id = t.review_id
        where t.id > ? order by t.id limit ${String(windowSize)}`,
      [afterId],
    );
    const last = window[window.length - 1];
    if (last === undefined) break;
    afterId = toBigInt(last['id']);
    checklist.examine('deposit', window.length);
    const executed = await executedOf(session, window);
    const credited = await creditedBy(session, window);
    const messages = await messagesOf(session, window);
    told += messages.size;
    for (const row of window) {
      const key = String(toBigInt(row['id']));
      const problems = [
        ...settlementProblems(row),
        ...reviewProblems(row, executed),
        ...messageProblems(row, messages, credited),
      ];
      for (const problem of problems) checklist.contradict('deposit', 'deposit_transaction', key, problem);
    }
  }
  await checkPaidOrders(session, checklist);
  await checkTwice(session, checklist);
  await checkStrays(session, checklist, told);
}

/** The order is paid, and the event is the one that it asked for. */
function settlementProblems(row: Row): string[] {
  const status = toTextOrNull(row['status']);
  if (status === null) return [`is of the order ${toText(row['out_trade_no'])}, which does not exist`];
  const problems: string[] = [];
  if (status !== 'success' && status !== 'refunded') problems.push(`is settled, and its order is ${status}`);
  for (const [what, event, order] of [
    ['chain', 'chain_name', 'o_chain'],
    ['token', 'token', 'o_token'],
    ['receiver', 'to_address', 'receiver'],
    ['amount', 'value_raw', 'amount_raw'],
  ] as const) {
    const [is, due] = [toText(row[event]), toText(row[order])];
    if (is !== due) problems.push(`has the ${what} ${is}, its order ${due}`);
  }
  return problems;
}

function reviewProblems(row: Row, executed: ReadonlyMap<string, number>): string[] {
  const state = toTextOrNull(row['r_state']);
  if (state === null) return ['was settled without a review'];
  const problems: string[] = [];
  if (state !== 'executed') problems.push(`was settled, and its review is ${state}`);
  const isSame = row['r_no'] === row['out_trade_no'] && row['r_fingerprint'] === row['fingerprint'];
  if (!isSame) problems.push('was settled by the review of something else');
  const lines = executed.get(String(toBigInt(row['review_id']))) ?? 0;
  if (lines !== 1) problems.push(`is executed by ${String(lines)} lines of the log instead of one`);
  return problems;
}

/** How often the log says of a review that it was executed. */
async function executedOf(session: Session, window: readonly Row[]): Promise<Map<string, number>> {
  const ids = window.map((row) => toBigInt(row['review_id']));
  const rows = await session.tuples(
    `select review_id, count(*) from deposit_log
      where review_id in (${placeholders(ids)}) and to_state = 'executed' group by review_id`,
    ids,
  );
  return new Map(rows.map(([id, lines]) => [String(toBigInt(id)), toCount(lines)]));
}

interface Payload {
  outTradeNo?: unknown;
  transactionHash?: unknown;
  logIndex?: unknown;
  credit?: Record<string, unknown> | null;
}

interface MessageRow {
  topic: string;
  state: string;
  payload: string;
}

function messageNo(row: Row): string {
  return `DT${String(toBigInt(row['id']))}`;
}

/** The messages of settlements, by their numbers. */
async function messagesOf(session: Session, window: readonly Row[]): Promise<Map<string, MessageRow>> {
  const numbers = window.map(messageNo);
  const rows = await session.tuples(
    `select biz_no, topic, state, payload from outbox where biz_no in (${placeholders(numbers)})`,
    numbers,
  );
  return new Map(
    rows.map(([no, topic, state, payload]) => [
      toText(no),
      { topic: toText(topic), state: toText(state), payload: toText(payload) },
    ]),
  );
}

function payloadOf({ payload }: MessageRow): Payload | null {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

/** The orders of merchants that settlements made, as "account currency type amount" by order number. */
async function creditedBy(session: Session, window: readonly Row[]): Promise<Map<string, string>> {
  const numbers = window.map((row) => `DEPOSIT-${String(toBigInt(row['id']))}`);
  const rows = await session.tuples(
    `select order_no, account_no, currency, type, amount_minor, batch_day from ${orderRows(session)}
      where order_no in (${placeholders(numbers)})`,
    numbers,
  );
  return new Map(
    rows.map(([no, account, currency, type, amount, day]) => [
      toText(no),
      [toText(account), toText(currency), toText(type), String(toBigInt(amount)), dayOfRow(session, day)].join(' '),
    ]),
  );
}

function messageProblems(
  row: Row,
  messages: ReadonlyMap<string, MessageRow>,
  credited: ReadonlyMap<string, string>,
): string[] {
  const message = messages.get(messageNo(row));
  if (message === undefined) return ['has no message to the handler of its scene'];
  const payload = payloadOf(message);
  if (message.topic !== 'DEPOSIT' || payload === null) return ['has a message that is none of a deposit'];
  const isSame =
    payload.outTradeNo === row['out_trade_no'] &&
    payload.transactionHash === row['transaction_hash'] &&
    payload.logIndex === toCount(row['log_index']);
  if (!isSame) return ['has a message that tells of something else'];
  const orderNo = `DEPOSIT-${String(toBigInt(row['id']))}`;
  const made = credited.get(orderNo);
  const { credit } = payload;
  if (credit === null || credit === undefined) {
    return made === undefined ? [] : [`credits nobody, and there is the order ${orderNo}`];
  }
  const due = ['accountNo', 'currency', 'type', 'amountMinor', 'batchDay']
    .map((name) => String(credit[name]))
    .join(' ');
  if (message.state !== 'SENT')
    return made === undefined ? [] : [`has made the order ${orderNo}, and its message waits`];
  if (made === undefined) return [`has a message that is SENT, and no order ${orderNo}`];
  return made === due ? [] : [`calls for an order of ${due}, and ${orderNo} is ${made}`];
}

/** As many paid orders as settlements: one that is paid without an event would be missed by going through the events. */
async function checkPaidOrders(session: Session, checklist: Checklist): Promise<void> {
  const rows = await session.rows(
    `select o.out_trade_no, o.status from deposit_order o
       left join deposit_transaction t on t.out_trade_no = o.out_trade_no
      where o.status in ('success', 'refunded') and t.id is null order by o.id limit ${String(listedMax)}`,
  );
  for (const row of rows) {
    const problem = `is ${toText(row['status'])} without an event that paid it`;
    checklist.contradict('deposit', 'deposit_order', toText(row['out_trade_no']), problem);
  }
}

/** One order by two events, one event for two orders, or one transaction out of two blocks, whatever the keys say. */
async function checkTwice(session: Session, checklist: Checklist): Promise<void> {
  for (const [key, table, problem] of [
    ['out_trade_no', 'deposit_order', 'is settled more than once'],
    [`chain_id, transaction_hash, log_index`, 'deposit_transaction', 'is an event that has paid more than once'],
  ] as const) {
    const rows = await session.tuples(
      `select ${key} from deposit_transaction group by ${key} having count(*) > 1 limit ${String(listedMax)}`,
    );
    for (const row of rows) checklist.contradict('deposit', table, row.map(String).join(':'), problem);
  }
  const moved = await session.tuples(
    `select chain_id, transaction_hash from deposit_transaction group by chain_id, transaction_hash
      having count(distinct block_hash) > 1 limit ${String(listedMax)}`,
  );
  for (const row of moved) {
    const problem = 'has paid out of two blocks: a reorg may have paid twice';
    checklist.contradict('deposit', 'deposit_transaction', row.map(String).join(':'), problem);
  }
}

/** Reviews that were executed and messages that were written without a settlement; `told` messages have one. */
async function checkStrays(session: Session, checklist: Checklist, told: number): Promise<void> {
  const reviews = await session.rows(
    `select r.id from deposit_review r
       left join deposit_transaction t on t.out_trade_no = r.out_trade_no and t.review_id = r.id
      where r.state = 'executed' and t.id is null order by r.id limit ${String(listedMax)}`,
  );
  for (const row of reviews) {
    const problem = 'is executed, and nothing is settled by it';
    checklist.contradict('deposit', 'deposit_review', String(toBigInt(row['id'])), problem);
  }
  const [count] = await session.rows(`select count(*) as messages from outbox where topic = 'DEPOSIT'`);
  const messages = toCount(count?.['messages']);
  if (messages === told) return;
  const problem = `has ${String(messages)} messages of settlements, and ${String(told)} settlements with one`;
  checklist.contradict('deposit', 'outbox', 'DEPOSIT', problem);
}
