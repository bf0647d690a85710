/** Why one row was not stored; the others of its file are. */
export type RowFaultCode =
  | 'BAD_FIELD_COUNT'
  | 'BAD_JSON'
  | 'DUPLICATE_KEY'
  | 'NOT_TEXT'
  | 'BAD_ORDER_NO'
  | 'BAD_ACCOUNT_NO'
  | 'BAD_BATCH_DAY'
  | 'BAD_TYPE'
  | 'UNKNOWN_CURRENCY'
  | 'BAD_AMOUNT'
  | 'TOO_MANY_DECIMALS'
  | 'AMOUNT_OUT_OF_RANGE'
  | 'NEGATIVE_AMOUNT'
  | 'BAD_CHANNEL'
  | 'BAD_OCCURRED_AT'
  | 'BAD_REVERSAL_OF'
  | 'REVERSAL_UNKNOWN'
  | 'REVERSAL_DIFFERS'
  | 'REVERSAL_NOT_SETTLED'
  | 'REVERSAL_TOO_LARGE'
  | 'BAD_STATUS'
  | 'BAD_FEE_PLAN'
  | 'BAD_VALID_FROM'
  | 'BAD_BASIS_POINTS'
  | 'OVER_100_PERCENT'
  | 'BAD_TIERS'
  | 'BAD_YES_NO'
  | 'BAD_DAYS'
  | 'BAD_RESERVE'
  | 'BAD_MINIMUM_PAYOUT'
  | 'AMOUNT_NEEDS_CURRENCY'
  | 'MAXIMUM_BELOW_MINIMUM'
  | 'FEE_COULD_EXCEED_ORDER'
  | 'RULE_TWICE'
  | 'UNKNOWN_FEE_PLAN'
  | 'TERMS_OVERLAP'
  | 'TERMS_IN_USE'
  | 'BAD_DESTINATION'
  | 'BENEFICIARY_TWICE'
  | 'BAD_INSTANT'
  | 'order-invalid'
  | 'address-checksum-invalid'
  | 'amount-raw-invalid'
  | 'transaction-hash-invalid'
  | 'chain-not-configured'
  | 'token-not-allowed'
  | 'DUPLICATE_CONFLICT';

export interface RowFault {
  code: RowFaultCode;
  /** Names the field and shows the value. */
  message: string;
}

/** A fault with the physical line on which its row starts. */
export interface RejectedRow extends RowFault {
  line: number;
}

/** Why a whole file was not taken. */
export type FileRefusalCode =
  | 'MISSING_COLUMN'
  | 'UNKNOWN_COLUMN'
  | 'DUPLICATE_COLUMN'
  | 'NOT_UTF8'
  | 'BROKEN_QUOTE'
  | 'RECORD_TOO_LONG'
  | 'EMPTY_FILE'
  | 'TOO_MANY_ROWS'
  | 'ROWS_REFUSED'
  | 'BAD_XML'
  | 'NOT_A_REPORT'
  | 'UNKNOWN_PAYMENT'
  | 'UNKNOWN_STATUS'
  | 'CONTRADICTS_ITSELF'
  | 'FILE_CHANGED'
  | 'FILE_NOT_FOUND'
  | 'FILE_IS_DIRECTORY'
  | 'FILE_UNREADABLE';

/** Thrown while a file is read; ends this file and no other. */
export class FileRefusal extends Error {
  override readonly name = 'FileRefusal';
  constructor(
    readonly code: FileRefusalCode,
    message: string,
  ) {
    super(message);
  }
}
