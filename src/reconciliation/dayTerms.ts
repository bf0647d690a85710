import type { Session } from '../db/session.js';
import { placeholders, toBigInt, toText, toTextOrNull } from '../db/values.js';

// What the terms of a day charge, read and worked out here by the words of the specification and by no code of the run.

/** A row of a fee plan: from an amount on, a rate in hundred-millionths, and amounts in minor units. */
interface TierRow {
  rule: string;
  type: string;
  channel: string | null;
  currency: string | null;
  isMarginal: boolean;
  isCapped: boolean;
  from: bigint;
  rate: bigint;
  fixed: bigint;
  least: bigint;
  most: bigint | null;
}

export interface TermsRow {
  id: bigint;
  feePlan: string | null;
  /** In hundred-millionths of the day's payments. */
  reserveRate: bigint;
}

export interface DayTerms {
  accounts: Map<string, TermsRow>;
  /** Tiers by plan, of each rule in the order of their amounts. */
  plans: Map<string, TierRow[]>;
}

const accountsMax = 900;

export async function readDayTerms(session: Session, day: string, accountNos: ReadonlySet<string>): Promise<DayTerms> {
  const terms: DayTerms = { accounts: new Map(), plans: new Map() };
  const asked = ['*', ...accountNos];
  for (let start = 0; start < asked.length; start += accountsMax) {
    const part = asked.slice(start, start + accountsMax);
    const rows = await session.rows(
      `select t.account_no, t.id, t.fee_plan, t.reserve_rate from account_terms t
        where t.valid_from <= ? and t.account_no in (${placeholders(part)})
          and not exists (
            select 1 from account_terms l
             where l.account_no = t.account_no and l.valid_from <= ?
               and (l.valid_from > t.valid_from or (l.valid_from = t.valid_from and l.version > t.version)))`,
      [day, ...part, day],
    );
    for (const row of rows) {
      const [id, reserveRate] = [toBigInt(row['id']), toBigInt(row['reserve_rate'])];
      const found = { id, reserveRate, feePlan: toTextOrNull(row['fee_plan']) };
      terms.accounts.set(toText(row['account_no']), found);
    }
  }
  if (terms.accounts.size > 0) terms.plans = await readPlans(session, day);
  return terms;
}

async function readPlans(session: Session, day: string): Promise<Map<string, TierRow[]>> {
  const rows = await session.rows(
    `select t.* from fee_plan_tier t
      where t.valid_from <= ?
        and not exists (
          select 1 from fee_plan_tier l
           where l.fee_plan = t.fee_plan and l.valid_from <= ?
             and (l.valid_from > t.valid_from or (l.valid_from = t.valid_from and l.version > t.version)))
      order by t.fee_plan, t.rule_no, t.from_minor`,
    [day, day],
  );
  const plans = new Map<string, TierRow[]>();
  for (const row of rows) {
    const tiers = plans.get(toText(row['fee_plan'])) ?? [];
    plans.set(toText(row['fee_plan']), tiers);
    tiers.push({
      rule: String(row['rule_no']),
      type: toText(row['type']),
      channel: toTextOrNull(row['channel']),
      currency: toTextOrNull(row['currency']),
      isMarginal: row['mode'] === 'MARGINAL',
      isCapped: toBigInt(row['cap_at_order']) === 1n,
      from: toBigInt(row['from_minor']),
      rate: toBigInt(row['rate']),
      fixed: toBigInt(row['fixed_minor']),
      least: toBigInt(row['minimum_minor']),
      most: row['maximum_minor'] === null ? null : toBigInt(row['maximum_minor']),
    });
  }
  return plans;
}

/** The terms of an account, or those of all accounts, or null. */
export function termsOf(terms: DayTerms, accountNo: string): TermsRow | null {
  return terms.accounts.get(accountNo) ?? terms.accounts.get('*') ?? null;
}

interface ChargedOrder {
  type: string;
  channel: string;
  currency: string;
  amountMinor: bigint;
}

const whole = 10n ** 8n;

/** The fee of an order, and what rounding it left over in hundred-millionths; null where its plan does not tell. */
export function feeOfOrder(
  { plans }: DayTerms,
  feePlan: string | null,
  order: ChargedOrder,
): { rounded: bigint; rest: bigint } | null {
  const free = { rounded: 0n, rest: 0n };
  // A reversal has an amount below zero: it costs nothing, and gives no fee back.
  if (feePlan === null || order.amountMinor < 0n || (order.type !== 'PAYMENT' && order.type !== 'REFUND')) return free;
  const plan = plans.get(feePlan);
  if (plan === undefined) return null;
  const ofType = plan.filter(({ type }) => type === order.type);
  if (ofType.length === 0) return free;
  const fitting = ofType.filter(
    ({ channel, currency }) =>
      (channel ?? order.channel) === order.channel && (currency ?? order.currency) === order.currency,
  );
  // By channel and currency, by channel, by currency, by neither: the first kind that there is.
  const wanted = [
    fitting.filter(({ channel, currency }) => channel !== null && currency !== null),
    fitting.filter(({ channel, currency }) => channel !== null && currency === null),
    fitting.filter(({ channel, currency }) => channel === null && currency !== null),
    fitting.filter(({ channel, currency }) => channel === null && currency === null),
  ].find((tiers) => tiers.length > 0);
  if (wanted === undefined) return null;
  const exact = charge(wanted, order.amountMinor);
  const rounded = nearestEven(exact);
  return { rounded, rest: exact - rounded * whole };
}

/** Hundred-millionths, not negative, to the nearest whole; of two as near, the even one. */
export function nearestEven(exact: bigint): bigint {
  const [below, part] = [exact / whole, exact % whole];
  const isUp = part * 2n > whole || (part * 2n === whole && below % 2n === 1n);
  return isUp ? below + 1n : below;
}

/** In hundred-millionths of a minor unit. */
function charge(tiers: readonly TierRow[], amount: bigint): bigint {
  const reached = tiers.filter(({ from }) => from <= amount);
  const [first, last] = [reached[0] as TierRow, reached.at(-1) as TierRow];
  const head = first.isMarginal ? first : last;
  let exact = head.fixed * whole;
  if (head.isMarginal) {
    reached.forEach(({ from, rate }, at) => {
      exact += ((reached[at + 1]?.from ?? amount) - from) * rate;
    });
  } else exact += amount * head.rate;
  if (exact < head.least * whole) exact = head.least * whole;
  if (head.most !== null && exact > head.most * whole) exact = head.most * whole;
  return head.isCapped && exact > amount * whole ? amount * whole : exact;
}
