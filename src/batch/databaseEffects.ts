import { openDiscrepancies } from '../discrepancies/views.js';
import type { Database } from '../db/database.js';
import { failureKind } from '../db/failure.js';
import { repeatable, type Unit } from '../db/transaction.js';
import type { Transaction } from '../db/session.js';
import { fromInstant } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { instantText, type Clock } from '../kernel/clock.js';
import { batchMoves, move } from '../kernel/states.js';
import { balancesThrough } from '../ledger/balances.js';
import { insertLink, linkOf, linksThrough } from '../ledger/chain.js';
import { postSettlements } from '../ledger/postSettlements.js';
import { accountStatesOf, insertAccounts } from '../orders/accountsQueries.js';
import type { CurrencyTotal, Order } from '../orders/order.js';
import { initOrders, movedOrders, signedTotals, sourceTotals, topOrderId, unchangedOrders } from '../orders/queries.js';
import { unsentMessages } from '../outbox/queries.js';
import { relayOutbox } from '../outbox/relay.js';
import { reconcileDay } from '../reconciliation/reconcile.js';
import { insertQuarantine, noteRetried, recountQuarantine, type SetAside } from '../settlement/quarantine.js';
import { finishing } from '../settlement/finishing.js';
import type { SettlementPlan } from '../settlement/planSettlement.js';
import { settleChunk } from '../settlement/settleChunk.js';
import { laneOf } from '../sharding/planChunks.js';
import { bookEndOfDay, type EndedDay } from '../terms/bookEndOfDay.js';
import { cutOffOf, type Calendar } from './calendar.js';
import type { CancelledShard } from './cancelledShard.js';
import type { BatchEffects, ClosedRun, DayProof, Leftover, Posting, WithdrawnOrder } from './effects.js';
import { assertLeaseHeld, renewLease, type Lease } from './lease.js';
import {
  accountCounts,
  batchOf,
  claimedTotals,
  closeBatch,
  insertBatch,
  moveBatch,
  raiseTopId,
  recountClosedBatch,
  replaceSourceTotals,
} from './batchQueries.js';
import { openedRun, readInput, type RunInput } from './runInput.js';
import {
  finishRun,
  insertCancelledShard,
  insertRun,
  saveProgress,
  type RunEnd,
  type RunProgress,
  runUnder,
} from './runQueries.js';
import type { Run, RunRequest, Stage } from './run.js';

export interface EffectsSettings {
  calendar: Calendar;
  clock: Clock;
  lanes: number;
  chunkSize: number;
  messagesMax: number;
  messageAttempts: number;
  leaseMs: number;
}

const batchStateOf = { SETTLING: 'SETTLING', POSTING: 'POSTING', RECONCILING: 'RECONCILING' } as const;

/** The real thing: each method one short transaction, or a few, under the lease's fencing number. */
export class DatabaseEffects implements BatchEffects {
  readonly dryRun = false;

  constructor(
    protected readonly database: Database,
    private readonly lease: Lease,
    private readonly settings: EffectsSettings,
  ) {}

  async open(day: BatchDay, request: RunRequest): Promise<Run> {
    const { batch, topId, input } = await this.database.snapshot(async (session) => {
      const top = await topOrderId(session, day);
      return { batch: await batchOf(session, day), topId: top, input: await readInput(session, day, request, top) };
    });
    const cutOff = batch?.cutOff ?? this.cutOff(day);
    const id = await this.openRun(day, request, topId, input, async (trx) => {
      if (batch === null) {
        await insertBatch(trx, { day, state: 'OPEN', cutOff, topId, ordersAtClose: null }, this.now());
      } else await raiseTopId(trx, day, topId);
      await replaceSourceTotals(trx, day, input.totals);
    });
    return openedRun(id, request, { day, cutOff, topId, late: batch?.state === 'CLOSED' }, input);
  }

