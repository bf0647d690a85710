import { ageDays, discrepancyHistory, discrepancyOf, listDiscrepancies } from '../discrepancies/views.js';
import { decideDiscrepancy, directDiscrepancy, type DiscrepancyDecision } from '../discrepancies/decide.js';
import { openStates, type Discrepancy } from '../discrepancies/discrepancy.js';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { formatMinorGrouped } from '../kernel/money.js';
import { printable } from '../kernel/printable.js';
import { discrepancyClasses } from '../kernel/states.js';
import { textTable } from '../reports/tables.js';
import { momentText } from '../reports/words.js';
import { requireBatchDay } from './arguments.js';
import { withDatabase, type Command } from './context.js';

interface ListOptions {
  all?: boolean;
  class?: string;
  channel?: string;
  batchDay?: string;
  owner?: string;
  limit?: number;
}

/** `settle discrepancy list`: what is open, the oldest first. */
export const list: Command<ListOptions> = (context, options) => {
  const kind = options.class?.toUpperCase();
  if (kind !== undefined && !(discrepancyClasses as readonly string[]).includes(kind)) {
    throw new SettleError('USAGE', `--class must be one of ${discrepancyClasses.join(', ')}.`);
  }
  const batchDay = requireBatchDay(options.batchDay);
  return withDatabase(context, async (database) => {
    const found = await database.read((session) =>
      listDiscrepancies(session, {
        ...(options.all === true ? {} : { states: openStates }),
        ...{ class: kind, channel: options.channel, batchDay, owner: options.owner, limit: options.limit ?? 1_000 },
      }),
    );
    const now = instantText(context.clock.now());
    if (context.output !== 'text') {
      await context.document({
        schema: 'settle.discrepancies',
        discrepancies: found.map((one) => documentOf(one, now)),
      });
    } else await context.print(found.length === 0 ? 'No such discrepancy.' : listText(found, now));
    return exitCodes.OK;
  });
};

/** A discrepancy as documents show it. */
function documentOf(one: Discrepancy, now: string): Record<string, unknown> {
  return {
    ...{ id: String(one.id), class: one.class, state: one.state, key: one.itemKey, currency: one.currency },
    ...{ expectedMinor: one.expectedMinor, actualMinor: one.actualMinor, ageDays: ageDays(one, now), owner: one.owner },
    ...{ severity: one.severity, channel: one.channel, batchDay: one.batchDay, stakeMinor: one.stakeMinor },
    ...{ expected: one.expectedText, actual: one.actualText, attempts: one.attempts },
    nextAttemptAt: one.nextMs === null ? null : new Date(Number(one.nextMs)).toISOString(),
    ...{ firstSeen: one.firstSeen, lastSeen: one.lastSeen, closedAt: one.closedAt, closedBy: one.closedBy },
    adjustment: one.adjustment,
  };
}

function sides(one: Discrepancy): [string, string] {
  const side = (minor: bigint | null, text: string | null): string => {
    const amount = minor === null || one.currency === null ? null : formatMinorGrouped(minor, one.currency);
    return [amount, text].filter((part) => part !== null && part !== '').join(' ') || '-';
  };
  return [side(one.expectedMinor, one.expectedText), side(one.actualMinor, one.actualText)];
}

function listText(found: readonly Discrepancy[], now: string): string {
  const right = (title: string) => ({ title, align: 'right' as const });
  return textTable(
    [
      ...[right('id'), { title: 'class' }, { title: 'severity' }, { title: 'state' }, { title: 'channel' }],
      ...[{ title: 'batch day' }, { title: 'key' }, right('expected'), right('found'), { title: '' }],
      ...[right('days'), { title: 'owner' }],
    ],
    found.map((one) => {
      const [expected, actual] = sides(one);
      return [
        ...[String(one.id), one.class, one.severity, one.state, one.channel ?? '-', one.batchDay, one.itemKey],
        ...[expected, actual, one.currency ?? '', String(ageDays(one, now)), one.owner ?? '-'],
      ];
    }),
  );
}

