import { readFileSync } from 'node:fs';
import { StatementRefusal } from '../../src/statements/refusal.js';
import type {
  StatementBalance,
  StatementEvent,
  StatementFormat,
  StatementHead,
  StatementLine,
  StatementProblem,
  StatementSettings,
  StatementSource,
} from '../../src/statements/statement.js';

/** Bytes as a file would hand them out, in chunks of this size. */
export function sourceOf(bytes: Buffer, chunk = 7): StatementSource {
  return {
    name: 'file',
    // eslint-disable-next-line @typescript-eslint/require-await -- a file is read step by step
    async *chunks() {
      for (let at = 0; at < bytes.length; at += chunk) yield Buffer.from(bytes.subarray(at, at + chunk));
    },
  };
}

export function sample(name: string): Buffer {
  return readFileSync(`fixtures/statements/providers/${name}`);
}

/** What a reader made of a file. */
export interface Reading {
  heads: StatementHead[];
  lines: StatementLine[];
  balances: StatementBalance[];
  problems: StatementProblem[];
  closes: number;
}

export const noSettings: StatementSettings = { timeZone: null, currency: null };

export async function readAll(
  format: StatementFormat,
  bytes: Buffer | string,
  settings: StatementSettings = noSettings,
  chunk = 4096,
): Promise<Reading> {
  const reading: Reading = { heads: [], lines: [], balances: [], problems: [], closes: 0 };
  const source = sourceOf(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, chunk);
  for await (const event of format.read(source, settings)) take(reading, event);
  if (reading.closes !== reading.heads.length) throw new Error('A statement was opened and not closed.');
  return reading;
}

function take(reading: Reading, event: StatementEvent): void {
  const isOpen = reading.heads.length > reading.closes;
  if (event.kind === 'open') {
    if (isOpen) throw new Error('A statement was opened inside another.');
    reading.heads.push(event.statement);
  } else if (event.kind === 'line') {
    if (!isOpen) throw new Error('A line lies outside a statement.');
    reading.lines.push(event.line);
  } else if (event.kind === 'balance') {
    if (!isOpen) throw new Error('A balance lies outside a statement.');
    reading.balances.push(event.balance);
  } else if (event.kind === 'problem') reading.problems.push(event.problem);
  else reading.closes += 1;
}

/** The refusal of a file, or null where it is read. */
export async function refusalOf(
  format: StatementFormat,
  bytes: Buffer | string,
  settings: StatementSettings = noSettings,
  chunk = 4096,
): Promise<StatementRefusal | null> {
  try {
    await readAll(format, bytes, settings, chunk);
    return null;
  } catch (error) {
    if (error instanceof StatementRefusal) return error;
    throw error;
  }
}

/** "BAD_AMOUNT 3:17". */
export async function refusedAt(
  format: StatementFormat,
  bytes: Buffer | string,
  settings: StatementSettings = noSettings,
): Promise<string> {
  const refusal = await refusalOf(format, bytes, settings);
  return refusal === null ? 'read' : `${refusal.code} ${String(refusal.line)}:${String(refusal.column)}`;
}

/** A line as one row of a table: place, kind, way, amount, fee, net, our and their number, state, time, day. */
export function rowOf(line: StatementLine): string {
  const text = (value: bigint | string | null): string => (value === null ? '-' : String(value));
  return [
    `${String(line.line)} ${line.kind} ${line.channelType} ${line.direction} ${line.currency} ${String(line.amountMinor)}`,
    `fee ${text(line.feeMinor)} net ${text(line.netMinor)}`,
    `${text(line.ourReference)} / ${text(line.channelReference)} / ${line.otherReferences.join(' ')}`,
    `key ${text(line.lineKey)}`,
    `balance ${text(line.balanceMinor)} batch ${text(line.batchReference)}`,
    `${line.state} ${text(line.occurredAt)} ${line.bookedDay}`,
  ].join(' | ');
}

/** What lines add up to, by currency and way: for comparing two readings. */
export function sumsOf(lines: readonly StatementLine[]): string {
  const sums = new Map<string, bigint>();
  for (const { currency, direction, amountMinor, feeMinor } of lines) {
    for (const [key, minor] of [
      [`${currency} ${direction}`, amountMinor] as const,
      [`${currency} fee`, feeMinor ?? 0n] as const,
    ]) {
      sums.set(key, (sums.get(key) ?? 0n) + minor);
    }
  }
  return [...sums]
    .sort()
    .map(([key, minor]) => `${key} ${String(minor)}`)
    .join(', ');
}
