import type { Session, Transaction } from '../db/session.js';
import { fromInstant, oneOfIds, toBigInt, toText } from '../db/values.js';
import type { Found } from '../discrepancies/discrepancy.js';
import { clearOurs, clearWhere, recordFound } from '../discrepancies/record.js';
import { addDays, type BatchDay } from '../kernel/batchDay.js';
import { ordersNamed } from '../orders/statedOrders.js';
import { applyStated, payoutsNamed, type Stated, type StatedPayout } from '../payouts/statedOutcomes.js';
import { placeBatch } from './batchBookings.js';
import type { MatchPorts } from './channelRules.js';
import {
  placeLine,
  verdictOf,
  type Ours,
  type OursByNumber,
  type Placed,
  type Role,
  type Verdict,
} from './decideLine.js';
import { looseLine, pairDiffers, type LineContext } from './differences.js';
import { referencesOf, type StoredLine } from './storedLine.js';

/** A line with the row of ours that it stands for, or one of the rows. */
export interface Pair {
  readonly line: StoredLine;
  /** 0 where the line stands for one row, else their numbers from 1. */
  readonly part: number;
  readonly ours: Ours;
  readonly role: Role;
}

export interface Matched {
  readonly matched: number;
  readonly loose: number;
}

/**
 * Looks for the rows of ours that lines stand for and writes down what it finds, inside a transaction: matches, differences,
 * payouts whose outcome the statement tells, and lines without a counterpart. `again`: the lines were looked at before and
 * found none. A line counts as missing once `reach` is so many days past its own.
 */
export async function matchLines(
  trx: Transaction,
  lines: readonly StoredLine[],
  ports: MatchPorts,
  reach: BatchDay | null,
  again: boolean,
): Promise<Matched> {
  if (lines.length === 0) return { matched: 0, loose: 0 };
  const by = await readOurs(trx, lines, ports);
  const taken = await takenRoles(trx, by);
  const pairs: Pair[] = [];
  const loose: { line: StoredLine; why: 'NOT_FOUND' | 'DUPLICATE' }[] = [];
  const found: Found[] = [];
  for (const line of lines) {
    const placed = placeLine(line, by, (ours, role) => taken.has(roleKey(ours.kind, ours.id, role)));
    if (placed.kind === 'MATCH') pairs.push({ line, part: 0, ...take(taken, placed) });
    else if (placed.kind === 'LOOSE') {
      const batch =
        placed.why === 'NOT_FOUND'
          ? await placeBatch(trx, line, ports.channel, contextOf(line, ports), (id) =>
              taken.has(roleKey('PAYOUT', id, 'MOVED')),
            )
          : null;
      for (const { ours, role } of batch?.pairs ?? []) taken.add(roleKey(ours.kind, ours.id, role));
      pairs.push(...(batch?.pairs ?? []));
      if (batch !== null && batch.differs !== null) found.push(batch.differs);
      if (batch === null || batch.pairs.length === 0) loose.push({ line, why: placed.why });
      if (batch === null && countsAsMissing(line, placed.why, ports, reach)) {
        found.push(looseLine(line, placed.why, contextOf(line, ports)));
      }
    }
  }
  await writePairs(trx, pairs, found, ports, again);
  await writeLoose(trx, loose, ports, again);
  await recordFound(trx, found, { actor: ports.actor, now: ports.now() });
  return { matched: pairs.length, loose: loose.length };
}

function take(taken: Set<string>, { ours, role }: Extract<Placed, { kind: 'MATCH' }>): { ours: Ours; role: Role } {
  taken.add(roleKey(ours.kind, ours.id, role));
  return { ours, role };
}

function roleKey(kind: string, id: bigint, role: string): string {
  return `${kind} ${String(id)} ${role}`;
}

function contextOf(line: StoredLine, { channel }: MatchPorts): LineContext {
  const day = line.occurredAt === null ? line.bookedDay : channel.dayOf(line.occurredAt);
  return { channel: channel.name, orderChannel: channel.orderChannel, day };
}

