import type { Database } from '../db/database.js';
import type { Binding, Transaction } from '../db/session.js';
import { fromInstant } from '../db/values.js';
import { recordFound, syncScope } from '../discrepancies/record.js';
import type { Found } from '../discrepancies/discrepancy.js';
import { SettleError } from '../kernel/errors.js';
import { move, statementFileMoves } from '../kernel/states.js';
import { breaksOf, type Break } from './continuity.js';
import type { ImportedStatement, LineCounts } from './importStatement.js';
import type { StagedFile } from './staging.js';
import type { StatementProblem } from './statement.js';
import { countedStatements, importedFile, type CountedStatement } from './storedFiles.js';
import type { FileTally, TalliedStatement } from './tally.js';

/**
 * Ends the staging of a file: in one transaction it counts from now on, with its heads and totals, what contradicts itself in
 * it, and where it does not fit its neighbours.
 */
export async function bookFile(
  database: Database,
  file: StagedFile,
  format: string,
  tally: FileTally,
  lines: LineCounts,
  now: string,
): Promise<ImportedStatement> {
  return database.transact({
    name: 'book a statement file',
    work: (trx) => book(trx, file, format, tally, lines, now),
    landed: async (session) => {
      const found = await importedFile(session, file.channel, file.digest);
      if (found?.fileId !== file.id) return undefined;
      return { ...found, outcome: found.problems.length > 0 ? 'flagged' : 'booked' };
    },
  });
}

async function book(
  trx: Transaction,
  file: StagedFile,
  format: string,
  tally: FileTally,
  lines: LineCounts,
  now: string,
): Promise<ImportedStatement> {
  const days = daysOf(tally.statements);
  await insertParts(trx, file, tally);
  const own = tally.statements.filter(({ intraday }) => !intraday).map((one) => countedOf(file, one));
  const breaks = breaksOf([...(await countedStatements(trx, file.channel)), ...own]);
  const neighbours = breaks.filter(({ before, after }) => before.fileId === file.id || after.fileId === file.id);
  const problems = [...tally.problems, ...neighbours.map(problemOf)];
  const counted = await trx.change(
    `update statement_file set state = ?, staging = null, counted_digest = digest, lines_new = ?, lines_known = ?,
            from_day = ?, to_day = ?, counted_at = ?
      where id = ? and owner = ? and state = 'STAGED' and staged_lines = ?`,
    [
      ...[
        move(statementFileMoves, 'STAGED', problems.length > 0 ? 'flag' : 'book'),
        lines.fresh,
        lines.known,
        days.from,
        days.to,
      ],
      ...[fromInstant(trx.dialect, now), file.id, file.owner, lines.staged],
    ],
  );
  if (counted !== 1) throw gone(file);
  await insertProblems(trx, file, problems);
  const writer = { actor: `settle statement import (${file.owner})`, now };
  const day = days.to ?? now.slice(0, 10);
  await recordFound(
    trx,
    tally.problems.map((problem, at) => problemFound(file, problem, at, day)),
    writer,
  );
  await syncContinuity(trx, file.channel, breaks, writer);
  return {
    ...{ fileId: file.id, format, outcome: problems.length > 0 ? 'flagged' : 'booked' },
    ...{ lines: lines.fresh + lines.known, newLines: lines.fresh, knownLines: lines.known },
    ...{ byCurrency: tally.byCurrency(), problems },
  };
}

function gone({ channel }: StagedFile): SettleError {
  return new SettleError('STATEMENT_LOCKED', `Another import of channel ${channel} has taken this one over.`, {
    details: { channel },
    next: 'Nothing of the file is stored. Type the same command again.',
  });
}

function countedOf(file: StagedFile, one: TalliedStatement): CountedStatement {
  const { no, accountRef, sequence, totals } = one;
  return {
    ...{ fileId: file.id, no, accountRef, fromDay: fromOf(one), toDay: toOf(one) },
    sequence: sequence === null ? null : { number: sequence.number, page: sequence.page },
    balances: [...totals.values()],
  };
}

/** The days that the file covers, by what it says or else by its lines. */
function daysOf(statements: readonly TalliedStatement[]): { from: string | null; to: string | null } {
  const defined = (days: (string | null)[]): string[] => days.filter((day) => day !== null).sort();
  return {
    from: defined(statements.map(fromOf))[0] ?? null,
    to: defined(statements.map(toOf)).at(-1) ?? null,
  };
}

