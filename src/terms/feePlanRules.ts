import type { BatchDay } from '../kernel/batchDay.js';
import { formatMinor } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import type { PlacedRow } from '../orders/importFiles.js';
import type { RejectedRow, RowFaultCode } from '../orders/importProblems.js';
import { amountExceeded, type FeePlan, type FeeRule } from './feePlan.js';
import type { FeePlanRow } from './feePlanRow.js';

/** A fee plan as it holds from a day on. */
export interface DatedPlan extends FeePlan {
  readonly validFrom: BatchDay;
}

export interface PlacedPlan {
  /** Line of its first row. */
  readonly line: number;
  readonly rows: number;
  readonly plan: DatedPlan;
}

type Placed = PlacedRow<FeePlanRow>;

/** The plans that the rows of a file make, or the rows that keep them from it. Rows of one plan may stand anywhere. */
export function plansIn(rows: readonly Placed[]): { plans: PlacedPlan[]; rejected: RejectedRow[] } {
  const plans: PlacedPlan[] = [];
  const rejected: RejectedRow[] = [];
  for (const own of grouped(rows, ({ feePlan, validFrom }) => [validFrom, feePlan])) {
    const [first] = own as [Placed];
    const rules: FeeRule[] = [];
    for (const tiers of grouped(own, ({ type, channel, currency }) => [type, channel, currency])) {
      const rule = ruleIn(tiers);
      if ('line' in rule) rejected.push(rule);
      else rules.push(rule);
    }
    const { feePlan: name, validFrom } = first.row;
    plans.push({ line: first.line, rows: own.length, plan: { name, validFrom, rules } });
  }
  return { plans, rejected };
}

function grouped(rows: readonly Placed[], keyOf: (row: FeePlanRow) => readonly (string | null)[]): Placed[][] {
  const groups = new Map<string, Placed[]>();
  for (const placed of rows) {
    const key = JSON.stringify(keyOf(placed.row));
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [placed]);
    else known.push(placed);
  }
  return [...groups.values()];
}

/** One rule of its tiers, or the row that is wrong. */
function ruleIn(rows: readonly Placed[]): FeeRule | RejectedRow {
  const tiers = [...rows].sort(
    (a, b) => Number(a.row.fromMinor > b.row.fromMinor) - Number(a.row.fromMinor < b.row.fromMinor),
  );
  const [first] = tiers as [Placed];
  if (first.row.fromMinor !== 0n) {
    return reject(first, 'BAD_TIERS', 'The rule has no tier from_amount 0, so small orders would cost nothing known.');
  }
  for (const [at, placed] of tiers.entries()) {
    const { fromMinor, mode, capAtOrder, fixedMinor, minimumMinor, maximumMinor } = placed.row;
    if (at === 0) continue;
    const before = tiers[at - 1] as Placed;
    if (before.row.fromMinor === fromMinor) {
      const rule = 'of this plan, valid_from, type, channel, currency and from_amount';
      return reject(
        placed,
        'RULE_TWICE',
        `The row is the second one ${rule}; the first is in line ${String(before.line)}.`,
      );
    }
    if (mode !== first.row.mode || capAtOrder !== first.row.capAtOrder) {
      const where = `line ${String(first.line)}`;
      return reject(placed, 'BAD_TIERS', `tiers or cap_at_order differ from those of the first tier, in ${where}.`);
    }
    if (mode === 'MARGINAL' && (fixedMinor !== 0n || minimumMinor !== 0n || maximumMinor !== null)) {
      return reject(placed, 'BAD_TIERS', 'fixed, minimum and maximum of MARGINAL tiers stand in the first tier only.');
    }
  }
  const { type, channel, currency, mode, capAtOrder } = first.row;
  const rule = { type, channel, currency, mode, capAtOrder, tiers: tiers.map(({ row }) => tierOf(row)) };
  const exceeded = amountExceeded(rule);
  if (exceeded === null) return rule;
  const amount = `${currency ?? ''} ${formatMinor(exceeded, currency ?? '')}`;
  return reject(
    tiers.find(({ row }) => row.fromMinor === exceeded) ?? first,
    'FEE_COULD_EXCEED_ORDER',
    `Of an order of ${amount} the rule of ${shown(first.row.feePlan)} would take more than all of it. ` +
      'Write YES in cap_at_order, or begin the tier at an amount that can pay it.',
  );
}

function tierOf({ fromMinor, rate, fixedMinor, minimumMinor, maximumMinor }: FeePlanRow): FeeRule['tiers'][number] {
  return { fromMinor, rate, fixedMinor, minimumMinor, maximumMinor };
}

function reject({ line }: Placed, code: RowFaultCode, message: string): RejectedRow {
  return { line, code, message };
}

/** Whether two plans charge the same, in whatever order their rules were written. */
export function isSamePlan(a: FeePlan, b: FeePlan): boolean {
  return planText(a) === planText(b);
}

function planText({ rules }: FeePlan): string {
  const texts = rules.map((rule) =>
    JSON.stringify([rule.type, rule.channel, rule.currency, rule.mode, rule.capAtOrder, rule.tiers.map(tierText)]),
  );
  return texts.sort().join('\n');
}

function tierText(tier: FeeRule['tiers'][number]): string {
  return [tier.fromMinor, tier.rate, tier.fixedMinor, tier.minimumMinor, tier.maximumMinor].join(' ');
}

/**
 * Whether a plan keeps every rule of another and adds only what the other leaves UNCOVERED, so that no order that the
 * other knew costs something else by it.
 */
export function onlyAdds(before: FeePlan, after: FeePlan): boolean {
  const kept = new Set(planText(before).split('\n'));
  const added = after.rules.filter((rule) => !kept.has(planText({ name: '', rules: [rule] })));
  if (after.rules.length - added.length !== before.rules.length) return false;
  return added.every(
    (rule) => before.rules.some(({ type }) => type === rule.type) && !before.rules.some((known) => isMet(known, rule)),
  );
}

/** Some order falls under both rules. */
function isMet(a: FeeRule, b: FeeRule): boolean {
  const meets = (one: string | null, other: string | null): boolean => one === null || other === null || one === other;
  return a.type === b.type && meets(a.channel, b.channel) && meets(a.currency, b.currency);
}
