import type { Binding, Row, Session } from '../db/session.js';
import {
  fromInstant,
  placeholders,
  toBigInt,
  toCount,
  toInstant,
  toInstantOrNull,
  toText,
  toTextOrNull,
} from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { DiscrepancyClass, DiscrepancyState } from '../kernel/states.js';
import { openStates, type Adjustable, type Discrepancy, type Scope, type Severity } from './discrepancy.js';

const columns = `d.id, d.scope, d.class, d.severity, d.state, d.version, d.channel, d.batch_day, d.item_key, d.currency,
  d.expected_minor, d.actual_minor, d.expected_text, d.actual_text, d.stake_minor, d.effect_minor, d.book_account, d.book_sub,
  d.owner, d.attempts, d.next_ms, d.first_seen, d.last_seen, d.closed_at, d.closed_by, d.adjustment`;

export interface DiscrepancyFilter {
  readonly states?: readonly string[];
  readonly class?: string | undefined;
  readonly channel?: string | undefined;
  readonly batchDay?: BatchDay | undefined;
  readonly owner?: string | undefined;
  readonly limit: number;
}

/** Differences, the oldest first. */
export async function listDiscrepancies(session: Session, filter: DiscrepancyFilter): Promise<Discrepancy[]> {
  const conditions: string[] = ['1 = 1'];
  const bindings: Binding[] = [];
  if (filter.states !== undefined) {
    conditions.push(`d.state in (${placeholders(filter.states)})`);
    bindings.push(...filter.states);
  }
  for (const [column, value] of [
    ['class', filter.class],
    ['channel', filter.channel],
    ['batch_day', filter.batchDay],
    ['owner', filter.owner],
  ] as const) {
    if (value === undefined) continue;
    conditions.push(`d.${column} = ?`);
    bindings.push(value);
  }
  const rows = await session.rows(
    `select ${columns} from discrepancy d where ${conditions.join(' and ')}
      order by d.id limit ${String(filter.limit)}`,
    bindings,
  );
  return rows.map(toDiscrepancy);
}

/** One by its id; null when there is none. */
export async function discrepancyOf(session: Session, id: bigint): Promise<Discrepancy | null> {
  const [row] = await session.rows(`select ${columns} from discrepancy d where d.id = ?`, [id]);
  return row === undefined ? null : toDiscrepancy(row);
}

/** What was found of one row of ours, or of one line of a statement, the oldest first. */
export async function discrepanciesOf(
  session: Session,
  of: { ours: 'ORDER' | 'PAYOUT'; id: bigint } | { fileId: bigint; seq: bigint },
): Promise<Discrepancy[]> {
  const [where, bindings] =
    'ours' in of
      ? ['d.ours = ? and d.ours_id = ?', [of.ours, of.id]]
      : ['d.file_id = ? and d.seq = ?', [of.fileId, of.seq]];
  const rows = await session.rows(`select ${columns} from discrepancy d where ${where} order by d.id`, bindings);
  return rows.map(toDiscrepancy);
}

export interface DiscrepancySides {
  /** Our order or payout; null where it is of neither. */
  ours: { kind: 'ORDER' | 'PAYOUT'; id: bigint } | null;
  /** The line of a statement; null where there is none. */
  line: { fileId: bigint; seq: bigint } | null;
}

/** The rows that a difference is between. */
export async function sidesOf(session: Session, id: bigint): Promise<DiscrepancySides> {
  const [row] = await session.rows('select ours, ours_id, file_id, seq from discrepancy where id = ?', [id]);
  const kind = toTextOrNull(row?.['ours']) as 'ORDER' | 'PAYOUT' | null;
  const isOfLine = row !== undefined && row['file_id'] !== null && row['seq'] !== null;
  return {
    ours: kind === null ? null : { kind, id: toBigInt(row?.['ours_id']) },
    line: isOfLine ? { fileId: toBigInt(row['file_id']), seq: toBigInt(row['seq']) } : null,
  };
}

/** How many are open; of one day when given. */
export async function openDiscrepancies(session: Session, batchDay?: BatchDay): Promise<number> {
  const [row] = await session.rows(
    `select count(*) as discrepancies from discrepancy
      where state in (${openStates.map((state) => `'${state}'`).join(', ')}) ${batchDay === undefined ? '' : 'and batch_day = ?'}`,
    batchDay === undefined ? [] : [batchDay],
  );
  return toCount(row?.['discrepancies']);
}

/** What is open, by severity. */
export async function openBySeverity(session: Session): Promise<Record<Severity, number>> {
  const rows = await session.rows(
    `select severity, count(*) as discrepancies from discrepancy
      where state in (${openStates.map((state) => `'${state}'`).join(', ')}) group by severity`,
  );
  const counts: Record<Severity, number> = { HIGH: 0, MEDIUM: 0, LOW: 0 };
  for (const row of rows) counts[toText(row['severity']) as Severity] = toCount(row['discrepancies']);
  return counts;
}

export interface OpenClass {
  readonly class: DiscrepancyClass;
  readonly count: number;
  /** When the oldest of them was first seen. */
  readonly since: string;
}

