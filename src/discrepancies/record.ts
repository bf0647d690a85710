import type { Binding, Session, Transaction } from '../db/session.js';
import { fromInstant, nowMs, oneOfIds, placeholders, toBigInt, toCount, toText } from '../db/values.js';
import { discrepancyMoves, move, type DiscrepancyEvent, type DiscrepancyState } from '../kernel/states.js';
import { appendAlerts } from '../outbox/append.js';
import { identityOf, looksAgain, openStates, pauseMs, stakeOf, type Found, type Scope } from './discrepancy.js';

// Called inside the transaction that finds a difference, or that finds it gone: the row, its history and what it is about
// are written together or not at all.

/** Who writes, and when (RFC 3339). */
export interface Writer {
  readonly actor: string;
  readonly now: string;
}

const rowsAtOnce = 500;

const columns = [
  ...['identity', 'scope', 'class', 'severity', 'state', 'channel', 'batch_day', 'item_key', 'currency'],
  ...[
    'expected_minor',
    'actual_minor',
    'expected_text',
    'actual_text',
    'stake_minor',
    'effect_minor',
    'book_account',
    'book_sub',
  ],
  ...['file_id', 'seq', 'ours', 'ours_id', 'next_ms', 'first_seen', 'last_seen'],
];

/**
 * Writes differences down: each once, whoever finds it however often. One that had cleared and is there again is opened
 * again; one that a person has closed stays closed. Returns how many are new or open again.
 */
export async function recordFound(trx: Transaction, found: readonly Found[], writer: Writer): Promise<number> {
  let opened = 0;
  for (let at = 0; at < found.length; at += rowsAtOnce) {
    opened += await recordSome(trx, found.slice(at, at + rowsAtOnce), writer);
  }
  return opened;
}

async function recordSome(trx: Transaction, found: readonly Found[], writer: Writer): Promise<number> {
  const byIdentity = new Map(found.map((one) => [identityOf(one.identity), one]));
  const known = await stored(trx, [...byIdentity.keys()]);
  const fresh = [...byIdentity].filter(([identity]) => !known.has(identity));
  const at = fromInstant(trx.dialect, writer.now);
  const nextMs = fresh.length === 0 ? 0n : (await clockMs(trx)) + pauseMs(0);
  const text = (minor: bigint | null): string | null => (minor === null ? null : minor.toString());
  await trx.insertMany(
    'discrepancy',
    columns,
    fresh.map(([identity, one]): Binding[] => [
      ...[identity, one.scope, one.class, one.severity, 'OPEN', one.channel, one.batchDay, one.itemKey, one.currency],
      ...[text(one.expectedMinor), text(one.actualMinor), one.expectedText ?? null, one.actualText ?? null],
      ...[
        text(stakeOf(one)),
        text(one.adjusts?.minor ?? 0n),
        one.adjusts?.account ?? null,
        one.adjusts?.subAccount ?? null,
      ],
      ...[one.line?.fileId ?? null, one.line?.seq ?? null, one.ours?.kind ?? null, one.ours?.id ?? null],
      ...[looksAgain.includes(one.class) ? nextMs : null, at, at],
    ]),
  );
  const ids = await stored(
    trx,
    fresh.map(([identity]) => identity),
  );
  await writeMoves(
    trx,
    [...ids.values()].map(({ id }) => ({ id, event: 'find', from: null, to: 'OPEN' as const })),
    writer,
  );
  const back = [...known.values()].filter(({ state, closedBy }) => state === 'RESOLVED' && closedBy === 'CLEARED');
  for (const row of back) await moveOn(trx, row, ['recur'], writer);
  return fresh.length + back.length;
}

async function clockMs(session: Session): Promise<bigint> {
  const [row] = await session.rows(`select ${nowMs(session.dialect)} as now_ms`);
  return toBigInt(row?.['now_ms']);
}

interface StoredState {
  id: bigint;
  state: DiscrepancyState;
  version: number;
  closedBy: string | null;
}

