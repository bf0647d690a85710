import type { Database } from '../db/database.js';
import type { Binding, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, nowMs, placeholders, toBigInt, toCount, toText } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import { effectOf } from './tally.js';
import type { StatementLine } from './statement.js';

/** A file on its way into the database; nothing of it counts. */
export interface StagedFile {
  readonly id: bigint;
  readonly channel: string;
  readonly digest: string;
  readonly owner: string;
}

export interface KeyedLine {
  readonly line: StatementLine;
  readonly key: string;
  readonly statementNo: number;
  /** Number in the file, from 1, without gaps but those that an earlier file brought. */
  readonly seq: bigint;
}

/** A reader on another host that was silent for so long is taken for dead. */
const silentMsMax = 60_000n;
const deletedAtOnce = 10_000n;
const keysAtOnce = 1_000;

/**
 * Makes the row of a file that is about to be read. What a dead import of the channel left is removed first. Throws
 * STATEMENT_LOCKED while another one is alive.
 */
export async function beginStaging(
  database: Database,
  { name, digest }: { name: string; digest: string },
  format: string,
  ports: { channel: string; owner: string; isAlive(owner: string): boolean; now(): string },
): Promise<StagedFile> {
  const { channel, owner } = ports;
  const left = await database.transact(repeatable('look for a staged file', (trx) => takeOver(trx, ports)));
  if (left !== null) await discardStaged(database, left);
  await database.transact({
    name: 'stage a statement file',
    work: (trx) =>
      trx.change(
        `insert into statement_file (channel, name, format, digest, state, staging, owner, alive_ms, imported_at)
         values (?, ?, ?, ?, 'STAGED', 1, ?, ${nowMs(trx.dialect)}, ?)`,
        [channel, name, format, digest, owner, fromInstant(trx.dialect, ports.now())],
      ),
    landed: async (session) => {
      const rows = await session.rows('select id from statement_file where channel = ? and staging = 1 and owner = ?', [
        channel,
        owner,
      ]);
      return rows.length > 0 ? 1 : undefined;
    },
  });
  const [row] = await database.read((session) =>
    session.rows('select id from statement_file where channel = ? and staging = 1 and owner = ?', [channel, owner]),
  );
  return { id: toBigInt(row?.['id']), channel, digest, owner };
}

/** The file that a dead import of the channel left, from now on ours to remove; null when there is none. */
async function takeOver(
  trx: Transaction,
  { channel, owner, isAlive }: { channel: string; owner: string; isAlive(owner: string): boolean },
): Promise<StagedFile | null> {
  const [row] = await trx.rows(
    `select id, digest, owner, name, ${nowMs(trx.dialect)} - alive_ms as silent_ms from statement_file
      where channel = ? and staging = 1`,
    [channel],
  );
  if (row === undefined) return null;
  const holder = toText(row['owner']);
  if (holder !== owner && isAlive(holder) && toBigInt(row['silent_ms']) < silentMsMax) {
    throw new SettleError('STATEMENT_LOCKED', `${holder} is importing ${toText(row['name'])} of channel ${channel}.`, {
      details: { channel, holder },
      next: 'Type the same command again when that import has ended.',
    });
  }
  const id = toBigInt(row['id']);
  await trx.change('update statement_file set owner = ? where id = ? and owner = ?', [owner, id, holder]);
  return { id, channel, digest: toText(row['digest']), owner };
}

/** Removes a file that does not count, with its lines. Whoever still reads it finds it gone. */
export async function discardStaged(database: Database, { id, owner }: StagedFile): Promise<void> {
  const mine = `exists (select 1 from statement_file f where f.id = ? and f.owner = ? and f.state = 'STAGED')`;
  const last = await database.read(async (session) => {
    const [row] = await session.rows('select max(seq) as last from statement_line where file_id = ?', [id]);
    return toBigInt(row?.['last'] ?? 0);
  });
  for (let from = 1n; from <= last; from += deletedAtOnce) {
    await database.transact(
      repeatable('remove staged lines', (trx) =>
        trx.change(`delete from statement_line where file_id = ? and seq between ? and ? and ${mine}`, [
          ...[id, from, from + deletedAtOnce - 1n],
          ...[id, owner],
        ]),
      ),
    );
  }
  await database.transact(
    repeatable('remove a staged file', (trx) =>
      trx.change(`delete from statement_file where id = ? and owner = ? and state = 'STAGED'`, [id, owner]),
    ),
  );
}

