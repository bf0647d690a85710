import type { Chart } from './chart.js';
import { countText, printable } from './words.js';

/** A table of finished texts; the template escapes them. */
export interface HtmlTable {
  caption: string;
  /** A column that wraps holds sentences; the others stay on one line. */
  columns: { title: string; align?: 'right'; wraps?: true }[];
  /** Titles above several columns each; the first column has none. */
  groups?: { title: string; span: number }[];
  rows: string[][];
  /** The last row is a result: it stands apart. */
  hasSum?: boolean;
  /** Few short columns: not drawn wider than a chart. */
  isNarrow?: boolean;
  note?: string;
}

/** A table, with the charts that show it. */
export interface HtmlBlock {
  table: HtmlTable;
  charts?: Chart[];
}

export interface HtmlSection {
  title: string;
  text?: string;
  /** What a person has to do, each with what to type. */
  needs?: { text: string; command: string }[];
  blocks: HtmlBlock[];
  /** Narrow tables stand next to one another where there is room. */
  sideBySide?: true;
}

/** A column of numbers or amounts. */
export const right = (title: string) => ({ title, align: 'right' as const });

/** Tables without charts; those without rows are left out. */
export function blocksOf(...tables: HtmlTable[]): HtmlBlock[] {
  return tables.filter(({ rows }) => rows.length > 0).map((table) => ({ table }));
}

const rowsMax = 100;

/** A long list cut, which it says; every cell is made printable. */
export function cut(table: HtmlTable): HtmlTable {
  const rows = table.rows.slice(0, rowsMax).map((row) => row.map(printable));
  const left = table.rows.length - rows.length;
  return left === 0 ? { ...table, rows } : { ...table, rows, note: `${countText(left)} more; the JSON form has all.` };
}

const months = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

/** "29 November 2026", or "November 2026" for a month: the same on every machine, which Intl does not promise. */
export function dateInWords(date: string): string {
  const [year = '', month = '1', day] = date.split('-');
  const named = `${months[Number(month) - 1] ?? month} ${year}`;
  return day === undefined ? named : `${String(Number(day))} ${named}`;
}