  /** Writes the row of a run, and in the same transaction what it has frozen. */
  protected async openRun(
    day: BatchDay,
    request: RunRequest,
    topId: bigint,
    { fromId, totals }: RunInput,
    freeze: (trx: Transaction) => Promise<void>,
  ): Promise<bigint> {
    const { fencingNo, owner } = this.lease;
    const orders = totals.reduce((sum, total) => sum + total.orders, 0);
    return this.fenced({
      name: 'open run',
      work: async (trx) => {
        await freeze(trx);
        const opened = { day, request, fencingNo, owner: JSON.stringify(owner), fromId, topId, orders };
        return insertRun(trx, opened, this.now());
      },
      // A lease opens each day once, so the run of this day under its number is this one.
      landed: (session) => runUnder(session, day, fencingNo),
    });
  }

  async enter(run: Run, stage: Stage): Promise<void> {
    if (run.late || stage === 'FREEZE' || stage === 'DONE') return;
    const wanted = batchStateOf[stage];
    await this.write('move batch', async (trx) => {
      const batch = await batchOf(trx, run.day);
      if (batch === null) return;
      const order = Object.keys(batchMoves);
      if (order.indexOf(batch.state) >= order.indexOf(wanted)) return; // a resumed day never goes back
      const [event = ''] = Object.keys(batchMoves[batch.state]);
      const next = move(batchMoves, batch.state, event);
      await moveBatch(trx, run.day, batch.state, next);
    });
  }

  async beat(run: Run, progress: RunProgress): Promise<void> {
    await this.write('heartbeat', async (trx) => {
      await renewLease(trx, this.lease, this.settings.leaseMs);
      await saveProgress(trx, run, progress, this.now());
    });
  }

  async register(accountNos: readonly string[]): Promise<void> {
    await this.write('register accounts', async (trx) => {
      const known = await accountStatesOf(trx, accountNos);
      const unknown = accountNos.filter((accountNo) => !known.has(accountNo));
      const accounts = unknown.map((accountNo) => ({ accountNo, state: 'ACTIVE' as const }));
      await insertAccounts(trx, accounts, this.now());
    });
  }

  async setAside(run: Run, accounts: readonly SetAside[]): Promise<void> {
    await this.write('quarantine accounts', (trx) => insertQuarantine(trx, run.day, run.id, accounts, this.now()));
  }

  async settle(_run: Run, plan: SettlementPlan, signal: AbortSignal): Promise<void> {
    await settleChunk(this.database, plan, { now: this.now, fence: this.fence, signal });
  }

  async noteCancelledShard(run: Run, shardNo: number, shard: CancelledShard): Promise<void> {
    await this.write('note cancelled shard', (trx) => insertCancelledShard(trx, run, shardNo, shard, this.now()));
  }

  async withdraw(run: Run, orderIds: readonly bigint[]): Promise<WithdrawnOrder[]> {
    const moved = await this.database.read((session) => movedOrders(session, orderIds));
    const withdrawn = moved.filter(({ state, byOthers }) => byOthers || state === 'FAILED' || state === 'CANCELED');
    await this.write('list withdrawn orders', async (trx) => {
      for (const order of withdrawn) {
        const known = await trx.rows('select order_id from withdrawn_order where order_id = ?', [order.id]);
        if (known.length > 0) continue;
        await trx.change(
          `insert into withdrawn_order (order_id, run_id, batch_day, order_no, found_state, noticed_at)
           values (?, ?, ?, ?, ?, ?)`,
          [order.id, run.id, run.day, order.orderNo, order.state, fromInstant(trx.dialect, this.now())],
        );
      }
    });
    return moved;
  }

  unchanged(run: Run, orders: readonly Order[]): Promise<readonly Order[]> {
    return this.database.read((session) => unchangedOrders(session, run.day, orders));
  }

  openDiscrepancies({ day }: Run): Promise<number> {
    return this.database.read((session) => openDiscrepancies(session, day));
  }

  leftover(run: Run): Promise<Leftover[]> {
    return this.database.read((session) => initOrders(session, run.day, run.topId, run.request.shard));
  }

  async refreeze(run: Run): Promise<void> {
    const totals = await this.database.read((session) => sourceTotals(session, run.day, run.topId));
    await this.write('freeze again', (trx) => replaceSourceTotals(trx, run.day, totals));
    run.source = signedTotals(totals);
  }