/** What is open, by class in the order of the alphabet; of one day when given. */
export async function openByClass(session: Session, batchDay?: BatchDay): Promise<OpenClass[]> {
  const rows = await session.rows(
    `select class, count(*) as discrepancies, min(first_seen) as since from discrepancy
      where state in (${openStates.map((state) => `'${state}'`).join(', ')}) ${batchDay === undefined ? '' : 'and batch_day = ?'}
      group by class order by class`,
    batchDay === undefined ? [] : [batchDay],
  );
  return rows.map((row) => ({
    class: toText(row['class']) as DiscrepancyClass,
    count: toCount(row['discrepancies']),
    since: toInstant(row['since']),
  }));
}

/** Discrepancies of one class that books of the past carried. */
export interface OpenAt {
  readonly class: DiscrepancyClass;
  readonly count: number;
  readonly since: string;
  /** How many of them have been closed since. */
  readonly closedSince: number;
}

/**
 * What of the days up to one was not closed at an instant, by class in the order of the alphabet; whenever it was seen, for
 * statements come later than the day. One that recurred counts as open.
 */
export async function discrepanciesOpenAt(session: Session, until: BatchDay, instant: string): Promise<OpenAt[]> {
  const at = fromInstant(session.dialect, instant);
  const rows = await session.rows(
    `select class, count(*) as discrepancies, min(first_seen) as since,
            sum(case when closed_at is null then 0 else 1 end) as closed_since
       from discrepancy where batch_day <= ? and (closed_at is null or closed_at > ?)
      group by class order by class`,
    [until, at],
  );
  return rows.map((row) => ({
    class: toText(row['class']) as DiscrepancyClass,
    count: toCount(row['discrepancies']),
    since: toInstant(row['since']),
    closedSince: toCount(row['closed_since']),
  }));
}

export interface DiscrepancyMoveView {
  at: string;
  actor: string;
  event: string;
  from: string | null;
  to: string;
  reason: string | null;
}

export interface DiscrepancyReviewView {
  decision: string;
  by: string;
  reason: string;
  at: string;
  isConfirmation: boolean;
}

/** All that happened to one, in order. */
export async function discrepancyHistory(
  session: Session,
  id: bigint,
): Promise<{ moves: DiscrepancyMoveView[]; reviews: DiscrepancyReviewView[] }> {
  const moves = await session.rows(
    'select at, actor, event, from_state, to_state, reason from discrepancy_move where discrepancy_id = ? order by id',
    [id],
  );
  const reviews = await session.rows(
    'select decision, by_name, reason, at, confirms from discrepancy_review where discrepancy_id = ? order by id',
    [id],
  );
  return {
    moves: moves.map((row) => ({
      at: toInstant(row['at']),
      actor: toText(row['actor']),
      event: toText(row['event']),
      from: toTextOrNull(row['from_state']),
      to: toText(row['to_state']),
      reason: toTextOrNull(row['reason']),
    })),
    reviews: reviews.map((row) => ({
      decision: toText(row['decision']),
      by: toText(row['by_name']),
      reason: toText(row['reason']),
      at: toInstant(row['at']),
      isConfirmation: row['confirms'] !== null,
    })),
  };
}

function toDiscrepancy(row: Row): Discrepancy {
  const minorOrNull = (column: string): bigint | null => (row[column] === null ? null : toBigInt(row[column]));
  return {
    id: toBigInt(row['id']),
    scope: toText(row['scope']) as Scope,
    class: toText(row['class']) as DiscrepancyClass,
    severity: toText(row['severity']) as Severity,
    state: toText(row['state']) as DiscrepancyState,
    version: toCount(row['version']),
    channel: toTextOrNull(row['channel']),
    batchDay: toText(row['batch_day']),
    itemKey: toText(row['item_key']),
    currency: toTextOrNull(row['currency']),
    expectedMinor: minorOrNull('expected_minor'),
    actualMinor: minorOrNull('actual_minor'),
    expectedText: toTextOrNull(row['expected_text']),
    actualText: toTextOrNull(row['actual_text']),
    stakeMinor: toBigInt(row['stake_minor']),
    adjusts: adjustsIn(row),
    owner: toTextOrNull(row['owner']),
    attempts: toCount(row['attempts']),
    nextMs: minorOrNull('next_ms'),
    firstSeen: toInstant(row['first_seen']),
    lastSeen: toInstant(row['last_seen']),
    closedAt: toInstantOrNull(row['closed_at']),
    closedBy: toTextOrNull(row['closed_by']),
    adjustment: toTextOrNull(row['adjustment']),
  };
}

function adjustsIn(row: Row): Adjustable | null {
  const account = toTextOrNull(row['book_account']) as Adjustable['account'] | null;
  if (account === null) return null;
  return { account, subAccount: toText(row['book_sub']), minor: toBigInt(row['effect_minor']) };
}

/** Whole days since it was first seen. */
export function ageDays({ firstSeen, closedAt }: Discrepancy, now: string): number {
  return Math.max(0, Math.floor((Date.parse(closedAt ?? now) - Date.parse(firstSeen)) / 86_400_000));
}
