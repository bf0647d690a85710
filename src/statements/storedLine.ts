import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { LineKind } from './statement.js';

/** A line of a file that counts, as far as matching needs it. */
export interface StoredLine {
  readonly fileId: bigint;
  readonly seq: bigint;
  readonly lineNo: number;
  readonly kind: LineKind;
  readonly state: 'DONE' | 'FAILED';
  readonly direction: 'CREDIT' | 'DEBIT';
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly feeMinor: bigint | null;
  readonly ourReference: string | null;
  readonly channelReference: string | null;
  readonly otherReferences: readonly string[];
  readonly occurredAt: string | null;
  readonly bookedDay: BatchDay;
  readonly batchCount: number | null;
  readonly batchReference: string | null;
}

// In the order of `toLine`.
const columns = `l.file_id, l.seq, l.line_no, l.kind, l.state, l.direction, l.currency, l.amount_minor, l.fee_minor, l.our_reference,
  l.channel_reference, l.other_references, l.occurred_at, l.booked_day, l.batch_count, l.batch_reference`;

function toLine(row: readonly unknown[]): StoredLine {
  const others = toTextOrNull(row[11]);
  return {
    fileId: toBigInt(row[0]),
    seq: toBigInt(row[1]),
    lineNo: toCount(row[2]),
    kind: toText(row[3]) as LineKind,
    state: toText(row[4]) as StoredLine['state'],
    direction: toText(row[5]) as StoredLine['direction'],
    currency: toText(row[6]),
    amountMinor: toBigInt(row[7]),
    feeMinor: row[8] === null ? null : toBigInt(row[8]),
    ourReference: toTextOrNull(row[9]),
    channelReference: toTextOrNull(row[10]),
    otherReferences: others === null ? [] : (JSON.parse(others) as string[]),
    occurredAt: toInstantOrNull(row[12]),
    bookedDay: toText(row[13]),
    batchCount: row[14] === null ? null : toCount(row[14]),
    batchReference: toTextOrNull(row[15]),
  };
}

/** Lines of a file with these numbers, without those of intraday reports. */
export async function linesOf(session: Session, fileId: bigint, after: bigint, upTo: bigint): Promise<StoredLine[]> {
  const rows = await session.tuples(
    `select ${columns} from statement_line l
      where l.file_id = ? and l.seq > ? and l.seq <= ?
        and not exists (select 1 from statement_head h
                         where h.file_id = l.file_id and h.statement_no = l.statement_no and h.intraday = 1)
      order by l.seq`,
    [fileId, after, upTo],
  );
  return rows.map(toLine);
}

/** Lines of a channel that were looked at and found no counterpart, after a place, in the order of files and lines. */
export async function looseLines(
  session: Session,
  channel: string,
  after: { fileId: bigint; seq: bigint },
  limit: number,
): Promise<StoredLine[]> {
  const rows = await session.tuples(
    `select ${columns} from statement_loose o join statement_line l on l.file_id = o.file_id and l.seq = o.seq
      where o.channel = ? and o.why = 'NOT_FOUND' and o.file_id >= ? and (o.file_id > ? or o.seq > ?)
      order by o.file_id, o.seq limit ${String(limit)}`,
    [channel, after.fileId, after.fileId, after.seq],
  );
  return rows.map(toLine);
}

/** The money that a line moves: in is positive. */
export function signedOf({ direction, amountMinor }: Pick<StoredLine, 'direction' | 'amountMinor'>): bigint {
  return direction === 'CREDIT' ? amountMinor : -amountMinor;
}

/** Every number by which a line may be known to us, in the order of trust, without repeats. */
export function referencesOf({ ourReference, channelReference, otherReferences }: StoredLine): string[] {
  const all = [ourReference, ...otherReferences, channelReference];
  const distinct: string[] = [];
  for (const one of all) {
    if (one !== null && !distinct.includes(one) && Buffer.byteLength(one) <= 64) distinct.push(one);
  }
  return distinct;
}