  async post(run: Run, { signal, shardMs, onPosted, onCancelled }: Posting): Promise<number> {
    const ports = { runId: run.id, now: this.now, fence: this.fence, finishing };
    await relayOutbox(
      this.database,
      {
        deliver: (messages, shardSignal) => postSettlements(this.database, messages, { ...ports, signal: shardSignal }),
      },
      {
        shard: run.request.shard,
        lanes: this.settings.lanes,
        laneOf,
        messagesMax: this.settings.messagesMax,
        ordersMax: this.settings.chunkSize,
        attemptsMax: this.settings.messageAttempts,
        now: this.now,
        fence: this.fence,
        signal,
        shardMs,
        onPosted,
        onCancelled: (delivery) => onCancelled({ stage: 'POSTING', ...delivery }),
      },
    );
    return this.database.read((session) => unsentMessages(session, run.day, run.request.shard));
  }

  bookTerms(run: Run): Promise<EndedDay> {
    return bookEndOfDay(this.database, run, { now: this.now, fence: this.fence });
  }

  async balance(run: Run, signal: AbortSignal): Promise<void> {
    await balancesThrough(this.database, run.day, { fence: this.fence, signal });
  }

  reconcile(run: Run): Promise<DayProof> {
    return reconcileDay(this.database, run.day);
  }

  async close(run: Run, complete: boolean, leftover: readonly Leftover[], orders: number): Promise<ClosedRun> {
    const left = new Map<string, number>();
    for (const { accountNo, orders } of leftover) left.set(accountNo, (left.get(accountNo) ?? 0) + orders);
    const links = complete ? await linksThrough(this.database, run.day) : [];
    const closed = await this.write('close day', async (trx) => {
      await recountQuarantine(trx, run.day, left);
      if (complete) {
        await noteRetried(trx, run.released, run.id);
        for (const link of links) await insertLink(trx, link, run.id, this.now());
        if (run.late) await recountClosedBatch(trx, run.day, orders);
        else await closeBatch(trx, run.day, orders, this.now());
      }
      // Asked of the row and not of the count, which is 0 when this is repeated after a lost COMMIT.
      return (await batchOf(trx, run.day))?.state === 'CLOSED';
    });
    const counts = await this.database.read((session) => accountCounts(session, run.day, run.request.shard));
    const link = await this.database.read((session) => linkOf(session, run.day));
    const ledgerHead =
      link === null
        ? null
        : { link: Number(link.linkNo), entries: link.entries, head: link.head, previousHead: link.previousHead };
    return { settledAccounts: counts.settled, carriedForward: counts.carriedForward, closed, ledgerHead };
  }

  claimed(run: Run, own: boolean): Promise<CurrencyTotal[]> {
    const { day, request } = run;
    return this.database.read((session) => claimedTotals(session, day, request.shard, own ? run.id : undefined));
  }

  async finish(run: Run, end: RunEnd): Promise<void> {
    await this.write('finish run', (trx) => finishRun(trx, run.id, end, this.now()));
  }

  protected cutOff(day: BatchDay): string {
    return instantText(cutOffOf(day, this.settings.calendar));
  }

  protected readonly now = (): string => instantText(this.settings.clock.now());
  private readonly fence = (trx: Transaction): Promise<void> => assertLeaseHeld(trx, this.lease);

  /** A small write under the fence; repeating it after a lost COMMIT changes nothing more. */
  protected write<T>(name: string, work: (trx: Transaction) => Promise<T>): Promise<T> {
    return this.fenced(repeatable(name, work));
  }

  /** A unit of work whose last statement is the fence. */
  private async fenced<T>(unit: Unit<T>): Promise<T> {
    try {
      return await this.database.transact({
        ...unit,
        work: async (trx) => {
          const result = await unit.work(trx);
          await this.fence(trx);
          return result;
        },
      });
    } catch (error) {
      // A row of the run that took over may be refused as a duplicate before the fence is reached.
      if (failureKind(error) === 'refused') await this.database.read((session) => assertLeaseHeld(session, this.lease));
      throw error;
    }
  }
}
