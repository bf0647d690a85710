import { addDays, isBatchDay, type BatchDay } from '../../kernel/batchDay.js';
import { shown } from '../../kernel/printable.js';
import { headText } from '../encoding.js';
import type { Dialect, TextRecord } from '../records.js';
import { StatementRefusal } from '../refusal.js';
import type { StatementEvent, StatementHead } from '../statement.js';
import { atOffset, china, isClock, readLocalTime, type LocalTime } from '../times.js';
import { head } from './line.js';
import { truncated, type Problems, type Reading } from './reading.js';
import { Columns, Row } from './table.js';

// Bills of Alipay are a table between lines that begin with "#": title, account, days, start of the list, header, rows, end
// of the list, totals, time of export.

/** Nothing is quoted; a quote in a goods name is itself. */
export const alipayDialect: Dialect = { separator: ',', quotes: 'lenient' };

/** Brackets of names are wide in some bills. */
const tidyName = (name: string): string => name.trim().replaceAll('（', '(').replaceAll('）', ')');
/** A tab follows numbers and short words, so that spreadsheets leave them alone. */
const tidyValue = (value: string): string => value.trim();

export function alipayTitle(bytes: Buffer): string {
  return remark(headText(bytes, 'gb18030')?.split(/\r?\n/, 1)[0] ?? '');
}

/** The text of a line with "#"; spreadsheets put commas behind it. */
function remark(line: string): string {
  return line.trim().replace(/,+$/, '');
}

export interface AlipayBill {
  readonly title: string;
  /** In the lines that begin and end the list: 业务明细列表. */
  readonly list: string;
  readonly required: readonly string[];
  row(row: Row): Iterable<StatementEvent>;
  /** Makes of a line behind the list which total it states; false where it states none. */
  total(text: string): boolean;
  /** What is missing of the totals; null when all are there. */
  missing(): string | null;
  prove(): Iterable<StatementEvent>;
}

const exported = '导出时间';

export class AlipayReading implements Reading {
  private part: 'PREAMBLE' | 'HEADER' | 'ROWS' | 'TOTALS' | 'BEHIND' = 'PREAMBLE';
  private statement: Partial<StatementHead> = {};
  private columns: Columns | null = null;
  private line = 0;

  constructor(
    private readonly bill: AlipayBill,
    private readonly problems: Problems,
  ) {}

  *record(record: TextRecord): Generator<StatementEvent> {
    if (this.line === 0 && remark(record.raw) !== this.bill.title) {
      throw new StatementRefusal('NOT_A_STATEMENT', `The file does not begin with ${this.bill.title}.`, 1, 1);
    }
    this.line = record.line;
    const text = remark(record.raw);
    if (this.part === 'PREAMBLE' && text.startsWith('#')) this.preamble(text, record.line);
    else if (this.part === 'PREAMBLE' || this.part === 'HEADER') {
      this.columns = new Columns(record, alipayDialect, tidyName);
      this.columns.require(this.bill.required, record.line);
      this.part = 'ROWS';
      yield head(this.statement);
    } else if (this.part === 'ROWS') yield* this.row(record, text);
    else if (this.part === 'TOTALS' && text.startsWith('#')) this.totals(text);
    else throw new StatementRefusal('BAD_RECORD', 'There is a row behind the list.', record.line, 1);
  }

  *end(): Generator<StatementEvent> {
    if (this.part !== 'BEHIND')
      throw truncated('The lines behind the list are missing, with which a bill ends.', this.line);
    yield* this.bill.prove();
    yield* this.problems.rest();
    yield { kind: 'close' };
  }

  private *row(record: TextRecord, text: string): Generator<StatementEvent> {
    if (text.startsWith('#')) {
      if (!text.includes(`${this.bill.list}结束`)) {
        throw new StatementRefusal('BAD_RECORD', `${shown(text)} stands inside the list.`, record.line, 1);
      }
      this.part = 'TOTALS';
    } else if (this.columns !== null) {
      yield* this.bill.row(new Row(this.columns, record, alipayDialect, tidyValue));
    }
  }

  private preamble(text: string, line: number): void {
    const account = /^#账号：?:?\[?([^\]]+)\]?$/.exec(text);
    if (account !== null) this.statement = { ...this.statement, accountRef: account[1]?.trim() ?? null };
    if (text.startsWith('#起始日期')) this.statement = { ...this.statement, ...daysOf(text, line) };
    if (text.includes(this.bill.list)) this.part = 'HEADER';
  }

  private totals(text: string): void {
    if (text.startsWith(`#${exported}`)) {
      const missing = this.bill.missing();
      if (missing !== null) throw truncated(`The total ${missing} is missing.`, this.line);
      if (!/\]$/.test(text)) throw truncated('The time of export is cut.', this.line);
      this.part = 'BEHIND';
    } else if (!this.bill.total(text)) {
      throw new StatementRefusal('BAD_RECORD', `${shown(text)} is no total of this bill.`, this.line, 1);
    }
  }
}

/** The days of "#起始日期：[2026年11月29日 00:00:00]   终止日期：[2026年11月30日 00:00:00]": midnight is the end of a day. */
function daysOf(text: string, line: number): { fromDay: BatchDay; toDay: BatchDay } {
  const times = [...text.matchAll(/\[([0-9]{4})年([0-9]{2})月([0-9]{2})日 ([0-9:]{8})\]/g)];
  const [from, to] = times.map(([, year = '', month = '', day = '', clock = '']) => ({
    day: `${year}-${month}-${day}`,
    clock,
  }));
  if (
    from === undefined ||
    to === undefined ||
    ![from, to].every(({ day, clock }) => isBatchDay(day) && isClock(clock))
  ) {
    throw new StatementRefusal('BAD_DATE', `${shown(text)} does not name the days.`, line, 1);
  }
  return { fromDay: from.day, toDay: to.clock === '00:00:00' ? addDays(to.day, -1) : to.day };
}

/** "2026-11-29 10:00:00" in China. */
export function alipayTime(row: Row, name: string): LocalTime & { instant: string } {
  const text = row.text(name);
  const time = readLocalTime(text);
  if (time === null) throw row.refusal('BAD_TIME', name, `${shown(text)} is no time.`);
  return { ...time, instant: atOffset(time, china) };
}