const lineColumns = [
  ...['file_id', 'seq', 'statement_no', 'line_no', 'line_key', 'kind', 'state', 'direction', 'currency'],
  ...['amount_minor', 'fee_minor', 'effect_minor', 'our_reference', 'channel_reference', 'other_references'],
  ...['channel_type', 'occurred_at', 'booked_day', 'batch_count', 'batch_reference'],
];

/**
 * Stores lines of a staged file in one transaction; `before` is how many were stored before. Lines that an earlier file
 * brought are left out, and those among them that say something else now are handed back.
 */
export async function stageLines(
  database: Database,
  file: StagedFile,
  lines: readonly KeyedLine[],
  before: number,
  looksUp: boolean,
): Promise<{ known: number; changed: KeyedLine[] }> {
  const after = before + lines.length;
  return database.transact(
    repeatable('stage statement lines', async (trx) => {
      const alive = nowMs(trx.dialect);
      const moved = await trx.change(
        `update statement_file set staged_lines = ?, alive_ms = ${alive}
          where id = ? and owner = ? and state = 'STAGED' and staged_lines = ?`,
        [after, file.id, file.owner, before],
      );
      const earlier = looksUp ? await storedLines(trx, lines) : new Map<string, { file: bigint; content: string }>();
      const ours = (key: string): boolean => earlier.get(key)?.file === file.id;
      const known = lines.filter(({ key }) => earlier.has(key) && !ours(key));
      const changed = known.filter(({ key, line }) => earlier.get(key)?.content !== contentOf(line));
      // After a COMMIT whose answer was lost they are here already.
      if (moved === 0 && (await stagedLines(trx, file)) !== after) throw takenOver(file);
      if (moved === 1) {
        const fresh = lines.filter(({ key }) => !earlier.has(key));
        await trx.insertMany('statement_line', lineColumns, lineRows(trx, file, fresh));
      }
      return { known: known.length, changed };
    }),
  );
}

function* lineRows(trx: Transaction, file: StagedFile, lines: readonly KeyedLine[]): Generator<Binding[]> {
  for (const { line, key, statementNo, seq } of lines) {
    const { otherReferences: others, occurredAt } = line;
    yield [
      ...[file.id, seq, statementNo, line.line, key, line.kind, line.state, line.direction, line.currency],
      ...[
        line.amountMinor,
        line.feeMinor,
        effectOf(line),
        idOrNull(line.ourReference),
        idOrNull(line.channelReference),
      ],
      ...[others.length === 0 ? null : JSON.stringify(others), line.channelType],
      ...[occurredAt === null ? null : fromInstant(trx.dialect, occurredAt), line.bookedDay],
      ...[line.batchCount, line.batchReference],
    ];
  }
}

/** What is longer than any id of ours names nothing of ours. */
function idOrNull(reference: string | null): string | null {
  return reference !== null && Buffer.byteLength(reference) <= 64 ? reference : null;
}

async function storedLines(
  trx: Transaction,
  lines: readonly KeyedLine[],
): Promise<Map<string, { file: bigint; content: string }>> {
  const found = new Map<string, { file: bigint; content: string }>();
  for (let at = 0; at < lines.length; at += keysAtOnce) {
    const keys = lines.slice(at, at + keysAtOnce).map(({ key }) => key);
    const rows = await trx.tuples(
      `select line_key, file_id, direction, currency, amount_minor from statement_line
        where line_key in (${placeholders(keys)})`,
      keys,
    );
    for (const [key, fileId, direction, currency, amount] of rows) {
      const content = `${toText(direction)} ${toText(currency)} ${String(toBigInt(amount))}`;
      found.set(toText(key), { file: toBigInt(fileId), content });
    }
  }
  return found;
}

function contentOf({ direction, currency, amountMinor }: StatementLine): string {
  return `${direction} ${currency} ${String(amountMinor)}`;
}

async function stagedLines(trx: Transaction, { id, owner }: StagedFile): Promise<number | null> {
  const [row] = await trx.rows(
    `select staged_lines from statement_file where id = ? and owner = ? and state = 'STAGED'`,
    [id, owner],
  );
  return row === undefined ? null : toCount(row['staged_lines']);
}

function takenOver({ channel }: StagedFile): SettleError {
  return new SettleError('STATEMENT_LOCKED', `Another import of channel ${channel} has taken this one over.`, {
    details: { channel },
    next: 'Nothing of the file is stored. Type the same command again.',
  });
}
