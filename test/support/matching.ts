import { createHash } from 'node:crypto';
import { dayOf, instantOf } from '../../src/batch/calendar.js';
import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import { idempotencyKey } from '../../src/payouts/idempotencyKey.js';
import type { MatchPorts, StatementChannel } from '../../src/statements/channelRules.js';
import { importStatement, type DigestedSource, type ImportedStatement } from '../../src/statements/importStatement.js';
import { matchChannel, type ChannelMatched } from '../../src/statements/matchChannel.js';
import { plainFormat } from '../../src/statements/plain.js';
import { day } from './day.js';

/** A line as short as a test can say it; the rest has defaults. */
export interface TestLine {
  kind?: string;
  direction?: 'CREDIT' | 'DEBIT';
  currency?: string;
  minor: bigint | number;
  our?: string | null;
  their?: string | null;
  others?: string[];
  key?: string | null;
  state?: string;
  day?: string;
  fee?: bigint | number;
  net?: bigint | number;
  balance?: bigint | number;
  batchCount?: number;
  occurredAt?: string;
}

export interface TestStatement {
  account?: string;
  sequence?: number;
  from?: string;
  to?: string;
  opening?: bigint | number;
  closing?: bigint | number;
  currency?: string;
  lines: readonly TestLine[];
}

/** Statements in Settle's own form. */
export function statementText(...statements: readonly TestStatement[]): string {
  const rows: object[] = [];
  for (const { account, sequence, from = day, to = day, opening, closing, currency = 'USD', lines } of statements) {
    rows.push({ record: 'settle.statement', account, sequence, from_day: from, to_day: to });
    if (opening !== undefined) rows.push({ record: 'balance', kind: 'OPENING', currency, minor: String(opening) });
    for (const line of lines) rows.push(lineRecord(line));
    if (closing !== undefined) rows.push({ record: 'balance', kind: 'CLOSING', currency, minor: String(closing) });
    rows.push({ record: 'end', lines: lines.length });
  }
  return `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`;
}

function lineRecord(line: TestLine): object {
  const text = (minor: bigint | number | undefined): string | undefined =>
    minor === undefined ? undefined : String(minor);
  const kind = line.kind ?? 'PAYOUT';
  return {
    record: 'line',
    ...{
      kind,
      direction: line.direction ?? (kind === 'PAYMENT' ? 'CREDIT' : 'DEBIT'),
      currency: line.currency ?? 'USD',
    },
    ...{ amount_minor: String(line.minor), our_reference: line.our, channel_reference: line.their },
    ...{ other_references: line.others, line_key: line.key, state: line.state, booked_day: line.day ?? day },
    ...{ fee_minor: text(line.fee), net_minor: text(line.net), balance_minor: text(line.balance) },
    ...{ batch_count: line.batchCount, occurred_at: line.occurredAt },
  };
}

export function sourceOf(text: string, name = 'statement'): DigestedSource {
  const bytes = Buffer.from(text);
  return {
    name,
    digest: createHash('sha256').update(bytes).digest('hex'),
    // eslint-disable-next-line @typescript-eslint/require-await
    chunks: async function* () {
      for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
    },
  };
}

export const now = '2026-11-30T02:00:00.000Z';

export function importText(
  database: Database,
  text: string,
  options: { channel?: string; owner?: string; isAlive?: boolean } = {},
): Promise<ImportedStatement> {
  return importStatement(database, sourceOf(text), plainFormat, {
    channel: options.channel ?? 'bank',
    settings: { timeZone: null, currency: null },
    owner: options.owner ?? 'test process 1',
    isAlive: () => options.isAlive ?? false,
    now: () => now,
    signal: new AbortController().signal,
  });
}

const utc = { timeZone: 'UTC', cutOff: '00:00' };

export function channelOf(overrides: Partial<StatementChannel> = {}): StatementChannel {
  return {
    name: 'bank',
    orderChannel: 'CARD',
    matches: { payouts: true, orders: true },
    crossDayDays: 0,
    fee: null,
    dayOf: (instant) => dayOf(new Date(instant), utc),
    endOf: (of) => instantOf(of, utc).getTime(),
    ...overrides,
  };
}

