import { openDiscrepancies } from '../discrepancies/views.js';
import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { instantText } from '../kernel/clock.js';
import { settlementEntry } from '../ledger/journalEntry.js';
import { Totals, type CurrencyTotal, type Order } from '../orders/order.js';
import { initOrders, signedTotals, sourceTotals, topOrderId } from '../orders/queries.js';
import { netPositions } from '../reports/queries.js';
import { messagesOf, type SettlementPlan } from '../settlement/planSettlement.js';
import { dryEndOfDay, type EndedDay } from '../terms/bookEndOfDay.js';
import type { PlannedNet } from '../terms/plannedEnd.js';
import { isInShard } from '../sharding/shard.js';
import { cutOffOf, type Calendar } from './calendar.js';
import type { BatchEffects, ClosedRun, DayProof, Leftover, WithdrawnOrder } from './effects.js';
import { batchOf, messageTotals } from './batchQueries.js';
import type { Run, RunRequest } from './run.js';
import { openedRun, readInput } from './runInput.js';
import { totalsText } from './totals.js';

interface Planned {
  accountNo: string;
  currency: string;
  orders: number;
  netMinor: bigint;
}

/**
 * The same path without an effect: sessions are read-only, chunks are planned and their journal entries made and
 * checked, but nothing is written anywhere. What it announces is what the real run then does.
 */
export class DryEffects implements BatchEffects {
  readonly dryRun = true;
  private readonly planned = new Map<string, Planned>();
  /** Nets under terms, by account and currency. */
  private readonly underTerms = new Map<string, PlannedNet>();
  private readonly debits = new Map<string, bigint>();
  private readonly credits = new Map<string, bigint>();
  private parked: readonly CurrencyTotal[] = [];

  constructor(
    private readonly database: Database,
    private readonly calendar: Calendar,
  ) {}

  async open(day: BatchDay, request: RunRequest): Promise<Run> {
    return this.database.snapshot(async (session) => {
      const batch = await batchOf(session, day);
      // Shards work under the top id that the first of them froze.
      const topId = batch !== null && request.shard !== null ? batch.topId : await topOrderId(session, day);
      const cutOff = batch?.cutOff ?? instantText(cutOffOf(day, this.calendar));
      const input = await readInput(session, day, request, topId);
      return openedRun(0n, request, { day, cutOff, topId, late: batch?.state === 'CLOSED' }, input);
    });
  }

  settle(_run: Run, plan: SettlementPlan): Promise<void> {
    for (const message of messagesOf(plan)) {
      const { accountNo, currency, orderIds, netMinor } = message;
      for (const leg of settlementEntry(message).entries) {
        const side = leg.side === 'DEBIT' ? this.debits : this.credits;
        side.set(currency, (side.get(currency) ?? 0n) + leg.amountMinor);
      }
      this.addPlanned({ accountNo, currency, orders: orderIds.length, netMinor });
    }
    for (const { accountNo, currency, amountMinor, terms } of plan.nets) {
      if (terms === undefined) continue;
      const { termsId, feeMinor, feeRest, paymentMinor } = terms;
      this.addUnderTerms({ accountNo, currency, termsId, netMinor: amountMinor, feeMinor, feeRest, paymentMinor });
    }
    return Promise.resolve();
  }

  private addPlanned(net: Planned): void {
    const key = net.currency + net.accountNo;
    const known = this.planned.get(key);
    if (known === undefined) this.planned.set(key, { ...net });
    else {
      known.orders += net.orders;
      known.netMinor += net.netMinor;
    }
  }

  private addUnderTerms(net: PlannedNet): void {
    const key = net.currency + net.accountNo;
    const known = this.underTerms.get(key);
    if (known === undefined) this.underTerms.set(key, net);
    else {
      this.underTerms.set(key, {
        ...known,
        netMinor: known.netMinor + net.netMinor,
        feeMinor: known.feeMinor + net.feeMinor,
        feeRest: known.feeRest + net.feeRest,
        paymentMinor: known.paymentMinor + net.paymentMinor,
      });
    }
  }

  openDiscrepancies({ day }: Run): Promise<number> {
    return this.database.read((session) => openDiscrepancies(session, day));
  }

