import type { Place } from './place.js';
import type { Random } from './random.js';

/** What was tried, and what of the contract it broke. */
export interface Tried {
  /** Short enough for a line: what a person needs to see what it was. */
  input: string;
  faults: string[];
  /** Whether a process of its own was started for it. */
  asProcess: boolean;
}

/** A way into the program: makes one input of a seeded source of choices, hands it in and looks at what came of it. */
export interface Door {
  name: string;
  try(random: Random, place: Place): Promise<Tried>;
}

/** The limit that no input may pass, in this process or as one of its own. */
export const msMax = 30_000;

/** One input in so many goes through a process of its own. */
export const processEvery = 150;
