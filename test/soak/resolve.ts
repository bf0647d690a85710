import type { Facts } from './facts.js';
import type { Model } from './model.js';
import { owedDays, type RunAsk } from './modelRun.js';

const forward: Record<string, readonly string[]> = {
  INIT: ['INIT', 'PROCESSING', 'SUCCESS'],
  PROCESSING: ['PROCESSING', 'SUCCESS'],
  SUCCESS: ['SUCCESS'],
  CANCELED: ['CANCELED'],
  FAILED: ['FAILED'],
};

/**
 * A run ended somewhere on its way, nobody knows where. Moves the model to where the tables say it came, and gives what
 * no run could have done on that way: such a step is a violation, and the model does not take it.
 */
export function adoptRun(model: Model, facts: Facts, ask: RunAsk): string[] {
  const problems: string[] = [];
  const mayBegin = new Set(ask.range === null ? (owedDays(model, ask.target, ask.lookBackDays) ?? []) : [ask.target]);
  for (const fact of facts.orders) {
    const order = model.orders.get(fact.no);
    if (order === undefined || fact.state === order.state) continue;
    const claimable =
      order.state !== 'INIT' ||
      (mayBegin.has(order.day) &&
        !model.isHeld(order) &&
        model.blocked(order.account) === null &&
        !model.refusing.net.has(order.account) &&
        (ask.accounts?.includes(order.account) ?? true) &&
        (ask.range === null ||
          (order.id > ask.range.from && (ask.range.until === null || order.id <= ask.range.until))));
    const postable = fact.state !== 'SUCCESS' || (!order.parked && !model.refusing.ledger.has(order.account));
    if (claimable && postable && forward[order.state]?.includes(fact.state) === true) order.state = fact.state;
    else problems.push(`order ${fact.no} went from ${order.state} to ${fact.state}, which this run may not do`);
  }
  for (const fact of facts.orders) {
    const order = model.orders.get(fact.no);
    if (order?.state !== 'PROCESSING' || !fact.messages.includes('PARKED') || order.parked) continue;
    if (model.refusing.ledger.has(order.account)) order.parked = true;
  }
  for (const [key, aside] of facts.setAside) {
    const [day = '', account = ''] = key.split(' ');
    const known = model.setAside.get(key);
    const left = model.ordersOf(day).filter((order) => order.account === account && order.state === 'INIT').length;
    if (known !== undefined) {
      if (aside.orders === left) known.orders = left; // counted anew by the run
      continue;
    }
    const code = model.blocked(account) ?? (model.refusing.net.has(account) ? 'DATABASE_REFUSED' : null);
    // Counted page by page until the run ends: at most what is there, at least the one order that was met.
    if (code === aside.code && mayBegin.has(day) && aside.orders >= 1 && aside.orders <= left) {
      model.setAside.set(key, { ...aside });
    }
  }
  for (const [day, fact] of facts.days) {
    const known = model.days.get(day) ?? { closed: false, counted: null, unended: false, released: false };
    const left = model.ordersOf(day).filter((order) => order.state === 'INIT' || order.state === 'PROCESSING');
    const work = left.filter((order) => order.state !== 'INIT' || !model.isHeld(order));
    // A writer beside the run may insert after the day was closed; what the close counted was there before it.
    const late = model.ordersOf(day).length - (fact.counted ?? 0);
    if (!mayBegin.has(day)) continue;
    if (fact.closed && !known.closed && work.length > late) problems.push(`${day} was closed with work left`);
    if (fact.counted !== null && fact.counted > model.ordersOf(day).length) {
      problems.push(`${day} counts ${String(fact.counted)} orders, which is more than there are`);
    }
    if (known.closed && !fact.closed) problems.push(`${day} was opened again`);
    if (fact.released && !known.released) problems.push(`${day} counts as released, and nobody released anything`);
    model.days.set(day, { ...fact });
  }
  model.lastRunDay = facts.lastRunDay;
  return problems;
}
