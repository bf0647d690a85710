import type { NegativeMark } from './amounts.js';
import type { Encoding } from './encoding.js';
import type { LineKind } from './statement.js';

/** How a table that no format here knows is to be read; `statements.profiles.NAME` in the config. */
export interface CsvProfile {
  /** Unless a byte-order mark says another, or all of the file is UTF-8. */
  readonly encoding: Encoding;
  readonly separator: ',' | ';' | '\t' | '|';
  readonly quotes: 'strict' | 'lenient' | 'none';
  /** Physical lines before the header. */
  readonly preambleLines: number;
  /** The row behind the last one; null: the file ends with its rows. */
  readonly footer: {
    /** What its first field begins with. */
    readonly starts: string;
    /** Whether it holds sums, each in the column whose sum it is. */
    readonly totals: boolean;
    /** Rows that may follow it: time of export and the like. */
    readonly linesBehind: number;
  } | null;
  readonly decimals: {
    readonly point: '.' | ',';
    readonly groups: readonly string[];
    readonly negative: readonly NegativeMark[];
    readonly symbols: readonly string[];
  };
  readonly dates: 'YMD' | 'DMY' | 'MDY';
  readonly timeZone: string | null;
  readonly currency: string | null;
  readonly columns: CsvColumns;
  readonly sign: CsvSign;
  /** A fee that costs us is written with this sign. */
  readonly feeCost: 'positive' | 'negative';
  /** Kinds by the words of the column `type`; a word that is not here is refused. Null: by direction alone. */
  readonly types: Readonly<Record<string, LineKind>> | null;
  readonly kinds: { readonly credit: LineKind; readonly debit: LineKind };
  /** Rows by the words of the column `status`: money that moved, and rows that are passed over. */
  readonly statuses: { readonly done: readonly string[]; readonly ignored: readonly string[] } | null;
}

export interface CsvColumns {
  readonly date: string;
  /** Of the time, where it is not behind the date. */
  readonly time: string | null;
  readonly amount: string | null;
  readonly credit: string | null;
  readonly debit: string | null;
  readonly direction: string | null;
  readonly fee: string | null;
  readonly net: string | null;
  readonly balance: string | null;
  readonly currency: string | null;
  readonly type: string | null;
  readonly status: string | null;
  readonly ourReference: string | null;
  readonly channelReference: string | null;
  readonly otherReferences: readonly string[];
  /** What together no other row has; none: the file has no such numbers. */
  readonly key: readonly string[];
}

/** How a row says whether money comes in. */
export type CsvSign =
  | { readonly by: 'sign'; readonly credit: 'positive' | 'negative' }
  | { readonly by: 'columns' }
  | { readonly by: 'words'; readonly credit: readonly string[]; readonly debit: readonly string[] };
