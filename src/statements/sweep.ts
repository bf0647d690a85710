import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, toText } from '../db/values.js';
import { recordFound } from '../discrepancies/record.js';
import { addDays, type BatchDay } from '../kernel/batchDay.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { ordersNotStated } from '../orders/statedOrders.js';
import { payoutsNotStated, type SentPlace } from '../payouts/statedOutcomes.js';
import type { MatchPorts } from './channelRules.js';
import type { Covered } from './coverage.js';
import { orderMissing, payoutMissing } from './differences.js';

/** So many days back are looked through each time: what became known late shows there. */
const daysAgain = 3;
const rowsAtOnce = 500;

/**
 * Looks for rows of ours that no statement has, on the days that are covered together with the days that a line may be late.
 * Returns how many were found.
 */
export async function sweepOurs(database: Database, ports: MatchPorts, coverage: readonly Covered[]): Promise<number> {
  const swept = await database.read((session) => sweptDays(session, ports.channel.name));
  let missing = 0;
  for (const day of daysToSweep(coverage, swept, ports.channel.crossDayDays)) {
    if (ports.channel.matches.payouts) missing += await sweepPayouts(database, ports, day);
    if (ports.channel.matches.orders) missing += await sweepOrders(database, ports, day);
    if (!swept.has(day)) await markSwept(database, ports, day);
  }
  return missing;
}

function daysToSweep(coverage: readonly Covered[], swept: ReadonlySet<BatchDay>, crossDayDays: number): BatchDay[] {
  const days: BatchDay[] = [];
  for (const [index, { from, to }] of coverage.entries()) {
    const last = addDays(to, -crossDayDays);
    const again = index === coverage.length - 1 ? addDays(last, -daysAgain) : null;
    for (let day = from; day <= last; day = addDays(day, 1)) {
      if (!swept.has(day) || (again !== null && day > again)) days.push(day);
    }
  }
  return days;
}

async function sweptDays(session: Session, channel: string): Promise<Set<BatchDay>> {
  const rows = await session.tuples('select swept_day from statement_sweep where channel = ?', [channel]);
  return new Set(rows.map(([day]) => toText(day)));
}

async function markSwept(database: Database, { channel, now }: MatchPorts, day: BatchDay): Promise<void> {
  await afterOthers(() =>
    database.transact(
      repeatable('mark a day as swept', async (trx) => {
        const known = await trx.rows('select swept_day from statement_sweep where channel = ? and swept_day = ?', [
          channel.name,
          day,
        ]);
        if (known.length > 0) return;
        const at = fromInstant(trx.dialect, now());
        await trx.insertMany('statement_sweep', ['channel', 'swept_day', 'swept_at'], [[channel.name, day, at]]);
      }),
    ),
  );
}

async function sweepPayouts(
  database: Database,
  { channel, actor, now, signal }: MatchPorts,
  day: BatchDay,
): Promise<number> {
  const beforeMs = BigInt(channel.endOf(day));
  let after: SentPlace = { ms: BigInt(channel.endOf(addDays(day, -1))), id: 0n };
  let missing = 0;
  for (;;) {
    throwIfCancelled(signal);
    const page = await afterOthers(() =>
      database.transact(
        repeatable('payouts that no statement has', async (trx) => {
          const filter = { channel: channel.name, states: ['SUCCESS'], after, beforeMs, limit: rowsAtOnce };
          const payouts = await payoutsNotStated(trx, filter);
          await recordFound(
            trx,
            payouts.map((payout) => payoutMissing(payout, channel.name)),
            { actor, now: now() },
          );
          return payouts;
        }),
      ),
    );
    const last = page.at(-1);
    if (last === undefined) return missing;
    missing += page.length;
    after = { ms: last.firstSentMs ?? 0n, id: last.id };
  }
}

async function sweepOrders(
  database: Database,
  { channel, actor, now, signal }: MatchPorts,
  day: BatchDay,
): Promise<number> {
  let missing = 0;
  for (let afterId = 0n; ;) {
    throwIfCancelled(signal);
    const page = await afterOthers(() =>
      database.transact(
        repeatable('orders that no statement has', async (trx) => {
          const filter = { channel: channel.orderChannel, batchDay: day, afterId, limit: rowsAtOnce };
          const orders = await ordersNotStated(trx, filter);
          const found = orders.map((order) => orderMissing(order, channel.name, channel.orderChannel));
          await recordFound(trx, found, { actor, now: now() });
          return orders;
        }),
      ),
    );
    const last = page.at(-1);
    if (last === undefined) return missing;
    missing += page.length;
    afterId = last.id;
  }
}
