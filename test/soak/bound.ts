import type { Model } from './model.js';
import type { RunAsk } from './modelRun.js';
import { quoted } from './store.js';

export type Engine = 'sqlite' | 'server';

/** What the model says that a command must answer. */
export interface Expected {
  /** Null when the model does not know. */
  exitCode: number | null;
  /** What the answer (one JSON document) says wrongly. */
  check?: (document: Record<string, unknown>) => string[];
}

/** An operation on the state at hand: what to type or to write, and what it does to the model. */
export interface Bound {
  /** As it is printed in a history. */
  text: string;
  /** Words after `settle`; null for an operation of another system, which is `sql`. */
  args: string[] | null;
  env: Record<string, string>;
  /** Content of the file that the word FILE stands for. */
  file: string | null;
  sql: string[];
  /** Reads only: not one row may change. */
  readOnly: boolean;
  ask: RunAsk | null;
  apply(model: Model): Expected;
}

export function command(given: Partial<Bound> & Pick<Bound, 'args' | 'apply'>): Bound {
  return {
    text: `settle ${(given.args ?? []).join(' ')}`,
    env: {},
    file: null,
    sql: [],
    readOnly: false,
    ask: null,
    ...given,
  };
}

export function statement(text: string, sql: string[], apply: (model: Model) => void): Bound {
  return command({
    text,
    args: null,
    sql,
    apply: (model) => {
      apply(model);
      return { exitCode: null };
    },
  });
}

/** What a document says against what it must say, by path. */
export function told(document: Record<string, unknown>, expected: Record<string, unknown>): string[] {
  return Object.entries(expected).flatMap(([path, wanted]) => {
    let value: unknown = document;
    for (const key of path.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[key];
    const [is, must] = [JSON.stringify(value), JSON.stringify(wanted)];
    return is === must ? [] : [`the answer says ${path} ${is}, the model ${must}`];
  });
}

export const finishedAt = (engine: Engine): string =>
  quoted(engine === 'sqlite' ? '2024-03-09T00:00:00.000Z' : '2024-03-09 00:00:00.000');

export const occurredAt = (engine: Engine): string =>
  quoted(engine === 'sqlite' ? '2024-03-01T10:00:00.000000Z' : '2024-03-01 10:00:00.000000');