/** A payout is in our tables before it is sent, so a line about none needs no waiting; an order may come a day later. */
function countsAsMissing(
  line: StoredLine,
  why: 'NOT_FOUND' | 'DUPLICATE',
  { channel }: MatchPorts,
  reach: BatchDay | null,
): boolean {
  const ofOrders = channel.matches.orders && line.kind !== 'PAYOUT' && line.kind !== 'RETURN';
  if (why === 'DUPLICATE' || !ofOrders || channel.crossDayDays === 0) return true;
  return reach !== null && addDays(line.bookedDay, channel.crossDayDays) <= reach;
}

async function readOurs(trx: Session, lines: readonly StoredLine[], { channel }: MatchPorts): Promise<OursByNumber> {
  const by = {
    payoutByKey: new Map<string, StatedPayout>(),
    payoutByReference: new Map<string, StatedPayout[]>(),
    orderByNo: new Map<string, Awaited<ReturnType<typeof ordersNamed>>[number]>(),
  };
  const references = new Set(lines.flatMap(referencesOf));
  const byKey = (line: StoredLine): boolean =>
    by.payoutByKey.size > 0 && referencesOf(line).some((text) => by.payoutByKey.has(text));
  if (channel.matches.payouts) {
    const keys = [...references].filter((text) => /^[!-~]{1,40}$/.test(text));
    for (const payout of await payoutsNamed(trx, channel.name, 'idempotency_key', keys)) {
      by.payoutByKey.set(payout.idempotencyKey, payout);
    }
    // By the channel's own number only where no key of ours tells.
    const left = lines.filter((line) => !byKey(line));
    const theirs = [...new Set(left.flatMap(referencesOf))];
    for (const payout of await payoutsNamed(trx, channel.name, 'channel_reference', theirs)) {
      const text = payout.channelReference ?? '';
      by.payoutByReference.set(text, [...(by.payoutByReference.get(text) ?? []), payout]);
    }
  }
  if (channel.matches.orders) {
    const left = lines.filter((line) => !byKey(line));
    const numbers = [...new Set(left.flatMap(referencesOf))];
    for (const order of await ordersNamed(trx, channel.orderChannel, numbers)) by.orderByNo.set(order.orderNo, order);
  }
  return by;
}

/** Roles in which rows of ours are matched already. */
async function takenRoles(trx: Session, by: OursByNumber): Promise<Set<string>> {
  const payouts = [...by.payoutByKey.values(), ...[...by.payoutByReference.values()].flat()].map(({ id }) => id);
  const taken = new Set<string>();
  for (const [kind, ids] of [
    ['PAYOUT', payouts],
    ['ORDER', [...by.orderByNo.values()].map(({ id }) => id)],
  ] as const) {
    const sorted = [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1));
    for (let at = 0; at < sorted.length; at += 5_000) {
      const some = oneOfIds(trx.dialect, 'ours_id', sorted.slice(at, at + 5_000));
      const rows = await trx.tuples(`select ours_id, role from statement_match where ours = ? and ${some.sql}`, [
        kind,
        ...some.bindings,
      ]);
      for (const [id, role] of rows) taken.add(roleKey(kind, toBigInt(id), toText(role)));
    }
  }
  return taken;
}

