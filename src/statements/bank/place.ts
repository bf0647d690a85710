import { StatementRefusal, type StatementRefusalCode } from '../refusal.js';
import type { StatementEvent } from '../statement.js';

/** Where something stands in the file: line from 1, character of the line from 1 or null. */
export interface Place {
  readonly line: number;
  readonly column: number | null;
}

/** A StatementRefusal with its place. */
export function refusal(code: StatementRefusalCode, message: string, place: Place | null): StatementRefusal {
  return new StatementRefusal(code, message, place?.line ?? null, place?.column ?? null);
}

/** A contradiction within the file. */
export function problem(code: StatementRefusalCode, message: string, place: Place | null): StatementEvent {
  return { kind: 'problem', problem: { code, message, line: place?.line ?? null, column: place?.column ?? null } };
}

/** A value in a message: short, and without what a terminal would obey. */
export function shown(text: string): string {
  const short = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return JSON.stringify(short);
}
