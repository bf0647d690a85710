import type { BatchDay } from './batchDay.js';
import type { OrderState, OrderType } from './states.js';

/** A value as a column holds it: text, or a whole number. */
export type SourceValue = string | number;

/** Names of columns. What a table has no column for is null. */
export interface SourceColumns {
  readonly id: string;
  readonly orderNo: string;
  readonly accountNo: string;
  /** The batch day, or with `instants` the instant that tells it. */
  readonly day: string;
  readonly type: string | null;
  readonly amount: string;
  readonly currency: string | null;
  readonly channel: string | null;
  readonly state: string;
  readonly version: string | null;
  readonly reversalOf: string | null;
  readonly finishedAt: string | null;
  readonly cancelCode: string | null;
  /** Which chunk has claimed the order. Without columns for it, the table `claimed_order` says so. */
  readonly runId: string | null;
  readonly chunkNo: string | null;
}

/** How a table without a batch day tells it. Days follow each other without a gap, so that every instant is of one. */
export interface SourceInstants {
  /** The day's instants, from the first (included) to the second (excluded), as the column spells them. */
  bounds(day: BatchDay): readonly [SourceValue, SourceValue];
  /** The day of an instant as the database gives it. */
  dayOf(value: unknown): BatchDay;
  /** The zone of a date and time. */
  readonly timeZone: string;
}

/** Rows belong to the table of orders only where the column is (or is not) one of these values. */
export interface SourceCondition {
  readonly column: string;
  readonly values: readonly SourceValue[];
  readonly not: boolean;
}

/**
 * Which table holds the orders, and how it says what we need to know of them: the table that Settle makes, or one that a
 * company has. Everything that reads or moves orders goes through it.
 */
export interface OrderSource {
  /** The table that Settle makes, and that its imports write. Its constraints hold what else has to be looked at. */
  readonly own: boolean;
  /** Null: that of our own tables. */
  readonly schema: string | null;
  readonly table: string;
  readonly columns: SourceColumns;
  /** What holds of every order, where no column tells it. */
  readonly always: {
    readonly type: OrderType | null;
    readonly currency: string | null;
    readonly channel: string | null;
  };
  /** Each state as the column spells it; of several spellings the first is the one that is written. */
  readonly states: Readonly<Record<OrderState, readonly SourceValue[]>>;
  readonly types: Readonly<Record<OrderType, readonly SourceValue[]>>;
  /** MAJOR: decimals such as 12.50. `signed`: the amount is what the order does to its account, so that a refund is negative. */
  readonly amount: { readonly unit: 'MINOR' | 'MAJOR'; readonly signed: boolean };
  readonly instants: SourceInstants | null;
  /** A moment of ours (RFC 3339, UTC) as the column of `finishedAt` spells it; null: as our own tables do. */
  readonly moment: ((instant: string) => SourceValue) | null;
  readonly where: readonly SourceCondition[];
  /** Columns that are as in the table that Settle makes: of its type and collation, and never null. Others are made so when they are read. */
  readonly exact: ReadonlySet<string>;
  /** Accounts that orders name are registered when a run first meets them. */
  readonly registersAccounts: boolean;
}

/** The table that the migrations make. */
export const ownOrders: OrderSource = {
  own: true,
  schema: null,
  table: 'settlement_order',
  columns: {
    id: 'id',
    orderNo: 'order_no',
    accountNo: 'account_no',
    day: 'batch_day',
    type: 'type',
    amount: 'amount_minor',
    currency: 'currency',
    channel: 'channel',
    state: 'state',
    version: 'version',
    reversalOf: 'reversal_of',
    finishedAt: 'finished_at',
    cancelCode: 'cancel_code',
    runId: 'run_id',
    chunkNo: 'chunk_no',
  },
  always: { type: null, currency: null, channel: null },
  states: {
    INIT: ['INIT'],
    PROCESSING: ['PROCESSING'],
    SUCCESS: ['SUCCESS'],
    FAILED: ['FAILED'],
    CANCELED: ['CANCELED'],
  },
  types: { PAYMENT: ['PAYMENT'], REFUND: ['REFUND'], FEE: ['FEE'], ADJUSTMENT: ['ADJUSTMENT'] },
  amount: { unit: 'MINOR', signed: false },
  instants: null,
  moment: null,
  where: [],
  exact: new Set(['account_no', 'type', 'amount_minor', 'currency', 'channel', 'state', 'reversal_of']),
  registersAccounts: false,
};

/** "shop.t_order" */
export function sourceName({ schema, table }: Pick<OrderSource, 'schema' | 'table'>): string {
  return schema === null ? table : `${schema}.${table}`;
}
