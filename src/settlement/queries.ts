import type { Binding, Session, Transaction } from '../db/session.js';
import { fromInstant, toCount } from '../db/values.js';
import { bizNoOf, type SettlementPlan } from './planSettlement.js';

/** The commit mark: when the answer to COMMIT is lost, this row says whether the transaction took effect. */
export async function markChunk(trx: Transaction, plan: SettlementPlan, now: string): Promise<void> {
  const { runId, chunkNo, batchDay, lane, orderIds, nets } = plan;
  await trx.change(
    `insert into chunk (run_id, chunk_no, batch_day, lane, first_id, last_id, orders, nets, committed_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      runId,
      chunkNo,
      batchDay,
      String(lane),
      orderIds[0] as bigint,
      orderIds[orderIds.length - 1] as bigint,
      orderIds.length,
      nets.length,
      fromInstant(trx.dialect, now),
    ],
  );
}

/** Orders in a committed chunk; undefined when the chunk is not there. */
export async function chunkOrders(session: Session, runId: bigint, chunkNo: number): Promise<number | undefined> {
  const [row] = await session.rows('select orders from chunk where run_id = ? and chunk_no = ?', [runId, chunkNo]);
  return row === undefined ? undefined : toCount(row['orders']);
}

const noTerms = [null, 0, 0, 0];

export async function insertNets(trx: Transaction, plan: SettlementPlan): Promise<void> {
  const columns = ['run_id', 'chunk_no', 'net_no', 'account_no', 'currency', 'orders', 'amount_minor', 'biz_no'];
  columns.push('terms_id', 'fee_minor', 'fee_rest', 'payment_minor');
  await trx.insertMany('net', columns, netRows(plan));
}

function* netRows({ runId, chunkNo, nets }: SettlementPlan): Generator<Binding[]> {
  let netNo = 0;
  for (const { accountNo, currency, orderIds, amountMinor, terms } of nets) {
    netNo += 1;
    const net = [runId, chunkNo, netNo, accountNo, currency, orderIds.length, amountMinor];
    const taken = terms === undefined ? noTerms : [terms.termsId, terms.feeMinor, terms.feeRest, terms.paymentMinor];
    yield [...net, bizNoOf(runId, chunkNo, netNo), ...taken];
  }
}
