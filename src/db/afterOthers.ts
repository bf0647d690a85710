import { isUniqueViolation } from './failure.js';

const lostRacesMax = 100;

/**
 * Another importer may commit one of our keys between our look-up and our insert. The unit is then planned again: what
 * the other stored is a repeat or a conflict by now. Each lost race means that somebody else got rows in.
 */
export async function afterOthers<T>(store: () => Promise<T>): Promise<T> {
  for (let lost = 0; ; lost += 1) {
    try {
      return await store();
    } catch (error) {
      if (!isUniqueViolation(error) || lost === lostRacesMax) throw error;
    }
  }
}
