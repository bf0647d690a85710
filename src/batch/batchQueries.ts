import type { Session, Transaction } from '../db/session.js';
import {
  exactSum,
  fromInstant,
  groupKey,
  placeholders,
  sumIsNegative,
  toBigInt,
  toCount,
  toInstant,
  toText,
} from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { BatchState, MessageState } from '../kernel/states.js';
import { closeDay, openDay } from '../ledger/period.js';
import type { CurrencyTotal } from '../orders/order.js';
import { currencyTotalIn, type SourceTotal } from '../orders/queries.js';
import { andInShard, type Shard } from '../sharding/shard.js';

export interface BatchRow {
  day: BatchDay;
  state: BatchState;
  cutOff: string;
  topId: bigint;
  ordersAtClose: number | null;
}

const batchColumns = 'batch_day, state, cut_off, top_id, orders_at_close';

function toBatch(row: Record<string, unknown>): BatchRow {
  return {
    day: toText(row['batch_day']),
    state: toText(row['state']) as BatchState,
    cutOff: toInstant(row['cut_off']),
    topId: toBigInt(row['top_id']),
    ordersAtClose: row['orders_at_close'] === null ? null : toCount(row['orders_at_close']),
  };
}

export async function batchOf(session: Session, day: BatchDay): Promise<BatchRow | null> {
  const [row] = await session.rows(`select ${batchColumns} from batch where batch_day = ?`, [day]);
  return row === undefined ? null : toBatch(row);
}

/** Batches before a day: all that are not closed, and the closed ones from `from` on. */
export async function batchesBefore(session: Session, from: BatchDay, before: BatchDay): Promise<BatchRow[]> {
  const rows = await session.rows(
    `select ${batchColumns} from batch
      where batch_day < ? and (batch_day >= ? or state <> 'CLOSED') order by batch_day`,
    [before, from],
  );
  return rows.map(toBatch);
}

/** Opens a batch, and with it the day in the books. */
export async function insertBatch(trx: Transaction, batch: BatchRow, now: string): Promise<void> {
  await trx.change('insert into batch (batch_day, state, cut_off, top_id, opened_at) values (?, ?, ?, ?, ?)', [
    batch.day,
    batch.state,
    fromInstant(trx.dialect, batch.cutOff),
    batch.topId,
    fromInstant(trx.dialect, now),
  ]);
  await openDay(trx, batch.day);
}

export async function raiseTopId(trx: Transaction, day: BatchDay, topId: bigint): Promise<void> {
  await trx.change('update batch set top_id = ?, version = version + 1 where batch_day = ? and top_id < ?', [
    topId,
    day,
    topId,
  ]);
}

/** Moves the batch from one state to the next; 0 when it was not in that state. */
export async function moveBatch(trx: Transaction, day: BatchDay, from: BatchState, to: BatchState): Promise<number> {
  return trx.change('update batch set state = ?, version = version + 1 where batch_day = ? and state = ?', [
    to,
    day,
    from,
  ]);
}

/** Closes a batch, and with it the books up to its day. */
export async function closeBatch(trx: Transaction, day: BatchDay, orders: number, now: string): Promise<void> {
  const closed = await trx.change(
    `update batch set state = 'CLOSED', closed_at = ?, orders_at_close = ?, version = version + 1
      where batch_day = ? and state = 'RECONCILING'`,
    [fromInstant(trx.dialect, now), orders, day],
  );
  if (closed === 1) await closeDay(trx, day);
}

/** Late orders were settled under a day that stays closed: what it holds is counted anew. */
export async function recountClosedBatch(trx: Transaction, day: BatchDay, orders: number): Promise<number> {
  return trx.change(
    `update batch set orders_at_close = ?, version = version + 1 where batch_day = ? and state = 'CLOSED'`,
    [orders, day],
  );
}

export async function replaceSourceTotals(
  trx: Transaction,
  day: BatchDay,
  totals: readonly SourceTotal[],
): Promise<void> {
  await trx.change('delete from source_total where batch_day = ?', [day]);
  await trx.insertMany(
    'source_total',
    ['batch_day', 'currency', 'type', 'orders', 'amount_minor'],
    // As text: the sum may be wider than 64 bits.
    totals.map((total) => [day, total.currency, total.type, total.orders, total.amountMinor.toString()]),
  );
}

/** Nets of a day by currency: what its runs have claimed so far. With a run, only what that run claimed. */
export async function claimedTotals(
  session: Session,
  day: BatchDay,
  shard: Shard | null,
  runId?: bigint,
): Promise<CurrencyTotal[]> {
  const rows = await session.rows(
    `select n.currency, sum(n.orders) as orders, ${exactSum(session.dialect, 'n.amount_minor', 'net')}
       from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
      where c.batch_day = ? ${runId === undefined ? '' : 'and c.run_id = ?'} ${andInShard('n.account_no', shard)}
      group by n.currency order by n.currency`,
    runId === undefined ? [day] : [day, runId],
  );
  return rows.map(currencyTotalIn);
}

/** Nets of a day whose message is in one of these states, by currency, and how many messages that is. */
export async function messageTotals(
  session: Session,
  day: BatchDay,
  shard: Shard | null,
  states: readonly MessageState[],
): Promise<{ messages: number; totals: CurrencyTotal[] }> {
  const rows = await session.rows(
    `select n.currency, count(*) as messages, sum(n.orders) as orders,
            ${exactSum(session.dialect, 'n.amount_minor', 'net')}
       from chunk c
       join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
       join outbox m on m.biz_no = n.biz_no
      where c.batch_day = ? and m.state in (${placeholders(states)}) ${andInShard('n.account_no', shard)}
      group by n.currency order by n.currency`,
    [day, ...states],
  );
  return {
    messages: rows.reduce((sum, row) => sum + toCount(row['messages']), 0),
    totals: rows.map(currencyTotalIn),
  };
}

/** Accounts with a net on the day, and those whose position is negative in some currency: debt that is carried on. */
export async function accountCounts(
  session: Session,
  day: BatchDay,
  shard: Shard | null,
): Promise<{ settled: number; carriedForward: number }> {
  const [row] = await session.rows(
    `select count(distinct account_no) as settled,
            count(distinct case when negative = 1 then account_no end) as carried
       from (select ${groupKey(session.dialect, 'n.account_no')} as account_no, n.currency,
                    case when ${sumIsNegative(session.dialect, 'n.amount_minor')} then 1 else 0 end as negative
               from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
              where c.batch_day = ? ${andInShard('n.account_no', shard)}
              group by 1, 2) p`,
    [day],
  );
  return { settled: toCount(row?.['settled'] ?? 0), carriedForward: toCount(row?.['carried'] ?? 0) };
}
