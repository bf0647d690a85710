import type { Bound, Expected } from './bound.js';
import { differences } from './compare.js';
import { allRows, readFacts, type Facts } from './facts.js';
import { perform, type Performed } from './faults.js';
import type { Ended } from './launch.js';
import type { Model } from './model.js';
import type { Fault } from './plan.js';
import type { Random } from './random.js';
import { adoptRun } from './resolve.js';
import type { World } from './world.js';

export interface Step {
  /** The model after the operation, equal to the tables when there are no problems. */
  model: Model;
  /** `unknown`: killed, stopped or cut off, so that only the tables tell how far it came. */
  result: 'ok' | 'fail' | 'unknown';
  struck: boolean;
  problems: string[];
  line: string;
}

/** Carries one operation out, on the database and on the model, and compares both. */
export async function takeStep(
  world: World,
  bound: Bound,
  fault: Fault | null,
  random: Random,
  before: Model,
): Promise<Step> {
  if (bound.args === null) return writtenByOthers(world, bound, before);
  const rows = bound.readOnly ? await allRows(world.store) : '';
  const performed = await perform(world, bound, fault, random, before);
  await world.store.alone();
  const facts = await readFacts(world.store);
  const base = before.copy();
  for (const write of performed.written) write(base);
  const after = base.copy();
  const expected = bound.apply(after);
  const problems = answerProblems(fault, performed, expected, again(bound, after));
  if (bound.readOnly && (await allRows(world.store)) !== rows) problems.push('a row changed, and this only reads');

  const known = fault?.kind !== 'writer' && performed.ended.some(({ code }) => code === expected.exitCode);
  let model = after;
  if (known || bound.readOnly) {
    problems.push(...differences(after, facts));
    if (facts.lastRunDay !== after.lastRunDay) problems.push(`the last run is one of ${String(facts.lastRunDay)}`);
  } else {
    model = resolved(bound, base, after, facts, problems);
  }
  // What a killed run left stays until a run takes over, which one that finds nothing due does not.
  if (known && facts.leaseHeld && !before.left.lease) problems.push('the lease is still held');
  if (known && facts.running > before.left.running) problems.push('a run still says RUNNING');
  model.left = { lease: facts.leaseHeld, running: facts.running };
  adoptIds(model, facts);
  const result = !known && !bound.readOnly ? 'unknown' : expected.exitCode === 2 ? 'fail' : 'ok';
  const ends = performed.ended.map(({ code, signal }) => signal ?? String(code)).join(' and ');
  return {
    model,
    result,
    struck: performed.struck,
    problems,
    line: `${bound.text}${faultText(fault, performed)} → ${ends}`,
  };
}

/** The exit code of the same command started once more, on a copy. */
function again(bound: Bound, after: Model): number | null {
  return bound.apply(after.copy()).exitCode;
}

async function writtenByOthers(world: World, bound: Bound, before: Model): Promise<Step> {
  for (const sql of bound.sql) await world.store.change(sql);
  const model = before.copy();
  bound.apply(model);
  const facts = await readFacts(world.store);
  const problems = differences(model, facts);
  adoptIds(model, facts);
  return { model, result: 'ok', struck: false, problems, line: bound.text };
}

/** What an unknown end came to: a run anywhere on its way, any other command done or not done. */
function resolved(bound: Bound, base: Model, after: Model, facts: Facts, problems: string[]): Model {
  if (bound.ask !== null) {
    const model = base.copy();
    problems.push(...adoptRun(model, facts, bound.ask), ...differences(model, facts));
    return model;
  }
  const undone = differences(base, facts);
  if (undone.length === 0) return base;
  const done = differences(after, facts);
  problems.push(...(done.length <= undone.length ? done : undone));
  return after;
}

function adoptIds(model: Model, facts: Facts): void {
  for (const { no, id } of facts.orders) {
    const order = model.orders.get(no);
    if (order !== undefined) order.id = id;
  }
}

/** Exit codes and documents against what the model and the fault allow. */
function answerProblems(
  fault: Fault | null,
  { ended }: Performed,
  expected: Expected,
  repeated: number | null,
): string[] {
  const problems: string[] = [];
  const codes = allowedCodes(fault, expected.exitCode, repeated);
  const signals = fault === null ? [] : (allowedSignals[fault.kind] ?? []);
  for (const one of ended) {
    const allowed = one.signal === null ? codes.includes(one.code ?? -1) : signals.includes(one.signal);
    if (!allowed) {
      const wanted = [...codes.map(String), ...signals].join(' or ');
      problems.push(`ended with ${one.signal ?? String(one.code)} instead of ${wanted}: ${tail(one)}`);
    } else if (one.code === expected.exitCode && ended.length === 1 && fault?.kind !== 'writer') {
      problems.push(...documentProblems(expected, one));
    }
  }
  return problems;
}

const allowedSignals: Partial<Record<Fault['kind'], readonly string[]>> = {
  kill: ['SIGKILL'],
  sigterm: ['SIGTERM'],
  sigint: ['SIGINT'],
  signalTwice: ['SIGTERM', 'SIGINT'],
};

function allowedCodes(fault: Fault | null, wanted: number | null, repeated: number | null): number[] {
  const normal = wanted === null ? [0, 3, 5] : [wanted];
  switch (fault?.kind) {
    case undefined:
    case 'kill':
    case 'lock':
      return normal;
    case 'sigterm':
      return [...normal, 143];
    case 'sigint':
      return [...normal, 130];
    case 'signalTwice':
      return [...normal, 143, 130];
    case 'deadline':
      return [...normal, 12];
    case 'writer':
      return [0, 3, 5, 10];
    case 'cut':
    case 'killSession':
    case 'serverCrash':
      return [...normal, 75];
    case 'twin':
      return [...normal, repeated ?? 0, 11];
    case 'stopped':
      return [...normal, repeated ?? 0, 11, 75];
  }
}

function documentProblems(expected: Expected, { stdout, stderr, code }: Ended): string[] {
  if (expected.check === undefined) return [];
  try {
    return expected.check(JSON.parse(stdout) as Record<string, unknown>);
  } catch (error) {
    return [
      `exit code ${String(code)} without a readable document: ${String(error)} ${stdout.slice(0, 200)}${stderr.slice(-300)}`,
    ];
  }
}

/** What it said, without the checks that held. */
function tail({ stdout, stderr }: Ended): string {
  const text = `${stderr.slice(-400)} ${stdout}`.replaceAll(/\s+/g, ' ');
  return text.replaceAll(/\{ "name": "[a-z-]+", "ok": true,[^{}]*\},?/g, '').slice(0, 1_200);
}

function faultText(fault: Fault | null, { struck, written }: Performed): string {
  if (fault === null) return '';
  const moment = fault.statement === null ? `${String(fault.ms)} ms` : `statement ${String(fault.statement)}`;
  const writes = written.length === 0 ? '' : `, ${String(written.length)} writes in time`;
  return ` {${fault.kind} at ${moment}${struck ? '' : ', missed'}${writes}}`;
}