  async leftover(run: Run): Promise<Leftover[]> {
    const init = await this.database.read((session) => initOrders(session, run.day, run.topId, run.request.shard));
    return init
      .map((left) => {
        const planned = this.planned.get(left.currency + left.accountNo);
        if (planned === undefined) return left;
        return { ...left, orders: left.orders - planned.orders, netMinor: left.netMinor - planned.netMinor };
      })
      .filter((left) => left.orders > 0);
  }

  async refreeze(run: Run): Promise<void> {
    const { day, topId, request } = run;
    run.source = signedTotals(await this.database.read((session) => sourceTotals(session, day, topId, request.shard)));
  }

  async reconcile(run: Run): Promise<DayProof> {
    const claimed = await this.claimed(run, false);
    const setAside = new Totals();
    setAside.addAll((await this.leftover(run)).filter(({ accountNo }) => run.setAside.has(accountNo)));
    const explained = new Totals();
    explained.addAll(claimed);
    explained.addAll(setAside.list());
    explained.addAll(run.withdrawnBefore);
    const posted = new Totals();
    posted.addAll(claimed);
    for (const { currency, orders, netMinor } of this.parked) posted.add(currency, -orders, -netMinor);
    const check = (name: string, expected: string, actual: string) => ({
      name,
      ok: expected === actual,
      expected,
      actual,
      differences: [],
    });
    const sums = (sides: ReadonlyMap<string, bigint>): string =>
      [...sides]
        .map(([currency, sum]) => `${currency} ${String(sum)}`)
        .sort()
        .join('; ');
    const checks = [
      check('batch-totals', totalsText(run.source), totalsText(explained.list())),
      check('trial-balance', sums(this.debits), sums(this.credits)),
    ];
    return {
      outcome: checks.every(({ ok }) => ok) ? 'OK' : 'UNFINISHED',
      totals: { source: run.source, claimed, outbox: claimed, posted: posted.list() },
      checks,
      orders: 0,
    };
  }

  async close(run: Run, complete: boolean): Promise<ClosedRun> {
    const positions = new Map(this.planned);
    if (run.claimedBefore.length > 0) {
      for (const position of await this.database.read((session) => netPositions(session, run.day))) {
        const { shard } = run.request;
        if (shard !== null && !isInShard(position.accountNo, shard)) continue;
        const key = position.currency + position.accountNo;
        const planned = positions.get(key);
        positions.set(key, { ...position, netMinor: position.netMinor + (planned?.netMinor ?? 0n) });
      }
    }
    const all = [...positions.values()];
    return {
      settledAccounts: new Set(all.map((position) => position.accountNo)).size,
      carriedForward: new Set(all.filter((position) => position.netMinor < 0n).map((position) => position.accountNo))
        .size,
      closed: complete || run.late,
      ledgerHead: null,
    };
  }

  claimed(run: Run, own: boolean): Promise<CurrencyTotal[]> {
    const totals = new Totals();
    if (!own) totals.addAll(run.claimedBefore);
    for (const { currency, orders, netMinor } of this.planned.values()) totals.add(currency, orders, netMinor);
    return Promise.resolve(totals.list());
  }

  balance(): Promise<void> {
    return Promise.resolve();
  }

  enter(): Promise<void> {
    return Promise.resolve();
  }

  beat(): Promise<void> {
    return Promise.resolve();
  }

  /** What it would book, by the nets that are there and those that are planned. */
  bookTerms(run: Run): Promise<EndedDay> {
    if (run.request.shard !== null) return Promise.resolve({ messages: 0, totals: [] });
    return dryEndOfDay(this.database, run.day, [...this.underTerms.values()]);
  }

  noteCancelledShard(): Promise<void> {
    return Promise.resolve();
  }

  register(): Promise<void> {
    return Promise.resolve();
  }

  setAside(): Promise<void> {
    return Promise.resolve();
  }

  unchanged(_run: Run, orders: readonly Order[]): Promise<readonly Order[]> {
    return Promise.resolve(orders);
  }

  withdraw(): Promise<WithdrawnOrder[]> {
    return Promise.resolve([]);
  }

  /** What is parked waits for an operator, in a real run too. */
  async post(run: Run): Promise<number> {
    const { day, request } = run;
    const parked = await this.database.read((session) => messageTotals(session, day, request.shard, ['PARKED']));
    this.parked = parked.totals;
    return parked.messages;
  }

  finish(): Promise<void> {
    return Promise.resolve();
  }
}
