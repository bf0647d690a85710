import { createHash } from 'node:crypto';
import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, toCount, toText, toTextOrNull } from '../db/values.js';
import { digestOf } from './channels/paymentFolder.js';
import type { FileChannel } from './channels/file.js';
import { claimStart, claimSubmissions, type ClaimCursor, type SubmissionPorts } from './claims.js';
import type { ExchangePorts } from './exchange.js';
import { fileFault, paymentFile, type PaymentFileHeader } from './pain001.js';
import type { Payout } from './payout.js';
import { payoutColumns, toPayout } from './queries.js';
import { databaseMs, outcomeOf } from './recorder.js';
import type { Submitted } from './submitPayouts.js';
import { applyTransitions, type Transition } from './transitions.js';

/** A file that this process is to write: it has it until the lease ends. */
interface PaymentFile {
  readonly fileNo: number;
  readonly name: string;
  readonly header: PaymentFileHeader;
  readonly turn: number;
  /** In which turn the file was prepared that is to be published; null: it is not. */
  readonly preparedTurn: number | null;
  readonly digest: string | null;
}

/** Payouts that are recorded as being in a file, in one transaction. */
const recordedAtOnce = 500;

/**
 * Puts what is due over a channel into files, each payout into one file for good: which payouts, the file's number and all
 * that it says of itself are stored before it is written, so that after any end it is written by the next run, the same.
 */
export async function submitInFiles(
  database: Database,
  channel: FileChannel,
  ports: ExchangePorts & SubmissionPorts,
): Promise<Submitted> {
  await finishFiles(database, channel, ports);
  const result: Submitted = { asked: 0, held: 0, unreachable: null };
  let cursor = claimStart;
  while (!ports.signal.aborted) {
    // Repeated after a lost COMMIT it claims others; the file of the first time is finished by a later run.
    const claimed = await database.transact(
      repeatable('claim payment file', (trx) => claimFile(trx, channel, cursor, ports)),
    );
    cursor = claimed.next;
    result.held += claimed.held;
    result.asked += claimed.payments + claimed.refused.length;
    for (const transition of claimed.refused) ports.onOutcome(outcomeOf(transition));
    if (claimed.seen === 0) break;
    if (claimed.file !== null) await writeFile(database, channel, claimed.file, ports);
  }
  return result;
}

/** Writes the files that were claimed and not written by processes that were not heard of again. */
export async function finishFiles(database: Database, channel: FileChannel, ports: ExchangePorts): Promise<void> {
  while (!ports.signal.aborted) {
    const file = await database.transact(repeatable('take payment file', (trx) => takeFile(trx, channel.name)));
    if (file === null) return;
    await writeFile(database, channel, file, ports);
  }
}

interface FileClaim {
  seen: number;
  held: number;
  next: ClaimCursor;
  file: PaymentFile | null;
  payments: number;
  refused: Transition[];
}

async function claimFile(
  trx: Transaction,
  channel: FileChannel,
  cursor: ClaimCursor,
  ports: SubmissionPorts,
): Promise<FileClaim> {
  const { payouts, seen, held, next } = await claimSubmissions(
    trx,
    channel,
    channel.settings.paymentsPerFile,
    cursor,
    ports,
  );
  const refused = payouts.flatMap((payout): Transition[] => {
    const reason = fileFault(payout);
    return reason === null
      ? []
      : [{ payout, events: ['refuse'], code: 'NOT_FOR_A_FILE', actor: ports.actor, reason, nextMs: null }];
  });
  const now = ports.now();
  await applyTransitions(trx, refused, now);
  const unfit = new Set(refused.map(({ payout }) => payout.id));
  const written = payouts.filter(({ id }) => !unfit.has(id));
  const claim = { seen, held, next, payments: written.length, refused };
  if (written.length === 0) return { ...claim, file: null };
  // Its writer has the file for as long as the payouts in it.
  const leaseMs = written[0]?.nextMs ?? 0n;
  return { ...claim, file: await insertFile(trx, channel, written, leaseMs, now) };
}

/** The claim holds the channel's pace, so that nobody else takes the number. */
async function insertFile(
  trx: Transaction,
  { name: channel, settings }: FileChannel,
  payouts: readonly Payout[],
  leaseMs: bigint,
  now: string,
): Promise<PaymentFile> {
  const [row] = await trx.rows('select max(file_no) as last_no from payment_file where channel = ?', [channel]);
  const fileNo = toCount(row?.['last_no'] ?? 0) + 1;
  const header: PaymentFileHeader = {
    messageId: messageId(settings.namespace, channel, fileNo, now),
    createdAt: now,
    executionDay: settings.executionDay(now),
    debtor: settings.debtor,
  };
  const file = { fileNo, name: `${header.messageId}.xml`, header, turn: 1, preparedTurn: null, digest: null };
  await trx.insertMany(
    'payment_file',
    [
      ...['channel', 'file_no', 'message_id', 'file_name', 'header', 'payments', 'turn', 'lease_ms', 'prepared_turn'],
      ...['digest', 'created_at', 'written_at'],
    ],
    [
      [
        ...[channel, fileNo, header.messageId, file.name, JSON.stringify(header), payouts.length, 1, leaseMs, null],
        ...[null, fromInstant(trx.dialect, now), null],
      ],
    ],
  );
  await trx.insertMany(
    'payment_file_entry',
    ['payout_id', 'channel', 'file_no'],
    payouts.map(({ id }) => [id, channel, fileNo]),
  );
  return file;
}

/** Such as "P20261130-000001-5f0c1b2a", of no two files: day, number, and what tells installations and channels apart. */
function messageId(namespace: string, channel: string, fileNo: number, now: string): string {
  const apart = createHash('sha256').update(`${namespace}\n${channel}`).digest('hex').slice(0, 8);
  return `P${now.slice(0, 10).replaceAll('-', '')}-${String(fileNo).padStart(6, '0')}-${apart}`;
}

