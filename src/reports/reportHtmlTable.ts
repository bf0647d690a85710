/** A table of finished texts; the template escapes them. */
export interface HtmlTable {
  caption: string;
  /** A column that wraps holds sentences; the others stay on one line. */
  columns: { title: string; align?: 'right'; wraps?: true }[];
  /** Titles above several columns each; the first column has none. */
  groups?: { title: string; span: number }[];
  rows: string[][];
  note?: string;
}

export interface HtmlSection {
  title: string;
  text?: string;
  tables: HtmlTable[];
  /** Narrow tables stand next to one another where there is room. */
  sideBySide?: true;
}

/** A column of numbers or amounts. */
export const right = (title: string) => ({ title, align: 'right' as const });
