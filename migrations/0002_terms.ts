import { oneOf, type Vocabulary } from './vocabulary.js';

/** Settlement terms: fee plans, and which accounts settle under which terms from which day on. */
export function up(v: Vocabulary): string[] {
  return [
    // A row is a tier of a rule; the plan that holds on a day is its newest version of the last valid_from up to the day.
    // Rates are ten-thousandths of a basis point, so 100000000 is the whole.
    `create table fee_plan_tier (
      fee_plan ${v.id} not null,
      valid_from ${v.day} not null,
      version ${v.int} not null,
      rule_no ${v.int} not null,
      tier_no ${v.int} not null,
      type ${v.code} not null,
      channel ${v.id},
      currency ${v.currency},
      mode ${v.code} not null,
      cap_at_order ${v.int} not null,
      from_minor ${v.minor} not null,
      rate ${v.int} not null,
      fixed_minor ${v.minor} not null,
      minimum_minor ${v.minor} not null,
      maximum_minor ${v.minor},
      imported_at ${v.moment} not null,
      primary key (fee_plan, valid_from, version, rule_no, tier_no),
      constraint fee_plan_tier_version check (version >= 1 and rule_no >= 1 and tier_no >= 1),
      constraint fee_plan_tier_type check (${oneOf('type', ['PAYMENT', 'REFUND'])}),
      constraint fee_plan_tier_mode check (${oneOf('mode', ['SLAB', 'MARGINAL'])}),
      constraint fee_plan_tier_cap check (cap_at_order in (0, 1)),
      constraint fee_plan_tier_rate check (rate >= 0 and rate <= 100000000),
      constraint fee_plan_tier_from check ((tier_no = 1 and from_minor = 0) or (tier_no > 1 and from_minor > 0)),
      constraint fee_plan_tier_amounts check (fixed_minor >= 0 and minimum_minor >= 0),
      constraint fee_plan_tier_maximum check (maximum_minor is null or maximum_minor >= minimum_minor),
      constraint fee_plan_tier_currency check (
        currency is not null or (from_minor = 0 and fixed_minor = 0 and minimum_minor = 0 and maximum_minor is null))
    ) ${v.end}`,

    `create table account_terms (
      id ${v.autoId},
      account_no ${v.id} not null,
      valid_from ${v.day} not null,
      version ${v.int} not null,
      fee_plan ${v.id},
      reserve_rate ${v.int} not null,
      reserve_days ${v.int} not null,
      minimum_payout ${v.text} not null,
      payout_hold ${v.int} not null,
      payout_delay_days ${v.int} not null,
      imported_at ${v.moment} not null,
      constraint account_terms_version unique (account_no, valid_from, version),
      constraint account_terms_first check (version >= 1),
      constraint account_terms_reserve check (reserve_rate >= 0 and reserve_rate <= 100000000),
      constraint account_terms_release check ((reserve_rate = 0) = (reserve_days = 0) and reserve_days >= 0),
      constraint account_terms_payout check (payout_hold in (0, 1) and payout_delay_days >= 0)
    ) ${v.end}`,
  ];
}

export function down(): string[] {
  return ['account_terms', 'fee_plan_tier'].map((table) => `drop table if exists ${table}`);
}
