import type { RowFault } from './importProblems.js';

/** The columns a kind of file has: all of the required ones, in any order. */
export interface ColumnNames {
  required: readonly string[];
  optional: readonly string[];
}

/** One row: its values in the order of `ColumnNames` (null: an absent optional one), or why it has none. */
export type FileRecord =
  | { line: number; values: readonly (string | null)[]; fault?: never }
  | { line: number; fault: RowFault; values?: never };

export interface RecordReader {
  /** The records that end in this chunk. */
  read(chunk: Buffer): Promise<FileRecord[]>;
  /** The record that ended with the file. */
  end(): Promise<FileRecord[]>;
}