/** How long a process may take to write a file that another one left. */
const takenMs = 60_000n;

async function takeFile(trx: Transaction, channel: string): Promise<PaymentFile | null> {
  const nowMs = await databaseMs(trx);
  const [row] = await trx.rows(
    `select file_no, file_name, header, turn, prepared_turn, digest from payment_file
      where channel = ? and written_at is null and lease_ms < ? order by file_no limit 1`,
    [channel, nowMs],
  );
  if (row === undefined) return null;
  const [fileNo, turn] = [toCount(row['file_no']), toCount(row['turn'])];
  const taken = await trx.change(
    `update payment_file set turn = turn + 1, lease_ms = ?
      where channel = ? and file_no = ? and turn = ? and written_at is null`,
    [nowMs + takenMs, channel, fileNo, turn],
  );
  if (taken === 0) return takeFile(trx, channel);
  return {
    fileNo,
    name: toText(row['file_name']),
    header: JSON.parse(toText(row['header'])) as PaymentFileHeader,
    turn: turn + 1,
    preparedTurn: row['prepared_turn'] === null ? null : toCount(row['prepared_turn']),
    digest: toTextOrNull(row['digest']),
  };
}

/** Prepares a file, publishes it, and records its payouts as being in it; goes on where somebody else ended. */
async function writeFile(
  database: Database,
  channel: FileChannel,
  file: PaymentFile,
  ports: ExchangePorts,
): Promise<void> {
  const prepared = file.digest === null ? await prepareFile(database, channel, file) : file;
  if (prepared === null) return;
  await channel.folder.publish(prepared.name, prepared.preparedTurn ?? 0, prepared.digest ?? '');
  await recordFile(database, channel, prepared, ports);
}

/** Null: somebody else has taken the file meanwhile. */
async function prepareFile(
  database: Database,
  { name: channel, folder }: FileChannel,
  file: PaymentFile,
): Promise<PaymentFile | null> {
  const { fileNo, name, header, turn } = file;
  const payouts = await database.read((session) => payoutsIn(session, channel, fileNo));
  const text = paymentFile(
    header,
    payouts.map((payout) => ({ ...payout, instructionId: instructionId(payout) })),
  );
  await folder.prepare(name, turn, text);
  const digest = digestOf(text);
  const unit = repeatable('prepare payment file', async (trx) => {
    const mine = [channel, fileNo, turn];
    await trx.change(
      `update payment_file set prepared_turn = turn, digest = ?
        where channel = ? and file_no = ? and turn = ? and prepared_turn is null`,
      [digest, ...mine],
    );
    return trx.rows('select turn from payment_file where channel = ? and file_no = ? and prepared_turn = ?', mine);
  });
  if ((await database.transact(unit)).length > 0) return { ...file, preparedTurn: turn, digest };
  await folder.forget(name, turn);
  return null;
}

/** The id of a payment in its file. */
export function instructionId({ id }: Pick<Payout, 'id'>): string {
  return `P${String(id)}`;
}

/** The payouts of a file, in the order of ids. */
export async function payoutsIn(session: Session, channel: string, fileNo: number): Promise<Payout[]> {
  const rows = await session.rows(
    `select ${payoutColumns} from payment_file_entry e join payout p on p.id = e.payout_id
      where e.channel = ? and e.file_no = ? order by p.id`,
    [channel, fileNo],
  );
  return rows.map(toPayout);
}

/** What is in a file is UNKNOWN until the bank says more; then the file is done. */
async function recordFile(
  database: Database,
  channel: FileChannel,
  { fileNo, header, turn }: PaymentFile,
  ports: ExchangePorts,
): Promise<void> {
  const page = repeatable('record payment file', async (trx) => {
    const rows = await trx.rows(
      `select ${payoutColumns} from payment_file_entry e join payout p on p.id = e.payout_id
        where e.channel = ? and e.file_no = ?
          and (p.state = 'PROCESSING' or (p.state = 'UNKNOWN' and p.last_code = 'SUBMITTER_LOST'))
        order by p.id limit ${String(recordedAtOnce)}`,
      [channel.name, fileNo],
    );
    const nextMs = (await databaseMs(trx)) + BigInt(channel.rules.checkAfterMs[0] ?? 0);
    const transitions = rows.map(toPayout).map((payout): Transition => {
      const events = payout.state === 'PROCESSING' ? (['loseTrack'] as const) : [];
      const { actor } = ports;
      return { payout, events, code: 'IN_FILE', actor, channelReference: header.messageId, nextMs, fruitless: 0 };
    });
    await applyTransitions(trx, transitions, ports.now());
    return transitions;
  });
  for (let recorded = await database.transact(page); recorded.length > 0; recorded = await database.transact(page)) {
    for (const transition of recorded) ports.onOutcome(outcomeOf(transition));
  }
  await database.transact(
    repeatable('payment file written', (trx) =>
      trx.change(
        'update payment_file set written_at = ? where channel = ? and file_no = ? and turn = ? and written_at is null',
        [fromInstant(trx.dialect, ports.now()), channel.name, fileNo, turn],
      ),
    ),
  );
}

/** The message id of the file of a channel that holds a payout, or null. */
export async function fileWith(session: Session, channel: string, idempotencyKey: string): Promise<string | null> {
  const [row] = await session.rows(
    `select f.message_id from payout p join payment_file_entry e on e.payout_id = p.id
       join payment_file f on f.channel = e.channel and f.file_no = e.file_no
      where p.idempotency_key = ? and e.channel = ?`,
    [idempotencyKey, channel],
  );
  return row === undefined ? null : toText(row['message_id']);
}
