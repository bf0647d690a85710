import type { Session } from '../db/session.js';
import { exactSum, sumIn, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { Checklist } from './checklist.js';
import { listedMax } from './ledgerProof.js';
import { isClaimed, orderRows, reversedNo } from './orderRows.js';

/** Each claimed reversal takes back an order of its own kind that was not cancelled, and all of them together no more than there was. */
export async function checkReversals(session: Session, checklist: Checklist): Promise<void> {
  const claimed = `r.reversal_of is not null and ${isClaimed(session, 'r')}`;
  const [reversals, originals] = [orderRows(session, 'r'), orderRows(session, 'o')];
  const reverses = `o.order_no = ${reversedNo(session, 'r')}`;
  const differs = ['account_no', 'type', 'currency', 'channel'];
  const isSame = (column: string): string =>
    column === 'type' ? `(o.type = r.type or (o.type = 'PAYMENT' and r.type = 'REFUND'))` : `o.${column} = r.${column}`;
  const [count] = await session.rows(`select count(*) as reversals from ${reversals} where ${claimed}`);
  checklist.examine('reversal', toCount(count?.['reversals']));
  const rows = await session.rows(
    `select r.order_no, r.reversal_of, o.state, o.reversal_of as chained,
            ${differs.map((column) => `case when ${isSame(column)} then 0 else 1 end as ${column}`).join(', ')}
       from ${reversals} left join ${originals} on ${reverses}
      where ${claimed} and (o.id is null or o.state in ('FAILED', 'CANCELED') or o.reversal_of is not null
            ${differs.map((column) => `or not ${isSame(column)}`).join(' ')})
      order by r.order_no limit ${String(listedMax)}`,
  );
  for (const row of rows) {
    const state = toTextOrNull(row['state']);
    const columns = differs.filter((column) => toCount(row[column]) === 1).join(', ');
    const named =
      state === null
        ? 'is no order'
        : toTextOrNull(row['chained']) !== null
          ? 'is a reversal'
          : columns !== ''
            ? `is an order of another ${columns}`
            : `is ${state}`;
    contradict(checklist, toText(row['order_no']), `reverses ${toText(row['reversal_of'])}, which ${named}`);
  }
  const sums = await session.rows(
    `select o.order_no, o.amount_minor, ${exactSum(session.dialect, 'abs(r.amount_minor)', 'reversed')}
       from ${reversals} join ${originals} on ${reverses}
      where ${claimed} group by o.order_no, o.amount_minor order by o.order_no`,
  );
  for (const row of sums) {
    const [amount, reversed] = [toBigInt(row['amount_minor']), sumIn(row, 'reversed')];
    if (reversed <= (amount < 0n ? -amount : amount)) continue;
    contradict(checklist, toText(row['order_no']), `is of ${String(amount)}, its reversals of ${String(reversed)}`);
  }
}

function contradict(checklist: Checklist, orderNo: string, problem: string): void {
  checklist.contradict('reversal', 'settlement_order', orderNo, problem);
}
