import { statement, type Bound } from './bound.js';
import * as commands from './commands.js';
import { readFacts, allRows } from './facts.js';
import { lastDay, soakDays } from './made.js';
import { Model } from './model.js';
import { owedDays } from './modelRun.js';
import { bind, type FaultKind, type OperationKind, type Plan } from './plan.js';
import { randomOf } from './random.js';
import { takeStep, type Step } from './step.js';
import type { Store } from './store.js';
import { makeWorld, type SoakServer, type World } from './world.js';

export interface Violation {
  /** Place of the operation in the plan; null for the end of the history. */
  index: number | null;
  problems: string[];
}

export interface Counts {
  operations: Partial<Record<OperationKind, number>>;
  /** Faults that met the command at work. */
  faults: Partial<Record<FaultKind, number>>;
  results: Record<Step['result'], number>;
}

export interface History {
  lines: string[];
  counts: Counts;
  violation: Violation | null;
}

export interface HistoryOptions {
  server: SoakServer | null;
  /** Only these operations of the plan; all when it is missing. */
  only?: readonly number[];
  /** Called after each operation: where a test changes a row behind everybody's back. */
  between?: (store: Store, index: number) => Promise<void>;
}

const verifyEvery = 6;

/** Carries a plan out on a new database; ends at the first violation, else when everything due is closed and proven. */
export async function runHistory(plan: Plan, options: HistoryOptions): Promise<History> {
  const world = await makeWorld(plan.engine, options.server);
  const history: History = {
    lines: [],
    counts: { operations: {}, faults: {}, results: { ok: 0, fail: 0, unknown: 0 } },
    violation: null,
  };
  let model = new Model();
  const take = async (bound: Bound, index: number | null): Promise<boolean> => {
    const operation = index === null ? undefined : plan.operations[index];
    const fault = operation?.fault ?? null;
    const step = await takeStep(world, bound, fault, randomOf(plan.seed, index ?? -1, 99), model);
    model = step.model;
    const { operations, faults, results } = history.counts;
    results[step.result] += 1;
    if (operation !== undefined) operations[operation.kind] = (operations[operation.kind] ?? 0) + 1;
    if (fault !== null && step.struck) faults[fault.kind] = (faults[fault.kind] ?? 0) + 1;
    history.lines.push(`${index === null ? 'end' : `#${String(index)}`} ${step.line}`);
    if (step.problems.length > 0) history.violation = { index, problems: step.problems };
    return step.problems.length === 0;
  };
  try {
    let done = 0;
    for (const operation of plan.operations) {
      if (options.only?.includes(operation.index) === false) continue;
      if (!(await take(bind(plan, operation, model), operation.index))) return history;
      await options.between?.(world.store, operation.index);
      done += 1;
      if (done % verifyEvery === 0 && !(await take(commands.verifyAll(), null))) return history;
    }
    for (const bound of closing(model)) {
      if (!(await take(bound, null))) return history;
    }
    history.violation = await lastProof(world, model);
    return history;
  } finally {
    await world.remove();
  }
}

/** Without faults from here on: what was refused is taken again, everything due is closed, and the books are proven. */
function closing(model: Model): Bound[] {
  const taken = (['net', 'ledger'] as const)
    .filter((what) => model.refusing[what].size > 0)
    .map((what) =>
      statement(`the database takes all ${what} rows again`, [`drop trigger refuse_${what}`], (target) => {
        target.refusing[what].clear();
      }),
    );
  return [
    ...taken,
    commands.requeue(),
    commands.runUpTo(lastDay),
    commands.verifyAll(),
    ...soakDays.map((day) => commands.reconcile(day)),
    commands.status(),
  ];
}

async function lastProof(world: World, model: Model): Promise<Violation | null> {
  const problems: string[] = [];
  const owed = owedDays(model, lastDay, 31);
  if (owed?.length !== 0) problems.push(`after the last run these days are still owed: ${String(owed)}`);
  const facts = await readFacts(world.store);
  for (const { no, state, messages } of facts.orders) {
    if (state === 'PROCESSING') problems.push(`order ${no} is still PROCESSING`);
    if (messages.some((message) => message !== 'SENT')) problems.push(`the message of order ${no} was never sent`);
  }
  if (facts.leaseHeld && !model.left.lease) problems.push('the lease is held for ever');
  if (facts.running > model.left.running) problems.push('a run says RUNNING for ever');
  const rows = await allRows(world.store);
  const step = await takeStep(world, commands.runUpTo(lastDay), null, randomOf(0), model);
  problems.push(...step.problems);
  if ((await allRows(world.store)) !== rows) problems.push('one more run changed a row');
  return problems.length === 0 ? null : { index: null, problems };
}