async function stored(session: Session, identities: readonly string[]): Promise<Map<string, StoredState>> {
  if (identities.length === 0) return new Map();
  const rows = await session.tuples(
    `select identity, id, state, version, closed_by from discrepancy where identity in (${placeholders(identities)})
      order by id`,
    identities,
  );
  return new Map(
    rows.map(([identity, id, state, version, closedBy]) => [
      toText(identity),
      {
        id: toBigInt(id),
        state: toText(state) as DiscrepancyState,
        version: toCount(version),
        closedBy: closedBy === null ? null : toText(closedBy),
      },
    ]),
  );
}

/** One or several moves of a row, by compare-and-swap, with their history; false when somebody else has moved it. */
export async function moveOn(
  trx: Transaction,
  row: { id: bigint; state: DiscrepancyState; version: number },
  events: readonly DiscrepancyEvent[],
  writer: Writer & { reason?: string | null; closedBy?: 'CLEARED' | 'PERSON'; adjustment?: string | null },
): Promise<boolean> {
  const steps: { id: bigint; event: string; from: DiscrepancyState; to: DiscrepancyState }[] = [];
  let state = row.state;
  for (const event of events) {
    const to = move(discrepancyMoves, state, event);
    steps.push({ id: row.id, event, from: state, to });
    state = to;
  }
  const isClosed = state === 'RESOLVED' || state === 'IGNORED';
  const changed = await trx.change(
    `update discrepancy set state = ?, version = version + ?, closed_at = ?, closed_by = ?, adjustment = ?,
            attempts = case when ? = 1 then 0 else attempts end, next_ms = case when ? = 1 then 0 else next_ms end
      where id = ? and state = ? and version = ?`,
    [
      ...[state, Math.max(1, events.length), isClosed ? fromInstant(trx.dialect, writer.now) : null],
      ...[isClosed ? (writer.closedBy ?? 'CLEARED') : null, writer.adjustment ?? null],
      ...[events.includes('recur') ? 1 : 0, events.some((event) => event === 'recur' || event === 'retry') ? 1 : 0],
      ...[row.id, row.state, row.version],
    ],
  );
  if (changed !== 1) return false;
  await writeMoves(trx, steps, writer);
  return true;
}

interface Step {
  id: bigint;
  event: string;
  from: DiscrepancyState | null;
  to: DiscrepancyState;
}

/** The history: what happened, also where nothing moved. */
export async function writeMoves(
  trx: Transaction,
  steps: readonly Step[],
  { actor, now, reason }: Writer & { reason?: string | null },
): Promise<void> {
  const at = fromInstant(trx.dialect, now);
  await trx.insertMany(
    'discrepancy_move',
    ['discrepancy_id', 'at', 'actor', 'event', 'from_state', 'to_state', 'reason'],
    steps.map(({ id, event, from, to }) => [id, at, actor, event, from, to, reason ?? null]),
  );
}

/** Open differences of a condition have cleared. `where` is over the table discrepancy, as d. Returns how many. */
export async function clearWhere(
  trx: Transaction,
  where: string,
  bindings: readonly Binding[],
  writer: Writer & { reason: string },
): Promise<number> {
  const rows = await trx.rows(
    `select d.id, d.state, d.version from discrepancy d
      where d.state in (${openStates.map((state) => `'${state}'`).join(', ')}) and ${where} order by d.id`,
    bindings,
  );
  let cleared = 0;
  for (const row of rows) {
    const [id, version] = [toBigInt(row['id']), toCount(row['version'])];
    const state = toText(row['state']) as DiscrepancyState;
    if (await moveOn(trx, { id, state, version }, ['clear'], writer)) cleared += 1;
  }
  return cleared;
}

