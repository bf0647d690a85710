import { keyOf, signed, type Model, type ModelOrder } from './model.js';

/** What a command of the run family is asked for. */
export interface RunAsk {
  target: string;
  lookBackDays: number;
  accounts: readonly string[] | null;
  /** A rerun of a range: orders with an id in (from, until] of the target day only. */
  range: { from: bigint; until: bigint | null } | null;
  detailed: boolean;
}

/** What the run must say; figures are those of the target day. */
export interface RunSaid {
  exitCode: number;
  /** Null when it ends with an error and no document. */
  document: {
    outcome: 'OK' | 'PARTIAL';
    closed: boolean;
    alreadyClosed: boolean;
    quarantined: number;
    leftOrders: number;
    /** "USD" → [orders, net] settled by this run under the target day. */
    settledNow: Record<string, [number, string]>;
  } | null;
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Days that a run up to `target` must settle, in order; null when an open day lies too far back to be reached. */
export function owedDays(model: Model, target: string, lookBackDays: number): string[] | null {
  const from = addDays(target, -lookBackDays);
  const owed = new Set<string>();
  for (const [day, batch] of model.days) {
    if (day > target) continue;
    if (day < from) {
      if (!batch.closed) return null;
      continue;
    }
    if (!batch.closed || batch.unended || batch.released) owed.add(day);
    if (batch.counted !== model.ordersOf(day).length) owed.add(day);
  }
  for (const { day } of model.orders.values()) {
    if (day >= from && day <= target && !model.days.has(day)) owed.add(day);
  }
  if (!model.days.has(target)) owed.add(target);
  return [...owed].sort();
}

/** Carries a run out on the model, to its very end. */
export function carryOut(model: Model, ask: RunAsk): RunSaid {
  const { target } = ask;
  const owed = ask.range === null ? owedDays(model, target, ask.lookBackDays) : [target];
  if (owed === null) return { exitCode: 5, document: null };
  let partialBefore = false;
  for (const day of owed) {
    const said = settleDay(model, day, ask);
    if (day === target) return asWorst(said, partialBefore);
    if (said.document?.closed !== true) return { exitCode: 5, document: null };
    partialBefore ||= said.exitCode === 3;
  }
  const held = model.heldOn(target);
  const outcome = held > 0 ? 'PARTIAL' : 'OK';
  const quiet = ask.detailed && owed.length === 0 ? 10 : 0;
  const document = { outcome, closed: true, alreadyClosed: true, quarantined: held, leftOrders: 0, settledNow: {} };
  return asWorst({ exitCode: held > 0 ? 3 : quiet, document: { ...document, outcome } }, partialBefore);
}

function asWorst(said: RunSaid, partialBefore: boolean): RunSaid {
  if (!partialBefore || said.exitCode !== 0 || said.document === null) return said;
  return { exitCode: 3, document: { ...said.document, outcome: 'PARTIAL' } };
}

function settleDay(model: Model, day: string, ask: RunAsk): RunSaid {
  const batch = model.days.get(day) ?? { closed: false, counted: null, unended: false, released: false };
  model.days.set(day, batch);
  model.lastRunDay = day;
  const own = model.ordersOf(day);
  const settled: ModelOrder[] = [];
  for (const order of own.filter((candidate) => candidate.state === 'INIT' && isAsked(candidate, ask))) {
    if (model.isHeld(order)) continue;
    const code = model.blocked(order.account) ?? (model.refusing.net.has(order.account) ? 'DATABASE_REFUSED' : null);
    if (code === null) {
      order.state = 'PROCESSING';
      settled.push(order);
    } else model.setAside.set(keyOf(day, order.account), { code, orders: 0 });
  }
  post(model);
  for (const [key, aside] of model.setAside) {
    if (!key.startsWith(`${day} `)) continue;
    aside.orders = own.filter((order) => order.state === 'INIT' && keyOf(day, order.account) === key).length;
  }
  const left = own.filter((order) => order.state === 'INIT' && !model.isHeld(order)).length;
  const unsent = own.some((order) => order.state === 'PROCESSING');
  const complete = left === 0 && !unsent;
  batch.unended = false;
  if (complete) Object.assign(batch, { closed: true, counted: own.length, released: false });
  const held = model.heldOn(day);
  const outcome = complete && held === 0 ? 'OK' : 'PARTIAL';
  const settledNow: Record<string, [number, string]> = {};
  for (const order of settled) {
    const [orders, net] = settledNow[order.currency] ?? [0, '0'];
    settledNow[order.currency] = [orders + 1, (BigInt(net) + signed(order)).toString()];
  }
  return {
    exitCode: outcome === 'OK' ? 0 : 3,
    document: { outcome, closed: batch.closed, alreadyClosed: false, quarantined: held, leftOrders: left, settledNow },
  };
}

function isAsked({ id, account }: ModelOrder, { accounts, range }: RunAsk): boolean {
  if (range !== null && (id <= range.from || (range.until !== null && id > range.until))) return false;
  return accounts === null || accounts.includes(account);
}

/** The outbox knows no days: whatever waits is posted, or parked when the ledger refuses it. */
function post(model: Model): void {
  for (const order of model.orders.values()) {
    if (order.state !== 'PROCESSING' || order.parked) continue;
    if (model.refusing.ledger.has(order.account)) order.parked = true;
    else order.state = 'SUCCESS';
  }
}
