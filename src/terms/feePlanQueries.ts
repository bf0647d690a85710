import type { Binding, Session, Transaction } from '../db/session.js';
import { fromInstant, toBigInt, toCount, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { ChargedType, FeeRule, FeeTier, TierMode } from './feePlan.js';
import type { DatedPlan } from './feePlanRules.js';

export interface StoredPlan extends DatedPlan {
  readonly version: number;
}

/** Every plan in its newest versions, of each name the one that began last coming last; with a day, what began up to it. */
export async function storedPlans(session: Session, upTo?: BatchDay): Promise<StoredPlan[]> {
  const rows = await session.rows(
    `select fee_plan, valid_from, version, rule_no, type, channel, currency, mode, cap_at_order,
            from_minor, rate, fixed_minor, minimum_minor, maximum_minor
       from fee_plan_tier ${upTo === undefined ? '' : 'where valid_from <= ?'}
      order by fee_plan, valid_from, version, rule_no, tier_no`,
    upTo === undefined ? [] : [upTo],
  );
  const plans = new Map<string, StoredPlan & { rules: FeeRule[] }>();
  let [lastRule, tiers]: [string, FeeTier[]] = ['', []];
  for (const row of rows) {
    const [name, validFrom, version] = [toText(row['fee_plan']), toText(row['valid_from']), toCount(row['version'])];
    const key = `${validFrom} ${name}`;
    let plan = plans.get(key);
    if (plan?.version !== version) plans.set(key, (plan = { name, validFrom, version, rules: [] }));
    const rule = `${key} ${String(version)} ${String(toCount(row['rule_no']))}`;
    if (rule !== lastRule) {
      [lastRule, tiers] = [rule, []];
      plan.rules.push({
        type: toText(row['type']) as ChargedType,
        channel: toTextOrNull(row['channel']),
        currency: toTextOrNull(row['currency']),
        mode: toText(row['mode']) as TierMode,
        capAtOrder: toCount(row['cap_at_order']) === 1,
        tiers,
      });
    }
    tiers.push({
      fromMinor: toBigInt(row['from_minor']),
      rate: toBigInt(row['rate']),
      fixedMinor: toBigInt(row['fixed_minor']),
      minimumMinor: toBigInt(row['minimum_minor']),
      maximumMinor: row['maximum_minor'] === null ? null : toBigInt(row['maximum_minor']),
    });
  }
  return [...plans.values()];
}

/** The plans that hold on a day, by name. */
export async function plansOn(session: Session, day: BatchDay): Promise<Map<string, StoredPlan>> {
  return new Map((await storedPlans(session, day)).map((plan) => [plan.name, plan]));
}

export async function insertPlans(trx: Transaction, plans: readonly StoredPlan[], now: string): Promise<void> {
  const columns = ['fee_plan', 'valid_from', 'version', 'rule_no', 'tier_no', 'type', 'channel', 'currency', 'mode'];
  columns.push('cap_at_order', 'from_minor', 'rate', 'fixed_minor', 'minimum_minor', 'maximum_minor', 'imported_at');
  await trx.insertMany('fee_plan_tier', columns, tierRows(plans, fromInstant(trx.dialect, now)));
}

function* tierRows(plans: readonly StoredPlan[], importedAt: string): Generator<Binding[]> {
  for (const { name, validFrom, version, rules } of plans) {
    for (const [at, { type, channel, currency, mode, capAtOrder, tiers }] of rules.entries()) {
      const rule = [name, validFrom, version, at + 1];
      for (const [tierAt, tier] of tiers.entries()) {
        const { fromMinor, rate, fixedMinor, minimumMinor, maximumMinor } = tier;
        const what = [tierAt + 1, type, channel, currency, mode, capAtOrder ? 1 : 0];
        yield [...rule, ...what, fromMinor, rate, fixedMinor, minimumMinor, maximumMinor, importedAt];
      }
    }
  }
}
