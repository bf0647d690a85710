import { fail, type Finding } from '../kernel/finding.js';

/** A look at something that may not answer: another host, a program that prints a secret. */
export interface Probe {
  /** Name of its finding. */
  name: string;
  /** What is looked at, as the subject of a sentence. */
  what: string;
  /** What to do when it does not answer in time. */
  fix: string;
  /** Throws nothing but bugs; ends soon after `signal` is aborted. */
  look(signal: AbortSignal): Promise<Finding>;
}

/** Each probe gets so long; they run side by side, so that all of them take no longer than one. */
export const probeMsMax = 5_000;

/** Carries out the probes at the same time. A finding for each, in their order; whoever is silent is one that failed. */
export async function runProbes(probes: readonly Probe[], msMax = probeMsMax): Promise<Finding[]> {
  return Promise.all(probes.map((probe) => within(probe, msMax)));
}

async function within({ name, what, fix, look }: Probe, msMax: number): Promise<Finding> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const silent = new Promise<Finding>((resolve) => {
    timer = setTimeout(() => {
      resolve(fail(name, `${what} gave no answer within ${String(msMax / 1_000)} s`, fix));
      controller.abort(new Error('no answer in time'));
    }, msMax);
  });
  try {
    return await Promise.race([look(controller.signal), silent]);
  } finally {
    clearTimeout(timer);
  }
}