/** `settle discrepancy show ID`: one of them, and all that happened to it. */
export const show: Command<{ id: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const id = requireId(options.id);
    const found = await database.snapshot(async (session) => {
      const one = await discrepancyOf(session, id);
      return one === null ? null : { one, ...(await discrepancyHistory(session, id)) };
    });
    if (found === null) {
      throw new SettleError('NOT_FOUND', `There is no discrepancy ${options.id}.`, { next: 'settle discrepancy list' });
    }
    const { one, moves, reviews } = found;
    const now = instantText(context.clock.now());
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.discrepancy', discrepancy: documentOf(one, now), moves, reviews });
      return exitCodes.OK;
    }
    const [expected, actual] = sides(one);
    await context.print(
      [
        `Discrepancy ${String(one.id)}: ${one.class} (${one.severity}), ${one.state}`,
        `  key       ${printable(one.itemKey)}${one.channel === null ? '' : ` over ${one.channel}`}, of ${one.batchDay}`,
        `  expected  ${printable(expected)} ${one.currency ?? ''}`.trimEnd(),
        `  found     ${printable(actual)} ${one.currency ?? ''}`.trimEnd(),
        `  owner     ${one.owner ?? '-'}, ${String(ageDays(one, now))} days old, looked for again ${String(one.attempts)} times`,
        ...moves.map(({ at, event, from, to, actor, reason }) => {
          const way = from === null || from === to ? to : `${from} → ${to}`;
          return `  ${momentText(at)}  ${event.padEnd(8)} ${way}  ${printable(actor)}${reason === null ? '' : `: ${printable(reason)}`}`;
        }),
        ...reviews
          .filter(({ isConfirmation }) => !isConfirmation)
          .map(
            ({ at, decision, by, reason }) =>
              `  ${momentText(at)}  ${decision} by ${printable(by)}: ${printable(reason)}`,
          ),
        ...(one.adjustment === null ? [] : [`  booked    ${one.adjustment}`]),
      ].join('\n'),
    );
    return exitCodes.OK;
  });

interface DecideOptions {
  id: string;
  by: string;
  reason: string;
}

function requireId(text: string): bigint {
  if (/^[1-9][0-9]{0,17}$/.test(text)) return BigInt(text);
  throw new SettleError('USAGE', `"${printable(text)}" is no id of a discrepancy.`, {
    next: 'settle discrepancy list',
  });
}

function decided(
  kind: (options: { adjust?: boolean }) => DiscrepancyDecision,
): Command<DecideOptions & { adjust?: boolean }> {
  return (context, options) =>
    withDatabase(context, async (database) => {
      const id = requireId(options.id);
      const decision = kind(options);
      const person = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
      const above = context.config.discrepancies.secondPersonAbove ?? new Map<string, bigint>();
      const { discrepancy, outcome, adjustment } = await decideDiscrepancy(database, id, decision, person, above);
      if (context.output !== 'text') {
        const document = documentOf(discrepancy, person.at);
        await context.document({
          schema: 'settle.discrepancyDecision',
          decision,
          outcome,
          adjustment,
          discrepancy: document,
        });
      } else {
        const text = {
          APPLIED: `Discrepancy ${options.id} is ${discrepancy.state}.${adjustment === null ? '' : ` Booked: ${adjustment}.`}`,
          PROPOSED: `Proposed. Another person must decide the same: settle discrepancy ${decision === 'IGNORE' ? 'ignore' : 'resolve'} ${options.id}${decision === 'ADJUST' ? ' --adjust' : ''} --by NAME --reason TEXT`,
          REPEATED: `Discrepancy ${options.id} is ${discrepancy.state} already; nothing is changed.`,
        }[outcome];
        await context.print(text);
      }
      return outcome === 'PROPOSED' ? exitCodes.PARTIAL : exitCodes.OK;
    });
}

export const resolve = decided(({ adjust }) => (adjust === true ? 'ADJUST' : 'RESOLVE'));
export const ignore = decided(() => 'IGNORE');

function directed(
  what: (options: { to?: string }) => { assign: string } | 'retry',
): Command<DecideOptions & { to?: string }> {
  return (context, options) =>
    withDatabase(context, async (database) => {
      const person = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
      const one = await directDiscrepancy(database, requireId(options.id), what(options), person);
      if (context.output !== 'text') {
        await context.document({
          schema: 'settle.discrepancy',
          discrepancy: documentOf(one, person.at),
          moves: [],
          reviews: [],
        });
      } else
        await context.print(
          `Discrepancy ${options.id} is ${one.state}${one.owner === null ? '' : `, with ${one.owner}`}.`,
        );
      return exitCodes.OK;
    });
}

/** `settle discrepancy retry ID`: looked for again by the next reconcile. */
export const retry = directed(() => 'retry');

/** `settle discrepancy assign ID --to NAME`: a person has it from now on. */
export const assign = directed(({ to = '' }) => {
  if (to.trim() === '') throw new SettleError('USAGE', '--to is empty.', { next: 'Give --to a name.' });
  return { assign: to };
});
