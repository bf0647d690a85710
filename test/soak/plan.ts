import type { Bound, Engine } from './bound.js';
import * as commands from './commands.js';
import * as inputs from './inputs.js';
import { soakDays } from './made.js';
import type { Model } from './model.js';
import { randomOf } from './random.js';

const operationWeights = {
  importOrders: 20,
  importAccounts: 7,
  foreignInsert: 4,
  foreignChange: 5,
  refusal: 4,
  run: 22,
  runAccounts: 5,
  dryRun: 6,
  resume: 5,
  rerun: 6,
  dryRerun: 2,
  release: 7,
  requeue: 4,
  verify: 4,
  reconcile: 3,
  report: 3,
  status: 2,
  quarantineList: 1,
} as const;
export type OperationKind = keyof typeof operationWeights;

const faultWeights = {
  kill: 6,
  sigterm: 3,
  sigint: 2,
  signalTwice: 3,
  stopped: 2,
  deadline: 3,
  twin: 3,
  lock: 3,
  writer: 4,
  cut: 6,
  killSession: 3,
  serverCrash: 2,
} as const;
export type FaultKind = keyof typeof faultWeights;
const onServerOnly: readonly FaultKind[] = ['cut', 'killSession', 'serverCrash'];
/** What only a command of the run family is put through. */
const ofRunsOnly: readonly FaultKind[] = ['stopped', 'deadline', 'twin', 'writer'];
const runs: readonly OperationKind[] = ['run', 'runAccounts', 'resume', 'rerun'];

/** When a fault strikes: at the n-th statement, or so long after the start where statements cannot be counted. */
export interface Fault {
  kind: FaultKind;
  statement: number | null;
  ms: number;
}

export interface Operation {
  index: number;
  kind: OperationKind;
  fault: Fault | null;
}

export interface Plan {
  seed: number;
  engine: Engine;
  faults: FaultKind[];
  operations: Operation[];
}

/** The same operations and faults for the same seed; a quarter of the seeds have no fault at all. */
export function planOf(seed: number, engine: Engine, length: number): Plan {
  const random = randomOf(seed, engine === 'sqlite' ? 1 : 2);
  const usable = (Object.keys(faultWeights) as FaultKind[]).filter(
    (kind) => engine === 'server' || !onServerOnly.includes(kind),
  );
  const faults = random.chance(0.25) ? [] : usable.filter(() => random.chance(0.5));
  const operations: Operation[] = [];
  for (let index = 0; index < length; index += 1) {
    // A history begins with something to settle.
    const kind = index === 0 ? 'importOrders' : random.weighted(operationWeights);
    const isRun = runs.includes(kind);
    const possible = faults.filter((fault) => isRun || !ofRunsOnly.includes(fault));
    const struck = random.chance(isRun ? 0.6 : 0.2) && possible.length > 0;
    const weights = Object.fromEntries(possible.map((fault) => [fault, faultWeights[fault]])) as Record<
      FaultKind,
      number
    >;
    const fault: Fault | null = struck
      ? {
          kind: random.weighted(weights),
          statement: random.chance(0.85) ? Math.round(Math.exp(random.int(0, 480) / 100)) : null,
          ms: random.int(150, 1_200),
        }
      : null;
    operations.push({ index, kind, fault });
  }
  return { seed, engine, faults, operations };
}

/** The operation on the state that the history has come to. Its choices depend on nothing but seed, place and that state. */
export function bind(plan: Plan, { kind, index }: Operation, model: Model): Bound {
  const random = randomOf(plan.seed, index, 77);
  const serial = String(index);
  switch (kind) {
    case 'importOrders':
      return inputs.importOrders(random, model, serial);
    case 'importAccounts':
      return inputs.importAccounts(random);
    case 'foreignInsert':
      return inputs.foreignInsert(random, serial, plan.engine);
    case 'foreignChange':
      return inputs.foreignChange(random, model, plan.engine);
    case 'refusal':
      return inputs.refusal(random, model, plan.engine);
    case 'run':
      return commands.run(random, { dryRun: false, accounts: false });
    case 'runAccounts':
      return commands.run(random, { dryRun: false, accounts: true });
    case 'dryRun':
      return commands.run(random, { dryRun: true, accounts: random.chance(0.2) });
    case 'resume':
      return commands.resume(random, model);
    case 'rerun':
      return commands.rerun(random, model, false);
    case 'dryRerun':
      return commands.rerun(random, model, true);
    case 'release':
      return commands.release(random, model);
    case 'requeue':
      return commands.requeue();
    case 'verify':
      return commands.verify(random);
    case 'reconcile':
      return commands.reconcile(random.pick(soakDays));
    case 'report':
      return commands.report(random);
    case 'status':
      return commands.status();
    case 'quarantineList':
      return commands.quarantineList();
  }
}