/** Differences of these rows of ours, of one class, have cleared. */
export async function clearOurs(
  trx: Transaction,
  classes: readonly string[],
  kind: 'PAYOUT' | 'ORDER',
  ids: readonly bigint[],
  writer: Writer & { reason: string },
): Promise<number> {
  let cleared = 0;
  const sorted = [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1));
  for (let at = 0; at < sorted.length; at += rowsAtOnce) {
    const some = oneOfIds(trx.dialect, 'd.ours_id', sorted.slice(at, at + rowsAtOnce));
    const where = `d.ours = ? and ${some.sql} and d.class in (${placeholders(classes)})`;
    cleared += await clearWhere(trx, where, [kind, ...some.bindings, ...classes], writer);
  }
  return cleared;
}

/** What is found in a scope now is all there is in it: what else is open there has cleared. `extra` narrows the scope. */
export async function syncScope(
  trx: Transaction,
  scope: Scope,
  extra: { sql: string; bindings: readonly Binding[] },
  found: readonly Found[],
  writer: Writer,
): Promise<void> {
  await recordFound(trx, found, writer);
  const kept = found.map(({ identity }) => identityOf(identity));
  const others = kept.length === 0 ? '' : `and d.identity not in (${placeholders(kept)})`;
  await clearWhere(trx, `d.scope = ? and ${extra.sql} ${others}`, [scope, ...extra.bindings, ...kept], {
    ...writer,
    reason: 'not found any more',
  });
}

/**
 * What is due to be looked for again was looked for, and is there still: an attempt more, and after `attemptsMax` of them a
 * person's. Returns how many rows it wrote; call again until none.
 */
export async function countAttempts(trx: Transaction, attemptsMax: number, writer: Writer): Promise<number> {
  const at = await clockMs(trx);
  const rows = await trx.rows(
    `select d.id, d.state, d.version, d.attempts from discrepancy d
      where d.state in ('OPEN', 'RETRYING') and d.next_ms <= ? order by d.id limit ${String(rowsAtOnce)}`,
    [at],
  );
  for (const row of rows) {
    const [id, version, attempts] = [toBigInt(row['id']), toCount(row['version']), toCount(row['attempts']) + 1];
    const state = toText(row['state']) as DiscrepancyState;
    const events: DiscrepancyEvent[] = attempts > attemptsMax ? ['handOver'] : state === 'OPEN' ? ['retry'] : [];
    if (events.length > 0 && !(await moveOn(trx, { id, state, version }, events, writer))) continue;
    if (events.length === 0) await writeMoves(trx, [{ id, event: 'attempt', from: state, to: state }], writer);
    await trx.change('update discrepancy set attempts = ?, next_ms = ?, last_seen = ? where id = ?', [
      ...[Math.min(attempts, attemptsMax), at + pauseMs(attempts), fromInstant(trx.dialect, writer.now), id],
    ]);
  }
  return rows.length;
}

/** Tells of the severe ones that are open and were not told of yet, once each. Returns how many; call again until none. */
export async function alertSevere(trx: Transaction, writer: Writer): Promise<number> {
  const rows = await trx.rows(
    `select d.id, d.class, d.channel, d.batch_day, d.item_key from discrepancy d
      where d.state in ('OPEN', 'RETRYING', 'MANUAL') and d.severity = 'HIGH' and d.alerted_at is null
      order by d.id limit ${String(rowsAtOnce)}`,
  );
  await appendAlerts(
    trx,
    rows.map((row) => {
      const id = String(toBigInt(row['id']));
      return {
        bizNo: `D${id}`,
        batchDay: toText(row['batch_day']),
        accountNo: '',
        content: {
          code: `DISCREPANCY_${toText(row['class'])}`,
          discrepancyId: id,
          channel: row['channel'] === null ? null : toText(row['channel']),
          key: toText(row['item_key']),
          suggestedAction: `settle discrepancy show ${id}`,
        },
      };
    }),
    writer.now,
  );
  if (rows.length > 0) {
    const ids = oneOfIds(
      trx.dialect,
      'id',
      rows.map((row) => toBigInt(row['id'])),
    );
    await trx.change(`update discrepancy set alerted_at = ? where ${ids.sql}`, [
      ...[fromInstant(trx.dialect, writer.now), ...ids.bindings],
    ]);
  }
  return rows.length;
}