function fromOf({ fromDay, toDay, firstDay }: TalliedStatement): string | null {
  return fromDay ?? firstDay ?? toDay;
}

function toOf({ fromDay, toDay, lastDay }: TalliedStatement): string | null {
  return toDay ?? lastDay ?? fromDay;
}

async function insertParts(trx: Transaction, file: StagedFile, { statements }: FileTally): Promise<void> {
  await trx.insertMany(
    'statement_head',
    [
      ...['file_id', 'statement_no', 'account_ref', 'sequence_no', 'sequence_page', 'last_page'],
      ...['from_day', 'to_day', 'intraday'],
    ],
    statements.map((one): Binding[] => [
      ...[file.id, one.no, one.accountRef, one.sequence?.number ?? null, one.sequence?.page ?? null],
      ...[one.sequence === null ? null : one.sequence.lastPage ? 1 : 0, fromOf(one), toOf(one), one.intraday ? 1 : 0],
    ]),
  );
  await trx.insertMany(
    'statement_total',
    [
      ...['file_id', 'statement_no', 'currency', 'line_count', 'credit_minor', 'debit_minor', 'fee_minor'],
      ...['effect_minor', 'opening_minor', 'closing_minor'],
    ],
    statements.flatMap(({ no, totals }) =>
      [...totals.values()].map((total): Binding[] => [
        ...[file.id, no, total.currency, total.lines, total.creditMinor.toString(), total.debitMinor.toString()],
        ...[total.feeMinor.toString(), total.effectMinor.toString(), total.openingMinor, total.closingMinor],
      ]),
    ),
  );
}

async function insertProblems(
  trx: Transaction,
  file: StagedFile,
  problems: readonly StatementProblem[],
): Promise<void> {
  await trx.insertMany(
    'statement_problem',
    ['file_id', 'problem_no', 'code', 'message', 'line_no', 'column_no'],
    problems.map(({ code, message, line, column }, at) => [file.id, at + 1, code, message, line, column]),
  );
}

function problemOf({ kind, expectedText, actualText }: Break): StatementProblem {
  const code = kind === 'GAP' ? 'SEQUENCE_DIFFERS' : 'BALANCE_DIFFERS';
  const message = `The statements do not follow each other: expected ${expectedText}, found ${actualText}.`;
  return { code, message, line: null, column: null };
}

function problemFound(file: StagedFile, problem: StatementProblem, at: number, day: string): Found {
  return {
    ...{ identity: ['STATEMENT', file.channel, file.digest, String(at)], scope: 'FILE', class: 'STATEMENT' },
    ...{ severity: 'HIGH', channel: file.channel, batchDay: day, currency: null },
    itemKey: `file ${String(file.id)}${problem.line === null ? '' : ` line ${String(problem.line)}`}`,
    ...{
      expectedMinor: null,
      actualMinor: null,
      expectedText: null,
      actualText: `${problem.code}: ${problem.message}`,
    },
  };
}

/** Where the statements of a channel do not follow each other, as discrepancies; those that are mended have cleared. */
async function syncContinuity(
  trx: Transaction,
  channel: string,
  breaks: readonly Break[],
  writer: { actor: string; now: string },
): Promise<void> {
  const found = breaks.map((one): Found => {
    const { kind, accountRef, before, after, currency, expectedMinor, actualMinor, expectedText, actualText } = one;
    const place = (statement: typeof before): string => `${String(statement.fileId)}/${String(statement.no)}`;
    return {
      identity: [kind, channel, accountRef ?? '', place(before), place(after), currency ?? ''],
      ...{ scope: 'CONTINUITY', class: kind, severity: 'HIGH', channel, currency, expectedMinor, actualMinor },
      batchDay: after.fromDay ?? after.toDay ?? writer.now.slice(0, 10),
      itemKey: `statements ${place(before)} and ${place(after)}`,
      ...{ expectedText, actualText },
    };
  });
  await syncScope(trx, 'CONTINUITY', { sql: 'd.channel = ?', bindings: [channel] }, found, writer);
}