/** Writes pairs with what came out of their comparison, after the payouts moved of which the lines tell the outcome. */
async function writePairs(
  trx: Transaction,
  pairs: readonly Pair[],
  found: Found[],
  ports: MatchPorts,
  again: boolean,
): Promise<void> {
  if (pairs.length === 0) return;
  const moved = await applyStated(trx, pairs.flatMap(statedOf), ports.actor, ports.now());
  const verdicts = pairs.map(({ line, ours, role, part }): Verdict => {
    const now = ours.kind === 'PAYOUT' ? { ...ours, payout: moved.get(ours.id) ?? ours.payout } : ours;
    // Parts of a batch booking have no amounts of their own on the statement.
    const compared = part === 0 ? line : { ...line, amountMinor: partMinor(ours), feeMinor: null };
    const verdict = verdictOf(compared, now, role, ports.channel.fee);
    if (verdict !== 'AGREES') {
      found.push(pairDiffers(compared, now, role, verdict, ports.channel.fee, contextOf(line, ports)));
    }
    return verdict;
  });
  const at = fromInstant(trx.dialect, ports.now());
  await trx.insertMany(
    'statement_match',
    ['file_id', 'seq', 'part', 'ours', 'ours_id', 'role', 'verdict', 'matched_at'],
    pairs.map(({ line, part, ours, role }, index) => [
      ...[line.fileId, line.seq, part, ours.kind, ours.id, role, verdicts[index] ?? 'AGREES', at],
    ]),
  );
  await clearMatched(trx, pairs, ports, again);
}

function partMinor(ours: Ours): bigint {
  const minor = ours.kind === 'PAYOUT' ? ours.payout.amountMinor : ours.order.movesMinor;
  return minor < 0n ? -minor : minor;
}

/** What is found now is missing no more. */
async function clearMatched(
  trx: Transaction,
  pairs: readonly Pair[],
  ports: MatchPorts,
  again: boolean,
): Promise<void> {
  const moved = pairs.filter(({ role }) => role === 'MOVED');
  const [open] = await trx.rows(
    `select id from discrepancy where state in ('OPEN', 'RETRYING', 'MANUAL') and scope = 'OURS' limit 1`,
  );
  const writer = { actor: ports.actor, now: ports.now(), reason: 'found on a statement' };
  if (open !== undefined) {
    for (const kind of ['PAYOUT', 'ORDER'] as const) {
      const ids = moved.filter(({ ours }) => ours.kind === kind).map(({ ours }) => ours.id);
      await clearOurs(trx, ['MISSING_THEIRS'], kind, ids, writer);
    }
  }
  if (!again) return;
  for (const { line } of pairs.filter(({ part }) => part <= 1)) {
    await trx.change('delete from statement_loose where file_id = ? and seq = ?', [line.fileId, line.seq]);
    const where = `d.scope = 'LINES' and d.class = 'MISSING_OURS' and d.file_id = ? and d.seq = ?`;
    await clearWhere(trx, where, [line.fileId, line.seq], { ...writer, reason: 'found among ours' });
  }
}

/** What a line tells of a payout whose outcome is not known. One payout is told of once. */
function statedOf({ line, ours, role, part }: Pair): Stated[] {
  if (ours.kind !== 'PAYOUT') return [];
  const { payout } = ours;
  if (payout.state !== 'UNKNOWN' && payout.state !== 'PROCESSING') return [];
  const { channelReference: reference, currency } = line;
  if (role !== 'MOVED') {
    return [{ payoutId: payout.id, answer: { kind: 'REFUSED', reference, reason: `${role} on a statement` } }];
  }
  const amountMinor = part === 0 ? line.amountMinor : payout.amountMinor;
  return [
    { payoutId: payout.id, answer: { kind: 'PAID', reference: part === 0 ? reference : null, amountMinor, currency } },
  ];
}

async function writeLoose(
  trx: Transaction,
  loose: readonly { line: StoredLine; why: string }[],
  { channel, now }: MatchPorts,
  again: boolean,
): Promise<void> {
  if (again) {
    const doubles = loose.filter(({ why }) => why === 'DUPLICATE');
    for (const { line } of doubles) {
      await trx.change(`update statement_loose set why = 'DUPLICATE' where file_id = ? and seq = ?`, [
        line.fileId,
        line.seq,
      ]);
    }
    return;
  }
  const since = fromInstant(trx.dialect, now());
  await trx.insertMany(
    'statement_loose',
    ['file_id', 'seq', 'why', 'channel', 'since'],
    loose.map(({ line, why }) => [line.fileId, line.seq, why, channel.name, since]),
  );
}
