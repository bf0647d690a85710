/**
 * Every error a user can meet, with its exit code. A code is a promise: never renamed, never reused.
 * The numbers follow sysexits(3) where one fits (75 = EX_TEMPFAIL) and 128 + signal for interruptions.
 */
export const exitCodes = {
  OK: 0,
  INTERNAL: 1,
  USAGE: 2,
  PARTIAL: 3,
  INTEGRITY: 4,
  PRECONDITION: 5,
  NOTHING_DUE: 10,
  LOCKED: 11,
  DEADLINE: 12,
  TEMPFAIL: 75,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

export type ExitName = keyof typeof exitCodes;

export const errorCatalogue = {
  INTERNAL: 'INTERNAL',
  DATABASE_STATEMENT_REFUSED: 'INTERNAL',

  USAGE: 'USAGE',
  CONFIG_UNREADABLE: 'USAGE',
  CONFIG_INVALID: 'USAGE',
  DATABASE_URL_INVALID: 'USAGE',
  DATABASE_ACCESS_DENIED: 'USAGE',
  DATABASE_UNKNOWN: 'USAGE',
  DATABASE_NOT_WRITABLE: 'USAGE',
  DATABASE_NOT_A_DATABASE: 'USAGE',
  DATABASE_UNSUPPORTED: 'USAGE',
  DATABASE_TRIGGERS_DENIED: 'USAGE',
  DATABASE_POOL_TOO_SMALL: 'USAGE',
  FILE_NOT_FOUND: 'USAGE',
  FILE_IS_DIRECTORY: 'USAGE',
  FILE_UNREADABLE: 'USAGE',
  FILE_NOT_WRITABLE: 'USAGE',
  FILE_REFUSED: 'USAGE',
  FILE_CHANGED: 'USAGE',
  NOT_FOUND: 'USAGE',
  SOURCE_INVALID: 'USAGE',
  SOURCE_NOT_OURS: 'USAGE',

  SCHEMA_PENDING: 'PRECONDITION',
  SCHEMA_NEWER: 'PRECONDITION',
  MIGRATION_INTERRUPTED: 'PRECONDITION',
  EARLIER_DAY_OPEN: 'PRECONDITION',
  CHART_CONTRADICTS_BOOKS: 'PRECONDITION',
  ACCOUNT_NOT_ACTIVE: 'PRECONDITION',
  ORDER_NOT_INIT: 'PRECONDITION',
  ENTRY_NOT_REVERSIBLE: 'PRECONDITION',
  CONFIRMATION_NEEDED: 'PRECONDITION',
  PAYOUT_NOT_MANUAL: 'PRECONDITION',
  PAYOUT_KEY_EXPIRED: 'PRECONDITION',
  SECOND_PERSON_NEEDED: 'PRECONDITION',
  DEPOSIT_NOT_APPROVABLE: 'PRECONDITION',
  DEPOSIT_NOT_APPROVED: 'PRECONDITION',
  DEPOSIT_FINGERPRINT_DIFFERS: 'PRECONDITION',
  DISCREPANCY_CLOSED: 'PRECONDITION',
  ADJUSTMENT_NOT_POSSIBLE: 'PRECONDITION',
  SOURCE_ROW_REFUSED: 'PRECONDITION',

  BATCH_LOCKED: 'LOCKED',
  STATEMENT_LOCKED: 'LOCKED',

  DATABASE_UNREACHABLE: 'TEMPFAIL',
  DATABASE_TIMEOUT: 'TEMPFAIL',
  DATABASE_CONTENTION: 'TEMPFAIL',
  DISK_FULL: 'TEMPFAIL',
  CHANNEL_UNREACHABLE: 'TEMPFAIL',
  SINK_UNREACHABLE: 'TEMPFAIL',
  CHAIN_UNREACHABLE: 'TEMPFAIL',

  JOURNAL_ENTRY_UNBALANCED: 'INTEGRITY',
  JOURNAL_ENTRY_TOO_SHORT: 'INTEGRITY',
  LEDGER_AMOUNT_NOT_POSITIVE: 'INTEGRITY',
  NET_DIFFERS_FROM_ORDERS: 'INTEGRITY',
  AMOUNT_OUT_OF_RANGE: 'INTEGRITY',
  ORDER_TWICE_IN_CHUNK: 'INTEGRITY',
  MESSAGE_UNREADABLE: 'INTEGRITY',
  STATE_MOVE_FORBIDDEN: 'INTEGRITY',
  POSTED_ORDERS_DIFFER: 'INTEGRITY',
  WATERMARK_WENT_BACK: 'INTEGRITY',
  VALUE_NOT_EXACT: 'INTEGRITY',
  DATABASE_CHANGES_VALUES: 'INTEGRITY',
  CHECK_FAILED: 'INTEGRITY',
  PAYMENT_FILE_DIFFERS: 'INTEGRITY',
} as const satisfies Record<string, ExitName>;

export type ErrorCode = keyof typeof errorCatalogue;

/** What helps where nothing more exact is known. */
const usualNext: Partial<Record<ExitName, string>> = {
  INTERNAL: 'settle status shows where the day is; what was committed stands.',
  USAGE: 'settle --help lists commands and flags.',
  PRECONDITION: 'settle status',
  INTEGRITY: 'settle verify',
  LOCKED: 'settle lock show',
  TEMPFAIL: 'What was committed stands. Type the same command again.',
};

export interface ErrorAdvice {
  /** What to type or change next; printed below the message. */
  next?: string;
  /** Values that help the reader: setting, file, line, account. Never a secret. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

/** An expected kind of trouble: code, sentence, what to do next. Anything else that is thrown is a bug (INTERNAL). */
export class SettleError extends Error {
  override readonly name = 'SettleError';
  readonly next: string;
  readonly details: Record<string, unknown>;

  constructor(
    readonly code: ErrorCode,
    message: string,
    advice: ErrorAdvice = {},
  ) {
    super(message, advice.cause === undefined ? undefined : { cause: advice.cause });
    this.next = advice.next ?? usualNext[errorCatalogue[code]] ?? 'settle status';
    this.details = advice.details ?? {};
  }

  get exitCode(): number {
    return exitCodes[errorCatalogue[this.code]];
  }
}
