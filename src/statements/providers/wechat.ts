import { shown } from '../../kernel/printable.js';
import { headText } from '../encoding.js';
import type { Dialect, TextRecord } from '../records.js';
import { StatementRefusal } from '../refusal.js';
import { atOffset, china, readLocalTime } from '../times.js';
import type { LocalTime } from '../times.js';
import { Row, type Columns } from './table.js';

// Bills of WeChat Pay are told apart by a backtick in front of each value, not by quotes: goods names may hold commas. So a
// record is kept as one field, and cut here.

export const wechatDialect: Dialect = { separator: ',', quotes: 'none' };

/** The names of a header, which have no backticks; brackets may be wide. */
export function wechatName(name: string): string {
  return name.trim().replaceAll('（', '(').replaceAll('）', ')');
}

export function wechatHeader(head: Buffer): string | null {
  return headText(head)?.split(/\r?\n/, 1)[0] ?? null;
}

/** A row of values: each begins with a backtick, and a comma in front of one ends the value before. */
export function valuesOf(record: TextRecord): TextRecord {
  if (!record.raw.startsWith('`')) {
    throw new StatementRefusal('BAD_RECORD', `A row begins with a backtick, not ${shown(record.raw)}.`, record.line, 1);
  }
  return { line: record.line, raw: record.raw, fields: record.raw.slice(1).split(',`') };
}

/** The row of a value record under a header. */
export function wechatRow(columns: Columns, record: TextRecord): Row {
  return new WechatRow(columns, valuesOf(record));
}

class WechatRow extends Row {
  constructor(
    private readonly header: Columns,
    private readonly values: TextRecord,
  ) {
    super(header, values, wechatDialect, (value) => value.trim());
  }

  override place(name: string): [line: number, column: number] {
    const before = this.values.fields.slice(0, this.header.indexOf(name) ?? 0);
    return [this.values.line, before.reduce((column, value) => column + value.length + 2, 2)];
  }
}

/** "2026-11-29 10:00:00" in China; the oldest bills have wide colons. */
export function wechatTime(row: Row, name: string): LocalTime & { instant: string } {
  const text = row.text(name);
  const time = readLocalTime(text.replaceAll('：', ':'));
  if (time === null) throw row.refusal('BAD_TIME', name, `${shown(text)} is no time.`);
  return { ...time, instant: atOffset(time, china) };
}

/** A count, which the summary may print as "20.0". */
export function wechatCount(row: Row, name: string): bigint {
  return row.requiredAmount(name, 0);
}

/** What is left of the file: header, rows, header of the summary, its values, nothing more. */
export type Part = 'HEADER' | 'ROWS' | 'SUMMARY' | 'BEHIND';

export function behindSummary(record: TextRecord): StatementRefusal {
  return new StatementRefusal('BAD_RECORD', 'There is a row behind the summary.', record.line, 1);
}
