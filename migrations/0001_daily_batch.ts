import { oneOf, type Vocabulary } from './vocabulary.js';

// State names are written out here and not imported: a migration is history and must not change when the code does.
// A test compares them with the state tables.

/** Why work is stopped; a row without such a reason has none (null). */
const cancellationCodes = [
  'SIGINT',
  'SIGTERM',
  'OPERATOR',
  'DEADLINE',
  'SHARD_TIMEOUT',
  'LEASE_LOST',
  'DATABASE_LOST',
  'DATABASE_CONTENTION',
  'DISK_FULL',
  'UPSTREAM_FAILED',
  'INTERNAL_ERROR',
];

/** Orders, accounts, batches and runs, chunks and nets, the outbox, and the double-entry ledger. */
export function up(v: Vocabulary): string[] {
  return [
    `create table account (
      account_no ${v.id} not null primary key,
      state ${v.code} not null,
      registered_at ${v.moment} not null,
      changed_at ${v.moment} not null,
      constraint account_state check (${oneOf('state', ['ACTIVE', 'FROZEN', 'CLOSED'])})
    ) ${v.end}`,

    `create table settlement_order (
      id ${v.autoId},
      order_no ${v.id} not null,
      account_no ${v.id} not null,
      batch_day ${v.day} not null,
      type ${v.code} not null,
      amount_minor ${v.minor} not null,
      currency ${v.currency} not null,
      channel ${v.id} not null,
      occurred_at ${v.instant} not null,
      reversal_of ${v.id},
      state ${v.code} not null default 'INIT',
      version ${v.int} not null default 0,
      run_id ${v.big},
      chunk_no ${v.int},
      finished_at ${v.moment},
      cancel_code ${v.code},
      constraint settlement_order_no unique (order_no),
      constraint settlement_order_type check (${oneOf('type', ['PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'])}),
      constraint settlement_order_sign check (
        type = 'ADJUSTMENT' or reversal_of is not null or amount_minor >= 0),
      constraint settlement_order_state check (${oneOf('state', ['INIT', 'PROCESSING', 'SUCCESS', 'FAILED', 'CANCELED'])}),
      constraint settlement_order_chunk check (
        (state = 'INIT' and run_id is null and chunk_no is null)
        or (state in ('PROCESSING', 'SUCCESS') and run_id is not null and chunk_no is not null)
        or state in ('FAILED', 'CANCELED')),
      constraint settlement_order_finished check (
        (state in ('SUCCESS', 'FAILED', 'CANCELED')) = (finished_at is not null)),
      constraint settlement_order_cancel check ((state in ('FAILED', 'CANCELED')) = (cancel_code is not null))
    ) ${v.end}`,
    // The page of the watermark: one day, in the order of ids.
    `create index settlement_order_day on settlement_order (batch_day, id)`,
    // What has been reversed of an order.
    `create index settlement_order_reversal on settlement_order (reversal_of)${v.unlessNull('reversal_of')}`,

    `create table batch (
      batch_day ${v.day} not null primary key,
      state ${v.code} not null,
      cut_off ${v.moment} not null,
      top_id ${v.big} not null,
      orders_at_close ${v.big},
      opened_at ${v.moment} not null,
      closed_at ${v.moment},
      version ${v.int} not null default 0,
      constraint batch_state check (${oneOf('state', ['OPEN', 'SETTLING', 'POSTING', 'RECONCILING', 'CLOSED'])}),
      constraint batch_closed check ((state = 'CLOSED') = (closed_at is not null)),
      constraint batch_counted check ((state = 'CLOSED') = (orders_at_close is not null))
    ) ${v.end}`,

    `create table source_total (
      batch_day ${v.day} not null,
      currency ${v.currency} not null,
      type ${v.code} not null,
      orders ${v.big} not null,
      amount_minor ${v.wide} not null,
      primary key (batch_day, currency, type)
    ) ${v.end}`,

    `create table run (
      id ${v.autoId},
      batch_day ${v.day} not null,
      kind ${v.code} not null,
      state ${v.code} not null,
      shard_no ${v.int},
      shards ${v.int},
      fencing_no ${v.big} not null,
      owner ${v.text} not null,
      reason ${v.text},
      from_id ${v.big} not null,
      reached_id ${v.big} not null,
      top_id ${v.big} not null,
      stage ${v.code} not null,
      orders_total ${v.big} not null default 0,
      orders_read ${v.big} not null default 0,
      orders_claimed ${v.big} not null default 0,
      orders_posted ${v.big} not null default 0,
      started_at ${v.moment} not null,
      heartbeat_at ${v.moment} not null,
      finished_at ${v.moment},
      cancel_code ${v.code},
      cancel_detail ${v.text},
      cancel_stage ${v.code},
      exit_code ${v.int},
      error_code ${v.code},
      document ${v.text},
      constraint run_kind check (${oneOf('kind', ['RUN', 'RESUME', 'RERUN'])}),
      constraint run_state check (${oneOf('state', ['RUNNING', 'OK', 'PARTIAL', 'INTEGRITY', 'INTERRUPTED', 'ABANDONED'])}),
      constraint run_shard check (
        (shard_no is null and shards is null) or (shard_no >= 1 and shard_no <= shards and shards is not null)),
      constraint run_finished check ((state = 'RUNNING') = (finished_at is null)),
      constraint run_cancelled check (state <> 'INTERRUPTED' or cancel_code is not null),
      constraint run_cancel_code check (${oneOf('cancel_code', cancellationCodes)})
    ) ${v.end}`,
    `create index run_day on run (batch_day, id)`,

    `create table cancelled_shard (
      run_id ${v.big} not null,
      shard_no ${v.int} not null,
      batch_day ${v.day} not null,
      stage ${v.code} not null,
      lane ${v.code} not null,
      accounts ${v.int} not null,
      first_account_no ${v.id} not null,
      orders ${v.big} not null,
      cancel_code ${v.code} not null,
      cancel_detail ${v.text} not null,
      noticed_at ${v.moment} not null,
      primary key (run_id, shard_no),
      constraint cancelled_shard_code check (${oneOf('cancel_code', cancellationCodes)})
    ) ${v.end}`,

    `create table lease (
      job ${v.code} not null primary key,
      fencing_no ${v.big} not null,
      owner ${v.text},
      acquired_ms ${v.big},
      heartbeat_ms ${v.big},
      expires_ms ${v.big}
    ) ${v.end}`,
    // The row of whole runs is always there: every fencing number, of a shard's lease too, is drawn from it.
    `insert into lease (job, fencing_no) values ('batch', 0)`,

    `create table chunk (
      run_id ${v.big} not null,
      chunk_no ${v.int} not null,
      batch_day ${v.day} not null,
      lane ${v.code} not null,
      first_id ${v.big} not null,
      last_id ${v.big} not null,
      orders ${v.int} not null,
      nets ${v.int} not null,
      committed_at ${v.moment} not null,
      primary key (run_id, chunk_no)
    ) ${v.end}`,
    `create index chunk_day on chunk (batch_day, run_id, chunk_no)`,

    `create table net (
      run_id ${v.big} not null,
      chunk_no ${v.int} not null,
      net_no ${v.int} not null,
      account_no ${v.id} not null,
      currency ${v.currency} not null,
      orders ${v.int} not null,
      amount_minor ${v.minor} not null,
      biz_no ${v.code} not null,
      primary key (run_id, chunk_no, net_no),
      constraint net_orders check (orders > 0)
    ) ${v.end}`,

    `create table outbox (
      id ${v.autoId},
      topic ${v.code} not null,
      biz_no ${v.code} not null,
      batch_day ${v.day} not null,
      account_no ${v.id},
      orders ${v.int} not null,
      payload ${v.text} not null,
      state ${v.code} not null default 'NEW',
      attempts ${v.int} not null default 0,
      last_error ${v.text},
      created_at ${v.moment} not null,
      sent_at ${v.moment},
      constraint outbox_biz_no unique (biz_no),
      constraint outbox_state check (${oneOf('state', ['NEW', 'SENT', 'PARKED'])}),
      constraint outbox_sent check ((state = 'SENT') = (sent_at is not null)),
      constraint outbox_parked check (state <> 'PARKED' or last_error is not null)
    ) ${v.end}`,
    `create index outbox_due on outbox (state, id)`,

    `create table ledger_account (
      code ${v.code} not null primary key,
      name ${v.text} not null,
      kind ${v.code} not null,
      sub_ledger ${v.code},
      constraint ledger_account_kind check (${oneOf('kind', ['ASSET', 'LIABILITY', 'EQUITY', 'INCOME', 'EXPENSE'])})
    ) ${v.end}`,
    `insert into ledger_account (code, name, kind, sub_ledger) values
      ('CHANNEL_RECEIVABLE', 'Channel receivable', 'ASSET', 'CHANNEL'),
      ('CHANNEL_CASH', 'Channel cash', 'ASSET', 'CHANNEL'),
      ('MERCHANT_PAYABLE', 'Merchant payable (control account)', 'LIABILITY', 'ACCOUNT'),
      ('RESERVE', 'Rolling reserve', 'LIABILITY', 'ACCOUNT'),
      ('PAYOUT_IN_TRANSIT', 'Payouts in transit', 'LIABILITY', 'ACCOUNT'),
      ('SUSPENSE', 'Suspense', 'LIABILITY', null),
      ('FEE_INCOME', 'Fee income', 'INCOME', null),
      ('ADJUSTMENTS', 'Adjustments', 'EXPENSE', null),
      ('ROUNDING', 'Rounding differences', 'EXPENSE', null)`,

    `create table journal_entry (
      id ${v.big} not null primary key,
      biz_no ${v.code} not null,
      type ${v.code} not null,
      batch_day ${v.day} not null,
      booking_day ${v.day} not null,
      run_id ${v.big},
      ledger_entries ${v.int} not null,
      posted_at ${v.moment} not null,
      digest ${v.digest},
      constraint journal_entry_biz_no unique (biz_no)
    ) ${v.end}`,
    `create index journal_entry_day on journal_entry (batch_day, id)`,
    `create index journal_entry_booking_day on journal_entry (booking_day, id)`,

    // One row, locked by whoever books otherwise than a run on its own day: that is booked on booking_day. It is after
    // every day whose batch was opened; null while there is none. Nothing is booked on a day up to closed_through.
    `create table ledger_period (
      id ${v.int} not null primary key,
      booking_day ${v.day},
      closed_through ${v.day},
      version ${v.big} not null default 0,
      constraint ledger_period_one check (id = 1),
      constraint ledger_period_days check (closed_through is null or booking_day > closed_through)
    ) ${v.end}`,
    `insert into ledger_period (id) values (1)`,

    `create table ledger_entry (
      journal_entry_id ${v.big} not null,
      line_no ${v.int} not null,
      ledger_account ${v.code} not null,
      sub_account ${v.id} not null,
      side ${v.code} not null,
      amount_minor ${v.minor} not null,
      currency ${v.currency} not null,
      primary key (journal_entry_id, line_no),
      constraint ledger_entry_side check (${oneOf('side', ['DEBIT', 'CREDIT'])}),
      constraint ledger_entry_amount check (amount_minor > 0)
    ) ${v.end}`,

    `create table quarantine (
      id ${v.autoId},
      batch_day ${v.day} not null,
      account_no ${v.id} not null,
      code ${v.code} not null,
      detail ${v.text} not null,
      orders ${v.big} not null,
      run_id ${v.big} not null,
      since ${v.moment} not null,
      active ${v.int},
      released_at ${v.moment},
      released_by ${v.text},
      release_reason ${v.text},
      retried_run_id ${v.big},
      constraint quarantine_once unique (batch_day, account_no, active),
      constraint quarantine_code check (${oneOf('code', ['ACCOUNT_UNKNOWN', 'ACCOUNT_FROZEN', 'ACCOUNT_CLOSED', 'DATABASE_REFUSED', 'REVERSAL_REFUSED', 'TERMS_NOT_APPLICABLE'])}),
      constraint quarantine_active check (active is null or active = 1),
      constraint quarantine_released check ((active is null) = (released_at is not null))
    ) ${v.end}`,

    `create table withdrawn_order (
      order_id ${v.big} not null primary key,
      run_id ${v.big} not null,
      batch_day ${v.day} not null,
      order_no ${v.id} not null,
      found_state ${v.code} not null,
      noticed_at ${v.moment} not null
    ) ${v.end}`,

    `create table operator_action (
      id ${v.autoId},
      at ${v.moment} not null,
      action ${v.code} not null,
      subject ${v.text} not null,
      by_name ${v.text} not null,
      reason ${v.text} not null
    ) ${v.end}`,
  ];
}

export function down(): string[] {
  return [
    'operator_action',
    'withdrawn_order',
    'quarantine',
    'ledger_entry',
    'ledger_period',
    'journal_entry',
    'ledger_account',
    'outbox',
    'net',
    'chunk',
    'lease',
    'cancelled_shard',
    'run',
    'source_total',
    'batch',
    'settlement_order',
    'account',
  ].map((table) => `drop table if exists ${table}`);
}
