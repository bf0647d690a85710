import { invariant } from '../kernel/invariant.js';
import type { SlowPiece } from './longTail.js';

/** A check of the run as its document keeps it. */
export interface Check {
  name: string;
  ok: boolean;
  expected: unknown;
  actual: unknown;
}

export interface StageTime {
  stage: string;
  durationMs: number;
}

/** With what the run was made; null in documents of versions that did not keep it. */
export interface Provenance {
  version: string;
  configHash: string;
  timeZone: string;
  cutOff: string;
}

/**
 * The parts of a stored `settle.run` document that only the run itself could know. Throws MESSAGE_UNREADABLE when it
 * is not a document any more: then somebody edited it, and no report may be drawn from it.
 */
export function readRunDocument(stored: { runId: bigint; text: string } | undefined): {
  checks: Check[];
  stageTimes: StageTime[] | null;
  slowest: SlowPiece[];
  provenance: Provenance | null;
} {
  if (stored === undefined) return { checks: [], stageTimes: null, slowest: [], provenance: null };
  const document = parsed(stored.text);
  const readable = isObject(document) && Array.isArray(document['checks']) && document['checks'].every(isCheck);
  invariant(readable, 'MESSAGE_UNREADABLE', `The stored document of run ${String(stored.runId)} cannot be read.`, {
    runId: stored.runId,
  });
  const { checks, stageTimes, slowestShards, provenance } = document as Record<string, unknown> & { checks: Check[] };
  return {
    checks: checks.map(({ name, ok, expected, actual }) => ({
      name,
      ok,
      expected: expected ?? null,
      actual: actual ?? null,
    })),
    stageTimes: Array.isArray(stageTimes) && stageTimes.every(isStageTime) ? stageTimes : null,
    slowest: Array.isArray(slowestShards) && slowestShards.every(isSlowPiece) ? slowestShards : [],
    provenance: isProvenance(provenance) ? provenance : null,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCheck(value: unknown): boolean {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['ok'] === 'boolean';
}

function isStageTime(value: unknown): value is StageTime {
  return isObject(value) && typeof value['stage'] === 'string' && typeof value['durationMs'] === 'number';
}

function isSlowPiece(value: unknown): value is SlowPiece {
  return (
    isObject(value) &&
    (value['accountNo'] === null || typeof value['accountNo'] === 'string') &&
    ['lane', 'orders', 'durationMs', 'medianMs'].every((key) => typeof value[key] === 'number')
  );
}

function isProvenance(value: unknown): value is Provenance {
  return (
    isObject(value) && ['version', 'configHash', 'timeZone', 'cutOff'].every((key) => typeof value[key] === 'string')
  );
}
