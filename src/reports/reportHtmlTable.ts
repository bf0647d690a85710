/** A table of finished texts; the template escapes them. */
export interface HtmlTable {
  caption: string;
  columns: { title: string; align?: 'right' }[];
  /** Titles above several columns each; the first column has none. */
  groups?: { title: string; span: number }[];
  rows: string[][];
  note?: string;
}

export interface HtmlSection {
  title: string;
  text?: string;
  tables: HtmlTable[];
}

/** A column of numbers or amounts. */
export const right = (title: string) => ({ title, align: 'right' as const });