export function match(database: Database, overrides: Partial<StatementChannel> = {}): Promise<ChannelMatched> {
  const ports: MatchPorts = {
    channel: channelOf(overrides),
    actor: 'test',
    now: () => now,
    signal: new AbortController().signal,
  };
  return matchChannel(database, ports);
}

export interface TestPayout {
  accountNo: string;
  minor: bigint | number;
  state?: string;
  currency?: string;
  reference?: string;
  sentOn?: string;
}

/** The key of an account's payout. */
export function keyOf(accountNo: string, currency = 'USD'): string {
  return idempotencyKey('test', { batchDay: day, accountNo, currency, seq: 1 });
}

/** Payouts as they are stored, without their journal: for what looks at nothing but them. */
export async function givenPayouts(database: Database, payouts: readonly TestPayout[]): Promise<void> {
  await database.transact(
    repeatable('payouts', (trx) =>
      trx.insertMany(
        'payout',
        [
          ...[
            'batch_day',
            'account_no',
            'currency',
            'seq',
            'amount_minor',
            'channel',
            'destination',
            'holder',
            'due_day',
          ],
          ...['idempotency_key', 'state', 'version', 'attempts', 'next_ms', 'first_sent_ms', 'last_sent_ms'],
          ...['submitted_on', 'returned_on', 'channel_reference', 'created_at', 'finished_at'],
        ],
        payouts.map(({ accountNo, minor, state = 'SUCCESS', currency = 'USD', reference, sentOn = day }) => {
          const sentMs = BigInt(Date.parse(`${sentOn}T12:00:00Z`));
          const isFinal = state === 'SUCCESS' || state === 'FAILED';
          return [
            ...[
              day,
              accountNo,
              currency,
              1,
              BigInt(minor),
              'bank',
              'DE00',
              'A',
              day,
              keyOf(accountNo, currency),
              state,
              1,
            ],
            ...[1, state === 'UNKNOWN' ? 1n : null, sentMs, sentMs, state === 'INIT' ? null : day],
            ...[state === 'FAILED' ? day : null, reference ?? null, '2026-11-29 12:00:00.000'],
            isFinal ? '2026-11-29 12:00:00.000' : null,
          ];
        }),
      ),
    ),
  );
}

/** A payment file that a bank was given, with the payouts of these accounts. */
export async function givenPaymentFile(
  database: Database,
  messageId: string,
  accountNos: readonly string[],
): Promise<void> {
  await database.transact(
    repeatable('payment file', async (trx) => {
      await trx.insertMany(
        'payment_file',
        [
          ...['channel', 'file_no', 'message_id', 'file_name', 'header', 'payments', 'turn', 'lease_ms'],
          ...['prepared_turn', 'digest', 'created_at', 'written_at'],
        ],
        [
          [
            ...['bank', 1, messageId, `${messageId}.xml`, '{}', accountNos.length, 1, 0n],
            ...[1, 'd'.repeat(64), '2026-11-29 12:00:00.000', '2026-11-29 12:00:00.000'],
          ],
        ],
      );
      for (const accountNo of accountNos) {
        await trx.change(
          `insert into payment_file_entry (payout_id, channel, file_no)
            select id, 'bank', 1 from payout where account_no = ?`,
          [accountNo],
        );
      }
    }),
  );
}

/** "AMOUNT <key> OPEN -100 -101" of every discrepancy, sorted. */
export async function discrepancyLines(database: Database): Promise<string[]> {
  const rows = await database.read((session) =>
    session.tuples('select class, item_key, state, expected_minor, actual_minor from discrepancy order by id'),
  );
  return rows
    .map((row) => row.map((value) => (value === null ? '-' : String(value as string | bigint))).join(' '))
    .sort();
}

const tables = [
  ...['discrepancy_review', 'discrepancy_move', 'discrepancy', 'statement_sweep', 'statement_loose', 'statement_match'],
  ...['statement_line', 'statement_problem', 'statement_total', 'statement_head', 'statement_file'],
  ...['ledger_entry', 'journal_entry', 'outbox', 'payment_file_entry', 'payment_file', 'payout_move'],
  ...['payout', 'settlement_order'],
];

/** Empties the tables of a database whose triggers are gone: quicker than a new one for each test. */
export async function emptied(database: Database): Promise<void> {
  await database.transact(
    repeatable('empty', async (trx) => {
      for (const table of tables) await trx.change(`delete from ${table}`);
    }),
  );
}
