import { oneOf, refuse, type Vocabulary } from './vocabulary.js';

const states = ['INIT', 'PROCESSING', 'UNKNOWN', 'MANUAL', 'SUCCESS', 'FAILED'];
const appendOnly = ['payout_move', 'payout_review'];
const events = ['update', 'delete'] as const;

/** Where accounts are paid out to, what is paid out, and every move of it. */
export function up(v: Vocabulary): string[] {
  return [
    // The newest version counts. A currency of '' is any that has no beneficiary of its own.
    `create table beneficiary (
      account_no ${v.id} not null,
      currency ${v.currency} not null,
      version ${v.int} not null,
      channel ${v.id},
      destination ${v.text} not null,
      holder ${v.text} not null,
      imported_at ${v.moment} not null,
      primary key (account_no, currency, version)
    ) ${v.end}`,

    // How far the payouts of a closed day are planned: accounts up to after_account; done_at once all are.
    `create table payout_plan (
      batch_day ${v.day} not null primary key,
      after_account ${v.id} not null,
      payouts ${v.big} not null,
      below_minimum ${v.big} not null,
      started_at ${v.moment} not null,
      done_at ${v.moment}
    ) ${v.end}`,

    // What is payable and not planned, for a reason that may pass: decided again by each payout run until another day closes.
    `create table payout_carried (
      batch_day ${v.day} not null,
      account_no ${v.id} not null,
      currency ${v.currency} not null,
      amount_minor ${v.minor} not null,
      reason ${v.code} not null,
      primary key (batch_day, account_no, currency),
      constraint payout_carried_reason check (${oneOf('reason', ['ON_HOLD', 'NOT_ACTIVE', 'WITHOUT_BENEFICIARY'])})
    ) ${v.end}`,

    // next_ms: of an UNKNOWN payout when to ask about it; of one in PROCESSING until when its submitter has it, or null
    // while nobody has. Days of the books: submitted_on holds the amount back, returned_on gives it back.
    `create table payout (
      id ${v.autoId},
      batch_day ${v.day} not null,
      account_no ${v.id} not null,
      currency ${v.currency} not null,
      seq ${v.int} not null,
      amount_minor ${v.minor} not null,
      channel ${v.id} not null,
      destination ${v.text} not null,
      holder ${v.text} not null,
      due_day ${v.day} not null,
      idempotency_key ${v.code} not null,
      state ${v.code} not null default 'INIT',
      version ${v.int} not null default 0,
      attempts ${v.int} not null default 0,
      check_count ${v.int} not null default 0,
      fruitless ${v.int} not null default 0,
      next_ms ${v.big},
      first_sent_ms ${v.big},
      last_sent_ms ${v.big},
      submitted_on ${v.day},
      returned_on ${v.day},
      channel_reference ${v.text},
      last_code ${v.code},
      held_code ${v.code},
      created_at ${v.moment} not null,
      finished_at ${v.moment},
      constraint payout_once unique (batch_day, account_no, currency, seq),
      constraint payout_key unique (idempotency_key),
      constraint payout_state check (${oneOf('state', states)}),
      constraint payout_amount check (amount_minor > 0 and seq >= 1),
      constraint payout_submitted check ((state = 'INIT') = (submitted_on is null)),
      constraint payout_returned check ((state = 'FAILED') = (returned_on is not null)),
      constraint payout_finished check ((state in ('SUCCESS', 'FAILED')) = (finished_at is not null)),
      constraint payout_asked check (state <> 'UNKNOWN' or next_ms is not null),
      constraint payout_held check (held_code is null or state = 'INIT')
    ) ${v.end}`,
    `create index payout_due on payout (channel, state, due_day, id)`,
    `create index payout_next on payout (channel, state, next_ms)`,
    `create index payout_account on payout (account_no, submitted_on)`,

    // Every move, and every answer that moved nothing, in the order in which they were heard of.
    `create table payout_move (
      id ${v.autoId},
      payout_id ${v.big} not null,
      at ${v.moment} not null,
      actor ${v.text} not null,
      event ${v.code} not null,
      from_state ${v.code} not null,
      to_state ${v.code} not null,
      attempt ${v.int} not null,
      code ${v.code} not null,
      channel_reference ${v.text},
      response_digest ${v.digest},
      reason ${v.text},
      constraint payout_move_from check (${oneOf('from_state', states)}),
      constraint payout_move_to check (${oneOf('to_state', states)})
    ) ${v.end}`,
    `create index payout_move_payout on payout_move (payout_id, id)`,

    // What people decided; a second person's record confirms the one that it names.
    `create table payout_review (
      id ${v.autoId},
      payout_id ${v.big} not null,
      decision ${v.code} not null,
      by_name ${v.text} not null,
      reason ${v.text} not null,
      at ${v.moment} not null,
      payout_version ${v.int} not null,
      confirms ${v.big},
      constraint payout_review_decision check (${oneOf('decision', ['APPROVE', 'REJECT', 'RETRY'])}),
      constraint payout_review_confirmed_once unique (confirms)
    ) ${v.end}`,
    `create index payout_review_payout on payout_review (payout_id, id)`,
    ...appendOnly.flatMap((table) => events.map((event) => refuse(v, event, table))),

    // When the next request to a channel may leave, whichever process sends it.
    `create table channel_pace (
      channel ${v.id} not null primary key,
      claims ${v.big} not null,
      next_us ${v.big} not null
    ) ${v.end}`,

    // Files in which payouts go to a bank. Whoever writes one has it until lease_ms, under a turn of their own; the file
    // that was prepared in prepared_turn, and has digest, is the one that is published, once.
    `create table payment_file (
      channel ${v.id} not null,
      file_no ${v.int} not null,
      message_id ${v.code} not null,
      file_name ${v.text} not null,
      header ${v.text} not null,
      payments ${v.int} not null,
      turn ${v.int} not null,
      lease_ms ${v.big} not null,
      prepared_turn ${v.int},
      digest ${v.digest},
      created_at ${v.moment} not null,
      written_at ${v.moment},
      primary key (channel, file_no),
      constraint payment_file_message unique (message_id),
      constraint payment_file_prepared check ((prepared_turn is null) = (digest is null)),
      constraint payment_file_written check (written_at is null or prepared_turn is not null)
    ) ${v.end}`,
    // A payout is in one file for good: a bank does not know keys.
    `create table payment_file_entry (
      payout_id ${v.big} not null primary key,
      channel ${v.id} not null,
      file_no ${v.int} not null,
      constraint payment_file_entry_once unique (channel, file_no, payout_id)
    ) ${v.end}`,

    // Status reports of banks that were taken, so that the same one again changes nothing.
    `create table payment_answer_file (
      channel ${v.id} not null,
      digest ${v.digest} not null,
      message_id ${v.code} not null,
      original_message_id ${v.code} not null,
      answers ${v.int} not null,
      imported_at ${v.moment} not null,
      primary key (channel, digest)
    ) ${v.end}`,
  ];
}

export function down(): string[] {
  return [
    ...appendOnly.flatMap((table) => events.map((event) => `drop trigger if exists ${table}_no_${event}`)),
    ...['payment_answer_file', 'payment_file_entry', 'payment_file'].map((table) => `drop table if exists ${table}`),
    ...['channel_pace', 'payout_review', 'payout_move', 'payout', 'payout_carried', 'payout_plan', 'beneficiary'].map(
      (table) => `drop table if exists ${table}`,
    ),
  ];
}
