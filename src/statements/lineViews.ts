import type { Row, Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';

/** A line of a statement as a person looks it up: without the texts and accounts that a bank writes into it. */
export interface LineView {
  readonly fileId: bigint;
  readonly seq: bigint;
  readonly channel: string;
  readonly file: string;
  readonly lineNo: number;
  readonly importedAt: string;
  readonly kind: string;
  readonly state: string;
  readonly currency: string;
  /** Signed as money is for us: in is positive, out negative. */
  readonly movesMinor: bigint;
  readonly ourReference: string | null;
  readonly channelReference: string | null;
  readonly bookedDay: BatchDay;
  readonly occurredAt: string | null;
}

export interface MatchView {
  readonly line: LineView;
  readonly role: string;
  readonly verdict: string;
  readonly matchedAt: string;
}

const columns = `l.file_id, l.seq, f.channel, f.name, l.line_no, f.imported_at, l.kind, l.state, l.direction, l.currency,
  l.amount_minor, l.our_reference, l.channel_reference, l.booked_day, l.occurred_at`;

function toLine(row: Row): LineView {
  const amountMinor = toBigInt(row['amount_minor']);
  return {
    fileId: toBigInt(row['file_id']),
    seq: toBigInt(row['seq']),
    channel: toText(row['channel']),
    file: toText(row['name']),
    lineNo: toCount(row['line_no']),
    importedAt: toInstant(row['imported_at']),
    kind: toText(row['kind']),
    state: toText(row['state']),
    currency: toText(row['currency']),
    movesMinor: row['direction'] === 'CREDIT' ? amountMinor : -amountMinor,
    ourReference: toTextOrNull(row['our_reference']),
    channelReference: toTextOrNull(row['channel_reference']),
    bookedDay: toText(row['booked_day']),
    occurredAt: toInstantOrNull(row['occurred_at']),
  };
}

/** The lines that an order or a payout was matched with. */
export async function matchesOf(session: Session, ours: 'ORDER' | 'PAYOUT', id: bigint): Promise<MatchView[]> {
  const rows = await session.rows(
    `select ${columns}, m.role, m.verdict, m.matched_at
       from statement_match m
       join statement_line l on l.file_id = m.file_id and l.seq = m.seq
       join statement_file f on f.id = m.file_id
      where m.ours = ? and m.ours_id = ? order by m.matched_at, m.file_id, m.seq`,
    [ours, id],
  );
  return rows.map(toMatch);
}

/** A line of a file, with what it was matched with; null where there is no such line. */
export async function lineAt(
  session: Session,
  { fileId, seq }: { fileId: bigint; seq: bigint },
): Promise<{ line: LineView; matches: (MatchView & { ours: string; oursId: bigint })[] } | null> {
  const [row] = await session.rows(
    `select ${columns} from statement_line l join statement_file f on f.id = l.file_id where l.file_id = ? and l.seq = ?`,
    [fileId, seq],
  );
  if (row === undefined) return null;
  const line = toLine(row);
  const matched = await session.rows(
    'select ours, ours_id, role, verdict, matched_at from statement_match where file_id = ? and seq = ? order by part',
    [fileId, seq],
  );
  const matches = matched.map((one) => ({
    line,
    ours: toText(one['ours']),
    oursId: toBigInt(one['ours_id']),
    role: toText(one['role']),
    verdict: toText(one['verdict']),
    matchedAt: toInstant(one['matched_at']),
  }));
  return { line, matches };
}

function toMatch(row: Row): MatchView {
  return {
    line: toLine(row),
    role: toText(row['role']),
    verdict: toText(row['verdict']),
    matchedAt: toInstant(row['matched_at']),
  };
}
