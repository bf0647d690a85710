import { argumentsDoor } from './argumentsDoor.js';
import { configDoor } from './configDoor.js';
import type { Door, Tried } from './door.js';
import { environmentDoor } from './environmentDoor.js';
import { importDoor } from './importDoor.js';
import { Place } from './place.js';
import { secretsDoor } from './secretsDoor.js';
import { Random } from './random.js';

export const doors: readonly Door[] = [
  importDoor('orders'),
  importDoor('accounts'),
  configDoor,
  environmentDoor,
  argumentsDoor,
  secretsDoor,
];

/** What the parent is told: before each input its number, after a broken one why, and at the end the counts. */
export type Message =
  { began: number } | { failed: number; input: string; faults: string[] } | { done: number; processes: number };

interface Work {
  root: string;
  door: string;
  seed: string;
  /** Numbers of the inputs: from, up to and without. */
  from: number;
  to: number;
}

/** Tries the inputs of one door, one after the other, in a process that may die of any of them. */
export async function work(
  { root, door: name, seed, from, to }: Work,
  tell: (message: Message) => void,
): Promise<void> {
  const door = doors.find((known) => known.name === name);
  if (door === undefined) throw new Error(`There is no door ${name}.`);
  // What escapes from an input is told with the input that was under way.
  const escaped: string[] = [];
  process.on('uncaughtException', (error) => escaped.push(`uncaught: ${String(error.stack)}`));
  process.on('unhandledRejection', (reason) => escaped.push(`unhandled: ${String((reason as Error).stack)}`));
  process.on('warning', (warning) => escaped.push(`warning: ${String(warning.stack)}`));
  const place = new Place(root);
  let processes = 0;
  try {
    await place.prepare();
    for (let number = from; number < to; number += 1) {
      tell({ began: number });
      let tried: Tried;
      try {
        tried = await door.try(new Random(seed, name, number), place);
      } catch (error) {
        tried = { input: '(the test itself)', faults: [String((error as Error).stack)], asProcess: false };
      }
      place.tidy();
      // Rejections without a handler are told a turn later.
      await new Promise((resolve) => setImmediate(resolve));
      if (tried.asProcess) processes += 1;
      const faults = [...tried.faults, ...escaped.splice(0)];
      if (faults.length > 0) tell({ failed: number, input: tried.input, faults });
    }
  } finally {
    place.remove();
  }
  tell({ done: to - from, processes });
}
