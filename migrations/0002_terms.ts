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

    // What the terms took from a net: the fees of its orders as rounded, and in fee_rest what rounding took from them or
    // added, in the unit of rates. payment_minor is what a reserve is a part of.
    `alter table net add column terms_id ${v.big}`,
    `alter table net add column fee_minor ${v.minor} not null default 0`,
    `alter table net add column fee_rest ${v.big} not null default 0`,
    `alter table net add column payment_minor ${v.minor} not null default 0`,
    `alter table ledger_entry add column reason ${v.code}`,
    `insert into ledger_account (code, name, kind, sub_ledger) values
      ('MERCHANT_DEBT', 'Debts of merchants', 'ASSET', 'ACCOUNT')`,

    // What the terms do at the end of a day. Of a reserve that is held and of a debt, open_minor is what is not released
    // or recovered yet, and open is 1 until nothing is. A release or recovery draws on one of them (of_id), a reserve is
    // released at once. The rounding of fees belongs to no account ('').
    `create table terms_effect (
      id ${v.autoId},
      biz_no ${v.code} not null,
      batch_day ${v.day} not null,
      account_no ${v.id} not null,
      currency ${v.currency} not null,
      reason ${v.code} not null,
      origin_day ${v.day} not null,
      seq ${v.int},
      amount_minor ${v.minor} not null,
      of_id ${v.big},
      of_no ${v.int},
      due_day ${v.day},
      open_minor ${v.minor},
      open ${v.int},
      constraint terms_effect_once unique (account_no, currency, reason, origin_day, seq),
      constraint terms_effect_drawn_once unique (of_id, of_no),
      constraint terms_effect_reason check (
        ${oneOf('reason', ['RESERVE_HOLD', 'RESERVE_RELEASE', 'DEBT', 'DEBT_RECOVERY', 'FEE_ROUNDING'])}),
      constraint terms_effect_amount check (amount_minor > 0 or (reason = 'FEE_ROUNDING' and amount_minor <> 0)),
      constraint terms_effect_draws check (
        (reason in ('RESERVE_RELEASE', 'DEBT_RECOVERY')) = (of_id is not null and of_no is not null and seq is null)),
      constraint terms_effect_released_whole check (reason <> 'RESERVE_RELEASE' or of_no = 1),
      constraint terms_effect_due check ((reason = 'RESERVE_HOLD') = (due_day is not null)),
      constraint terms_effect_has_open check ((reason in ('RESERVE_HOLD', 'DEBT')) = (open_minor is not null)),
      constraint terms_effect_open_minor check (open_minor is null or (open_minor >= 0 and open_minor <= amount_minor)),
      constraint terms_effect_open check ((open is null or open = 1) and (open is null) = (coalesce(open_minor, 0) = 0))
    ) ${v.end}`,
    `create index terms_effect_of_open on terms_effect (open, reason, due_day)`,
    `create index terms_effect_day on terms_effect (batch_day, account_no)`,
    `create index terms_effect_biz_no on terms_effect (biz_no)`,
  ];
}

export function down(): string[] {
  return [
    'drop table if exists terms_effect',
    `delete from ledger_account where code = 'MERCHANT_DEBT'`,
    'alter table ledger_entry drop column reason',
    ...['payment_minor', 'fee_rest', 'fee_minor', 'terms_id'].map((column) => `alter table net drop column ${column}`),
    'drop table if exists account_terms',
    'drop table if exists fee_plan_tier',
  ];
}
