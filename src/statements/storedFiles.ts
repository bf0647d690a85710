import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import type { StatementFileState } from '../kernel/states.js';
import type { ImportedStatement } from './importStatement.js';
import type { StatementProblem } from './statement.js';
import type { StatementTotal } from './tally.js';

/** A file that counts, under its digest; null when there is none. */
export async function importedFile(
  session: Session,
  channel: string,
  digest: string,
): Promise<ImportedStatement | null> {
  const [row] = await session.rows(
    `select id, format, lines_new, lines_known from statement_file where channel = ? and counted_digest = ?`,
    [channel, digest],
  );
  if (row === undefined) return null;
  const fileId = toBigInt(row['id']);
  const [newLines, knownLines] = [toCount(row['lines_new']), toCount(row['lines_known'])];
  return {
    fileId,
    format: toText(row['format']),
    outcome: 'repeat',
    lines: newLines + knownLines,
    newLines,
    knownLines,
    byCurrency: await totalsOf(session, fileId),
    problems: await problemsOf(session, fileId),
  };
}

async function totalsOf(session: Session, fileId: bigint): Promise<StatementTotal[]> {
  const rows = await session.rows(
    `select currency, line_count, credit_minor, debit_minor, fee_minor, effect_minor, opening_minor, closing_minor
       from statement_total where file_id = ? order by currency, statement_no`,
    [fileId],
  );
  const sums: StatementTotal[] = [];
  for (const row of rows) {
    const minor = (column: string): bigint => toBigInt(row[column]);
    const minorOrNull = (column: string): bigint | null => (row[column] === null ? null : minor(column));
    const currency = toText(row['currency']);
    const last = sums.at(-1);
    if (last?.currency !== currency) {
      const none = { lines: 0, creditMinor: 0n, debitMinor: 0n, feeMinor: 0n, effectMinor: 0n };
      sums.push({ currency, ...none, openingMinor: minorOrNull('opening_minor'), closingMinor: null });
    }
    const sum = sums.at(-1) as StatementTotal;
    sum.lines += toCount(row['line_count']);
    sum.creditMinor += minor('credit_minor');
    sum.debitMinor += minor('debit_minor');
    sum.feeMinor += minor('fee_minor');
    sum.effectMinor += minor('effect_minor');
    sum.closingMinor = minorOrNull('closing_minor') ?? sum.closingMinor;
  }
  return sums;
}

async function problemsOf(session: Session, fileId: bigint): Promise<StatementProblem[]> {
  const rows = await session.rows(
    'select code, message, line_no, column_no from statement_problem where file_id = ? order by problem_no',
    [fileId],
  );
  const place = (value: unknown): number | null => (value === null ? null : toCount(value));
  return rows.map((row) => ({
    code: toText(row['code']),
    message: toText(row['message']),
    line: place(row['line_no']),
    column: place(row['column_no']),
  }));
}

/** A statement that counts, by currency where it states balances: what continuity is proven from. */
export interface CountedStatement {
  readonly fileId: bigint;
  readonly no: number;
  readonly accountRef: string | null;
  readonly sequence: { readonly number: bigint; readonly page: number } | null;
  readonly fromDay: string | null;
  readonly toDay: string | null;
  readonly balances: readonly { currency: string; openingMinor: bigint | null; closingMinor: bigint | null }[];
}

/** The statements of a channel, without intraday reports, in the order in which they were imported. */
export async function countedStatements(session: Session, channel: string): Promise<CountedStatement[]> {
  const rows = await session.rows(
    `select h.file_id, h.statement_no, h.account_ref, h.sequence_no, h.sequence_page, h.from_day, h.to_day, t.currency,
            t.opening_minor, t.closing_minor
       from statement_file f
       join statement_head h on h.file_id = f.id
       left join statement_total t on t.file_id = h.file_id and t.statement_no = h.statement_no
      where f.channel = ? and f.state in ('BOOKED', 'FLAGGED') and h.intraday = 0
      order by h.file_id, h.statement_no, t.currency`,
    [channel],
  );
  const statements = new Map<string, CountedStatement>();
  for (const row of rows) {
    const [fileId, no] = [toBigInt(row['file_id']), toCount(row['statement_no'])];
    const key = `${String(fileId)}/${String(no)}`;
    const minor = (column: string): bigint | null => (row[column] === null ? null : toBigInt(row[column]));
    const known = statements.get(key) ?? {
      ...{ fileId, no, accountRef: toTextOrNull(row['account_ref']) },
      sequence:
        row['sequence_no'] === null
          ? null
          : { number: toBigInt(row['sequence_no']), page: toCount(row['sequence_page']) },
      fromDay: toTextOrNull(row['from_day']),
      toDay: toTextOrNull(row['to_day']),
      balances: [],
    };
    const currency = toTextOrNull(row['currency']);
    const balance = { openingMinor: minor('opening_minor'), closingMinor: minor('closing_minor') };
    statements.set(
      key,
      currency === null ? known : { ...known, balances: [...known.balances, { currency, ...balance }] },
    );
  }
  return [...statements.values()];
}

/** A file as `settle statement list` shows it. */
export interface StatementFileView {
  readonly id: bigint;
  readonly channel: string;
  readonly name: string;
  readonly format: string;
  readonly state: StatementFileState;
  readonly fromDay: string | null;
  readonly toDay: string | null;
  readonly lines: number;
  readonly knownLines: number;
  readonly matched: number;
  readonly problems: number;
  readonly importedAt: string;
  readonly countedAt: string | null;
}

/** Files, the newest first; of one channel when given. */
export async function listFiles(session: Session, channel: string | null, limit: number): Promise<StatementFileView[]> {
  const rows = await session.rows(
    `select f.id, f.channel, f.name, f.format, f.state, f.from_day, f.to_day, f.staged_lines, f.lines_known, f.matched_to,
            f.imported_at, f.counted_at,
            (select count(*) from statement_problem p where p.file_id = f.id) as problems
       from statement_file f ${channel === null ? '' : 'where f.channel = ?'}
      order by f.id desc limit ${String(limit)}`,
    channel === null ? [] : [channel],
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    channel: toText(row['channel']),
    name: toText(row['name']),
    format: toText(row['format']),
    state: toText(row['state']) as StatementFileState,
    fromDay: toTextOrNull(row['from_day']),
    toDay: toTextOrNull(row['to_day']),
    lines: toCount(row['staged_lines']),
    knownLines: toCount(row['lines_known']),
    matched: toCount(row['matched_to']),
    problems: toCount(row['problems']),
    importedAt: toInstant(row['imported_at']),
    countedAt: toInstantOrNull(row['counted_at']),
  }));
}
