import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { shown } from '../kernel/printable.js';
import type { ImportKind, PlacedRow } from '../orders/importFiles.js';
import type { RejectedRow } from '../orders/importProblems.js';
import type { UnitOutcome } from '../orders/importTally.js';
import { insertPlans, storedPlans, type StoredPlan } from './feePlanQueries.js';
import { feePlanColumns, readFeePlanRow, type FeePlanRow } from './feePlanRow.js';
import { isSamePlan, onlyAdds, plansIn, type PlacedPlan } from './feePlanRules.js';
import { lastSettledDay } from './termsQueries.js';

/** How files of fee plans are imported: a file has the whole of each plan that it names, and is taken whole. */
export const feePlanImport: ImportKind<FeePlanRow> = {
  columns: feePlanColumns,
  whole: true,
  readRow: readFeePlanRow,
  store: storePlans,
};

function storePlans(database: Database, rows: readonly PlacedRow<FeePlanRow>[], now: string): Promise<UnitOutcome> {
  const { plans, rejected } = plansIn(rows);
  if (rejected.length > 0) return Promise.resolve(refusal(rejected));
  const unit = repeatable('import fee plans', async (trx) => {
    const decided = decidePlans(plans, await storedPlans(trx), await lastSettledDay(trx));
    if (decided.outcome.rejected.length === 0) await insertPlans(trx, decided.fresh, now);
    return decided.outcome;
  });
  return afterOthers(() => database.transact(unit));
}

/** Nothing of the file is stored, so nothing of it counts but what is wrong. */
export function refusal(rejected: readonly RejectedRow[]): UnitOutcome {
  return { accepted: 0, updated: 0, repeated: 0, rejected };
}

/**
 * Decides for each plan: new, known as it is, or a new version of what is known. By a plan that has begun to be settled
 * by, fees were charged that nobody may change: its new version may only speak of orders that the old one left open.
 */
export function decidePlans(
  plans: readonly PlacedPlan[],
  stored: readonly StoredPlan[],
  settledUpTo: BatchDay | null,
): { fresh: StoredPlan[]; outcome: UnitOutcome } {
  const fresh: StoredPlan[] = [];
  const rejected: RejectedRow[] = [];
  let [accepted, updated, repeated] = [0, 0, 0];
  for (const { line, rows, plan } of plans) {
    const { name, validFrom } = plan;
    const known = stored.find((other) => other.name === name && other.validFrom === validFrom);
    // What holds on the plan's first day now, which may be what began before it.
    const before = stored.filter((other) => other.name === name && other.validFrom <= validFrom).at(-1);
    if (known !== undefined && isSamePlan(known, plan)) {
      repeated += rows;
      continue;
    }
    const isInUse = settledUpTo !== null && validFrom <= settledUpTo && before !== undefined;
    if (isInUse && (before !== known || !onlyAdds(before, plan))) {
      rejected.push({
        line,
        code: 'TERMS_IN_USE',
        message:
          `fee_plan ${shown(name)}: days up to ${settledUpTo} are settled by what holds from ${before.validFrom} on. ` +
          'Begin with a later valid_from, or only add rules for orders of which it says nothing yet.',
      });
      continue;
    }
    fresh.push({ ...plan, version: (known?.version ?? 0) + 1 });
    accepted += rows;
    if (known !== undefined) updated += rows;
  }
  if (rejected.length > 0) return { fresh: [], outcome: refusal(rejected) };
  return { fresh, outcome: { accepted, updated, repeated, rejected: [] } };
}
