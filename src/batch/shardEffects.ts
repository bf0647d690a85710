import { isUniqueViolation } from '../db/failure.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { Totals } from '../orders/order.js';
import { signedTotals, sourceTotals, topOrderId } from '../orders/queries.js';
import {
  accountCounts,
  batchOf,
  insertBatch,
  messageTotals,
  replaceSourceTotals,
  type BatchRow,
} from './batchQueries.js';
import { DatabaseEffects } from './databaseEffects.js';
import type { ClosedRun, DayProof } from './effects.js';
import type { EndedDay } from '../terms/bookEndOfDay.js';
import type { Run, RunRequest, Stage } from './run.js';
import { openedRun, readInput } from './runInput.js';

/**
 * A run over one shard, beside other processes: under the input that the first of them froze, and with no hand on what
 * belongs to the whole day. A run over all accounts comes after the last shard; it reconciles and closes.
 */
export class ShardEffects extends DatabaseEffects {
  override async open(day: BatchDay, request: RunRequest): Promise<Run> {
    await this.openBatch(day);
    const { batch, input } = await this.database.snapshot(async (session) => {
      const opened = (await batchOf(session, day)) as BatchRow;
      return { batch: opened, input: await readInput(session, day, request, opened.topId) };
    });
    const { cutOff, topId } = batch;
    const id = await this.openRun(day, request, topId, input, () => Promise.resolve());
    return openedRun(id, request, { day, cutOff, topId, late: false }, input);
  }

  /** Freezes the input of the whole day, unless another shard was first. */
  private async openBatch(day: BatchDay): Promise<void> {
    if ((await this.database.read((session) => batchOf(session, day))) !== null) return;
    const { topId, totals } = await this.database.snapshot(async (session) => {
      const top = await topOrderId(session, day);
      return { topId: top, totals: await sourceTotals(session, day, top, null) };
    });
    try {
      await this.write('open batch', async (trx) => {
        if ((await batchOf(trx, day)) !== null) return;
        const batch: BatchRow = { day, state: 'OPEN', cutOff: this.cutOff(day), topId, ordersAtClose: null };
        await insertBatch(trx, batch, this.now());
        await replaceSourceTotals(trx, day, totals);
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
    }
  }

  /** The day goes on from SETTLING when all of its shards are settled. */
  override async enter(run: Run, stage: Stage): Promise<void> {
    if (stage === 'SETTLING') await super.enter(run, stage);
  }

  override async refreeze(run: Run): Promise<void> {
    const { day, topId, request } = run;
    run.source = signedTotals(await this.database.read((session) => sourceTotals(session, day, topId, request.shard)));
  }

  /** A day ends for all accounts together. */
  override bookTerms(): Promise<EndedDay> {
    return Promise.resolve({ messages: 0, totals: [] });
  }

  /** Balances are those of the whole day. */
  override balance(): Promise<void> {
    return Promise.resolve();
  }

  /** What of the shard is claimed and posted; the proof of the day is not made from parts. */
  override async reconcile(run: Run): Promise<DayProof> {
    const claimed = await this.claimed(run, false);
    const { day, request } = run;
    const left = await this.database.read((session) => messageTotals(session, day, request.shard, ['NEW', 'PARKED']));
    const posted = new Totals();
    posted.addAll(claimed);
    for (const { currency, orders, netMinor } of left.totals) posted.add(currency, -orders, -netMinor);
    const totals = { source: run.source, claimed, outbox: claimed, posted: posted.list() };
    return { outcome: 'OK', totals, checks: [], orders: 0 };
  }

  override async close(run: Run): Promise<ClosedRun> {
    const { day, request } = run;
    const counts = await this.database.read((session) => accountCounts(session, day, request.shard));
    return { settledAccounts: counts.settled, carriedForward: counts.carriedForward, closed: false, ledgerHead: null };
  }
}
