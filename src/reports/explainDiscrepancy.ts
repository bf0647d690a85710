import type { Session } from '../db/session.js';
import type { Discrepancy } from '../discrepancies/discrepancy.js';
import { discrepanciesOf, discrepancyOf, sidesOf } from '../discrepancies/views.js';
import { SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { messagesNumbered } from '../outbox/messageViews.js';
import { orderWithId } from '../orders/orderViews.js';
import { payoutStory } from '../payouts/views.js';
import { lineAt } from '../statements/lineViews.js';
import { orderStory } from './explainOrder.js';
import { payoutLife } from './explainPayout.js';
import {
  amountText,
  done,
  inTimeOrder,
  partsText,
  row,
  type Standing,
  type Story,
  type StoryRow,
  type Told,
} from './story.js';
import { discrepancyRows, journalRows, lineRow, messageRows, sidesText } from './storyParts.js';

const id64 = /^#?([1-9][0-9]{0,17})$/;

/** `typed`: "12" or "#12". Throws NOT_FOUND, and USAGE for what is no id. */
export async function explainDiscrepancy(session: Session, typed: string, told: Told): Promise<Story> {
  const [, digits] = id64.exec(typed) ?? [];
  if (digits === undefined) {
    throw new SettleError('USAGE', `${shown(typed)} is no id of a discrepancy.`, { next: 'settle discrepancy list' });
  }
  const one = await discrepancyOf(session, BigInt(digits));
  if (one === null) {
    throw new SettleError('NOT_FOUND', `There is no discrepancy ${digits}.`, {
      details: { discrepancy: digits },
      next: 'settle discrepancy list --all',
    });
  }
  const { ours, line } = await sidesOf(session, one.id);
  const own = await ownRows(session, ours, told);
  const theirs = line === null ? null : await lineAt(session, line);
  const beside = await besides(session, one, ours, line);
  const rows = [
    ...own.rows,
    ...(theirs === null ? [] : [lineRow(theirs.line)]),
    ...(theirs?.matches ?? []).map(({ matchedAt, ours: side, oursId, role, verdict }) =>
      row(matchedAt, 'statement_match', `matched with ${side} ${String(oursId)} as ${role}: ${verdict}`),
    ),
    ...(await discrepancyRows(session, one)),
    ...(await messagesNumbered(session, [`D${digits}`])).flatMap(messageRows),
    ...(one.adjustment === null ? [] : await journalRows(session, [one.adjustment])),
  ];
  return {
    kind: 'discrepancy',
    id: digits,
    state: one.state,
    head: [...headOf(one), ...own.sentences, ...beside],
    timeline: inTimeOrder(withoutRepeats(rows)),
    arithmetic: differenceOf(one),
    ...discrepancyStanding(one),
  };
}

function headOf(one: Discrepancy): string[] {
  const { id, state, severity, itemKey, channel, batchDay, owner, attempts, currency, stakeMinor } = one;
  const stake = currency === null ? '' : `; ${amountText({ amountMinor: stakeMinor, currency })} in question`;
  return [
    `Discrepancy ${String(id)}: ${one.class} (${severity}), ${state}${stake}.`,
    `Of ${itemKey}${channel === null ? '' : ` over ${channel}`}, batch day ${batchDay}: ${sidesText(one)}.`,
    `${owner === null ? 'Nobody has it' : `With ${owner}`}; looked for again ${String(attempts)} times.`,
  ];
}

/** The order or payout that it is of, with its own life. */
async function ownRows(
  session: Session,
  ours: { kind: 'ORDER' | 'PAYOUT'; id: bigint } | null,
  told: Told,
): Promise<{ rows: StoryRow[]; sentences: string[] }> {
  if (ours?.kind === 'ORDER') {
    const order = await orderWithId(session, ours.id);
    if (order === null) return { rows: [], sentences: [] };
    const { timeline, head } = await orderStory(session, order, told);
    return { rows: timeline, sentences: head.slice(0, 2) };
  }
  const story = ours === null ? null : await payoutStory(session, String(ours.id));
  if (story === null) return { rows: [], sentences: [] };
  const { payout } = story;
  const { rows } = await payoutLife(session, payout, told);
  const sentence = `Payout ${String(payout.id)}: ${amountText(payout)} to account ${payout.accountNo}, ${payout.state}, key ${payout.idempotencyKey}.`;
  return { rows, sentences: [sentence] };
}

/** What else was found of the same rows. */
async function besides(
  session: Session,
  { id }: Discrepancy,
  ours: { kind: 'ORDER' | 'PAYOUT'; id: bigint } | null,
  line: { fileId: bigint; seq: bigint } | null,
): Promise<string[]> {
  const found = [
    ...(ours === null ? [] : await discrepanciesOf(session, { ours: ours.kind, id: ours.id })),
    ...(line === null ? [] : await discrepanciesOf(session, line)),
  ];
  const others = new Map(found.filter((one) => one.id !== id).map((one) => [one.id, one]));
  if (others.size === 0) return [];
  const list = [...others.values()].map((one) => `${String(one.id)} (${one.class}, ${one.state})`);
  return [`Of the same rows: discrepancy ${list.join(', ')}.`];
}

/** Expected and found, where both are amounts. */
function differenceOf({ currency, expectedMinor, actualMinor }: Discrepancy): Story['arithmetic'] {
  if (currency === null || expectedMinor === null || actualMinor === null) return [];
  const line = (what: string, amountMinor: bigint, isTotal = false) => ({ what, orders: null, amountMinor, isTotal });
  return [
    {
      title: 'The difference',
      currency,
      lines: [
        line('found', actualMinor),
        line('- expected', -expectedMinor),
        line('= difference', actualMinor - expectedMinor, true),
      ],
      agrees: true,
    },
  ];
}

/** Where a difference stands. Pure. */
export function discrepancyStanding({ id, state, nextMs, adjusts }: Discrepancy): Standing {
  const no = String(id);
  if (state === 'MANUAL') {
    const adjust = adjusts === null || adjusts.minor === 0n ? '' : ' [--adjust]';
    return {
      stuck: 'It needs a person’s decision.',
      next: `settle discrepancy resolve ${no}${adjust} --by NAME --reason TEXT`,
    };
  }
  if (state === 'OPEN' || state === 'RETRYING') {
    const when = nextMs === null ? '' : ` from ${new Date(Number(nextMs)).toISOString()} on`;
    return { stuck: `It may clear by itself: it is looked for again${when}.`, next: 'settle reconcile' };
  }
  return done;
}

/** A line and its differences come with our own row too. */
function withoutRepeats(rows: readonly StoryRow[]): StoryRow[] {
  const seen = new Set<string>();
  return rows.filter(({ at, table, what }) => {
    const key = partsText([at, table, what]);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
