import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import type { AskNode } from './chainNode.js';
import type { ChainRules, DepositOrder, PlanRules, SettledTransfer } from './deposit.js';
import type { OrderScene } from './orderRules.js';
import { passesBeforeNode, planDeposit, type DepositPlan, type PlanFacts } from './planDeposit.js';
import { claimedOrders, depositOrders, seenBefore, settledOf } from './queries.js';
import type { NodeAnswers, NodeFailure } from './receipt.js';

/** A chain that can be asked. */
export interface ConnectedChain {
  readonly rules: ChainRules;
  ask: AskNode;
}

export interface PlannerPorts {
  /** The chain of this name if it is configured and switched on. Its node is found when it is asked, not before. */
  chain(name: string): ConnectedChain | null;
  scene(name: string): OrderScene | null;
  readonly rules: PlanRules;
  /** Ends long work between two pages. */
  readonly signal: AbortSignal;
}

/** What is to be planned: a hash or index that is not given is the order's own. */
export interface PlanRequest {
  readonly outTradeNo: string;
  readonly transactionHash?: string | null;
  readonly logIndex?: number | null;
}

type Known = Omit<PlanFacts, 'node' | 'settled' | 'seenBefore'>;

/** Plans one order, from what its chain and the database say now. Writes nothing. */
export async function planOne(
  database: Database,
  ports: PlannerPorts,
  request: PlanRequest,
  submitted: string | null = null,
): Promise<DepositPlan> {
  const facts = await factsOf(database, ports, request);
  return planDeposit(facts, ports.rules, submitted);
}

/** All that a plan of one order is made from, read now. */
export async function factsOf(database: Database, ports: PlannerPorts, request: PlanRequest): Promise<PlanFacts> {
  const order = (await database.read((session) => depositOrders(session, [request.outTradeNo]))).get(
    request.outTradeNo,
  );
  const known = knownOf(ports, request, order ?? null);
  const [facts] = await withAnswers(database, ports, [known]);
  return facts as PlanFacts;
}

function knownOf(ports: PlannerPorts, request: PlanRequest, order: DepositOrder | null): Known {
  const given = request.transactionHash;
  return {
    outTradeNo: request.outTradeNo,
    order,
    chain: order === null ? null : (ports.chain(order.chainName)?.rules ?? null),
    scene: order === null ? null : ports.scene(order.scene),
    transactionHash: given === undefined ? (order?.transactionHash ?? null) : given,
    logIndex: request.logIndex ?? (given === undefined ? (order?.logIndex ?? null) : null),
  };
}

/** Orders in one page. Several pages are on their way at once, so that the node is never waited for alone. */
const pageRows = 200;
const pagesAhead = 4;

/**
 * Plans every pending order of which a transaction is known, page by page in the order of ids. `each` gets the plans of a
 * page; memory does not grow with the orders. Returns how many were planned and how many have no transaction yet.
 */
export async function planPending(
  database: Database,
  ports: PlannerPorts,
  each: (plans: readonly DepositPlan[]) => Promise<void>,
): Promise<{ planned: number; waiting: number }> {
  const counts = { planned: 0, waiting: 0 };
  const ahead: Promise<DepositPlan[]>[] = [];
  const takeFirst = async (): Promise<void> => {
    const plans = (await ahead.shift()) ?? [];
    counts.planned += plans.length;
    await each(plans);
  };
  try {
    for (let afterId = 0n; ;) {
      throwIfCancelled(ports.signal);
      const page = await database.read((session) => claimedOrders(session, afterId, pageRows));
      const last = page[page.length - 1];
      if (last === undefined) break;
      afterId = last.id;
      const claimed = page.filter(({ transactionHash }) => transactionHash !== null);
      counts.waiting += page.length - claimed.length;
      if (claimed.length > 0) ahead.push(planPage(database, ports, claimed));
      if (ahead.length >= pagesAhead) await takeFirst();
    }
    while (ahead.length > 0) await takeFirst();
  } finally {
    await Promise.allSettled(ahead);
  }
  return counts;
}

async function planPage(
  database: Database,
  ports: PlannerPorts,
  orders: readonly DepositOrder[],
): Promise<DepositPlan[]> {
  const known = orders.map((order) => knownOf(ports, { outTradeNo: order.outTradeNo }, order));
  const facts = await withAnswers(database, ports, known);
  return facts.map((one) => planDeposit(one, ports.rules));
}

/** Asks the nodes about those that pass the checks before, and the database what is settled: after the node, so that it is newer. */
async function withAnswers(database: Database, ports: PlannerPorts, known: readonly Known[]): Promise<PlanFacts[]> {
  const byChain = new Map<string, Set<string>>();
  const asked = new Set<Known>();
  for (const one of known) {
    const { order, transactionHash } = one;
    if (order === null || transactionHash === null || !passesBeforeNode(one)) continue;
    asked.add(one);
    const hashes = byChain.get(order.chainName) ?? new Set();
    byChain.set(order.chainName, hashes.add(transactionHash));
  }
  const answers = new Map<string, Map<string, NodeAnswers | NodeFailure>>();
  await Promise.all(
    [...byChain].map(async ([name, hashes]) => {
      const chain = ports.chain(name);
      if (chain !== null) answers.set(name, await chain.ask([...hashes]));
    }),
  );
  const { settled, seen } = await database.read((session) => settledAndSeen(session, known));
  return known.map((one) => {
    const { order, transactionHash } = one;
    const hash = transactionHash ?? '';
    return {
      ...one,
      node: asked.has(one) ? (answers.get(order?.chainName ?? '')?.get(hash) ?? null) : null,
      settled: settled.get(hash)?.filter((row) => isOfChain(row, one)) ?? [],
      seenBefore: seen.has(hash) || settled.has(hash),
    };
  });
}

/** One chain may have been called otherwise before, and a name may have meant another chain: either is held to be the same. */
function isOfChain(row: SettledTransfer, { order, chain }: Known): boolean {
  return row.chainName === order?.chainName || row.chainId === chain?.chainId;
}

async function settledAndSeen(
  session: Session,
  known: readonly Known[],
): Promise<{ settled: Map<string, SettledTransfer[]>; seen: Set<string> }> {
  const hashes = [...new Set(known.flatMap(({ transactionHash }) => transactionHash ?? []))];
  const settled = new Map<string, SettledTransfer[]>();
  for (const row of await settledOf(session, hashes)) {
    settled.set(row.transactionHash, [...(settled.get(row.transactionHash) ?? []), row]);
  }
  return { settled, seen: await seenBefore(session, hashes) };
}
