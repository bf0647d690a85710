/** Why a whole statement file was not taken. A code is a promise: never renamed, never reused. */
export type StatementRefusalCode =
  | 'EMPTY_FILE'
  | 'UNKNOWN_FORMAT'
  | 'NOT_A_STATEMENT'
  | 'BAD_ENCODING'
  | 'BROKEN_QUOTE'
  | 'BAD_XML'
  | 'BAD_ARCHIVE'
  | 'RECORD_TOO_LONG'
  | 'FILE_TOO_LARGE'
  | 'TRUNCATED'
  | 'MISSING_COLUMN'
  | 'DUPLICATE_COLUMN'
  | 'BAD_FIELD_COUNT'
  | 'BAD_RECORD'
  | 'BAD_AMOUNT'
  | 'TOO_MANY_DECIMALS'
  | 'AMOUNT_OUT_OF_RANGE'
  | 'UNKNOWN_CURRENCY'
  | 'BAD_DATE'
  | 'BAD_TIME'
  | 'BAD_DIRECTION'
  | 'UNKNOWN_TYPE'
  | 'MANGLED_ID'
  | 'TOTAL_DIFFERS'
  | 'COUNT_DIFFERS'
  | 'BALANCE_DIFFERS'
  | 'SEQUENCE_DIFFERS';

/** Thrown by a reader or the importer; nothing of the file is stored. */
export class StatementRefusal extends Error {
  override readonly name = 'StatementRefusal';
  constructor(
    readonly code: StatementRefusalCode,
    /** Names the field and shows the value. */
    message: string,
    /** Physical line from 1; null where the fault is of the file. */
    readonly line: number | null = null,
    /** Character of the line from 1, or null. */
    readonly column: number | null = null,
  ) {
    super(message);
  }
}
