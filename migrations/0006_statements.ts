import { oneOf, refuse, type Vocabulary } from './vocabulary.js';

const appendOnly = ['discrepancy_move', 'discrepancy_review'];
const events = ['update', 'delete'] as const;
const states = ['OPEN', 'RETRYING', 'MANUAL', 'RESOLVED', 'IGNORED'];
const classes = [
  ...['MISSING_OURS', 'MISSING_THEIRS', 'AMOUNT', 'CURRENCY', 'FEE', 'STATE', 'DUPLICATE'],
  ...['GAP', 'BALANCE', 'STATEMENT', 'BOOKS'],
];
const kinds = ['PAYMENT', 'REFUND', 'PAYOUT', 'RETURN', 'FEE', 'DISPUTE', 'TRANSFER', 'OTHER'];

/** Statements of channels, what their lines were matched with, and every difference that reconciliation finds. */
export function up(v: Vocabulary): string[] {
  return [...statements(v), ...matches(v), ...discrepancies(v)];
}

function statements(v: Vocabulary): string[] {
  return [
    // Nothing of a file counts while it is STAGED. staging: 1 while it is, so that a channel has one import at a time;
    // counted_digest: what the file is known by once it counts. Lines up to matched_to have been looked at.
    `create table statement_file (
      id ${v.autoId},
      channel ${v.id} not null,
      name ${v.text} not null,
      format ${v.code} not null,
      digest ${v.digest} not null,
      state ${v.code} not null,
      staging ${v.int},
      counted_digest ${v.digest},
      owner ${v.text} not null,
      alive_ms ${v.big} not null,
      staged_lines ${v.big} not null default 0,
      lines_new ${v.big} not null default 0,
      lines_known ${v.big} not null default 0,
      matched_to ${v.big} not null default 0,
      from_day ${v.day},
      to_day ${v.day},
      imported_at ${v.moment} not null,
      counted_at ${v.moment},
      constraint statement_file_staging unique (channel, staging),
      constraint statement_file_once unique (channel, counted_digest),
      constraint statement_file_state check (${oneOf('state', ['STAGED', 'BOOKED', 'FLAGGED'])}),
      constraint statement_file_staged check ((state = 'STAGED') = (staging is not null)),
      constraint statement_file_counted check ((state = 'STAGED') = (counted_digest is null)),
      constraint statement_file_matched check (matched_to <= staged_lines)
    ) ${v.end}`,

    `create table statement_head (
      file_id ${v.big} not null,
      statement_no ${v.int} not null,
      account_ref ${v.text},
      sequence_no ${v.big},
      sequence_page ${v.int},
      last_page ${v.int},
      from_day ${v.day},
      to_day ${v.day},
      intraday ${v.int} not null,
      primary key (file_id, statement_no)
    ) ${v.end}`,
    // effect_minor: what the lines of the statement make of its balance, those too that an earlier file brought.
    `create table statement_total (
      file_id ${v.big} not null,
      statement_no ${v.int} not null,
      currency ${v.currency} not null,
      line_count ${v.big} not null,
      credit_minor ${v.wide} not null,
      debit_minor ${v.wide} not null,
      fee_minor ${v.wide} not null,
      effect_minor ${v.wide} not null,
      opening_minor ${v.minor},
      closing_minor ${v.minor},
      primary key (file_id, statement_no, currency)
    ) ${v.end}`,
    `create table statement_problem (
      file_id ${v.big} not null,
      problem_no ${v.int} not null,
      code ${v.code} not null,
      message ${v.text} not null,
      line_no ${v.big},
      column_no ${v.big},
      primary key (file_id, problem_no)
    ) ${v.end}`,
    // line_key makes a line one and the same over all files of its channel. References that are no ids of ours are texts.
    `create table statement_line (
      file_id ${v.big} not null,
      seq ${v.big} not null,
      statement_no ${v.int} not null,
      line_no ${v.big} not null,
      line_key ${v.code} not null,
      kind ${v.code} not null,
      state ${v.code} not null,
      direction ${v.code} not null,
      currency ${v.currency} not null,
      amount_minor ${v.minor} not null,
      fee_minor ${v.minor},
      effect_minor ${v.minor} not null,
      our_reference ${v.id},
      channel_reference ${v.id},
      other_references ${v.text},
      channel_type ${v.text} not null,
      occurred_at ${v.instant},
      booked_day ${v.day} not null,
      batch_count ${v.int},
      batch_reference ${v.text},
      primary key (file_id, seq),
      constraint statement_line_once unique (line_key),
      constraint statement_line_kind check (${oneOf('kind', kinds)}),
      constraint statement_line_state check (${oneOf('state', ['DONE', 'FAILED'])}),
      constraint statement_line_direction check (${oneOf('direction', ['CREDIT', 'DEBIT'])}),
      constraint statement_line_amount check (amount_minor >= 0)
    ) ${v.end}`,
  ];
}

function matches(v: Vocabulary): string[] {
  const reference = v.engine === 'sqlite' ? 'channel_reference' : 'channel_reference(64)';
  return [
    `create index payout_reference on payout (channel, ${reference})`,
    `create index payout_sent on payout (channel, first_sent_ms, id)`,
    // Each line once, or once a part of a batch booking, and each row of ours once in each role.
    `create table statement_match (
      file_id ${v.big} not null,
      seq ${v.big} not null,
      part ${v.int} not null,
      ours ${v.code} not null,
      ours_id ${v.big} not null,
      role ${v.code} not null,
      verdict ${v.code} not null,
      matched_at ${v.moment} not null,
      primary key (file_id, seq, part),
      constraint statement_match_ours unique (ours, ours_id, role),
      constraint statement_match_side check (${oneOf('ours', ['PAYOUT', 'ORDER'])}),
      constraint statement_match_role check (${oneOf('role', ['MOVED', 'RETURNED', 'REFUSED'])}),
      constraint statement_match_verdict check (${oneOf('verdict', ['AGREES', 'AMOUNT', 'CURRENCY', 'FEE', 'STATE'])})
    ) ${v.end}`,
    // Lines that were looked at and have no match: looked for again, or a second line of what is matched.
    `create table statement_loose (
      file_id ${v.big} not null,
      seq ${v.big} not null,
      why ${v.code} not null,
      channel ${v.id} not null,
      since ${v.moment} not null,
      primary key (file_id, seq),
      constraint statement_loose_why check (${oneOf('why', ['NOT_FOUND', 'DUPLICATE'])})
    ) ${v.end}`,
    // Days on which everything of ours was looked for on the statements of a channel.
    `create table statement_sweep (
      channel ${v.id} not null,
      swept_day ${v.day} not null,
      swept_at ${v.moment} not null,
      primary key (channel, swept_day)
    ) ${v.end}`,
    `create index statement_loose_channel on statement_loose (channel, file_id, seq)`,
  ];
}

function discrepancies(v: Vocabulary): string[] {
  return [
    // identity: what makes the difference the same when it is found again. effect_minor: what an adjustment would book
    // to book_account and book_sub, debits less credits.
    `create table discrepancy (
      id ${v.autoId},
      identity ${v.digest} not null,
      scope ${v.code} not null,
      class ${v.code} not null,
      severity ${v.code} not null,
      state ${v.code} not null,
      version ${v.int} not null default 0,
      channel ${v.id},
      batch_day ${v.day} not null,
      item_key ${v.text} not null,
      currency ${v.currency},
      expected_minor ${v.wide},
      actual_minor ${v.wide},
      expected_text ${v.text},
      actual_text ${v.text},
      stake_minor ${v.wide} not null,
      effect_minor ${v.wide} not null,
      book_account ${v.code},
      book_sub ${v.id},
      file_id ${v.big},
      seq ${v.big},
      ours ${v.code},
      ours_id ${v.big},
      owner ${v.text},
      attempts ${v.int} not null default 0,
      next_ms ${v.big},
      first_seen ${v.moment} not null,
      last_seen ${v.moment} not null,
      closed_at ${v.moment},
      closed_by ${v.code},
      alerted_at ${v.moment},
      adjustment ${v.code},
      constraint discrepancy_identity unique (identity),
      constraint discrepancy_class check (${oneOf('class', classes)}),
      constraint discrepancy_severity check (${oneOf('severity', ['HIGH', 'MEDIUM', 'LOW'])}),
      constraint discrepancy_state check (${oneOf('state', states)}),
      constraint discrepancy_closed check ((state in ('RESOLVED', 'IGNORED')) = (closed_at is not null)),
      constraint discrepancy_closer check ((closed_at is null) = (closed_by is null)),
      constraint discrepancy_adjusted check (adjustment is null or state = 'RESOLVED')
    ) ${v.end}`,
    `create index discrepancy_open on discrepancy (state, scope, id)`,
    `create index discrepancy_day on discrepancy (batch_day, id)`,
    `create index discrepancy_ours on discrepancy (ours, ours_id)`,
    `create index discrepancy_line on discrepancy (file_id, seq)`,

    `create table discrepancy_move (
      id ${v.autoId},
      discrepancy_id ${v.big} not null,
      at ${v.moment} not null,
      actor ${v.text} not null,
      event ${v.code} not null,
      from_state ${v.code},
      to_state ${v.code} not null,
      reason ${v.text},
      constraint discrepancy_move_from check (from_state is null or ${oneOf('from_state', states)}),
      constraint discrepancy_move_to check (${oneOf('to_state', states)})
    ) ${v.end}`,
    `create index discrepancy_move_of on discrepancy_move (discrepancy_id, id)`,

    // What people decided; a second person's record confirms the one that it names.
    `create table discrepancy_review (
      id ${v.autoId},
      discrepancy_id ${v.big} not null,
      decision ${v.code} not null,
      by_name ${v.text} not null,
      reason ${v.text} not null,
      at ${v.moment} not null,
      discrepancy_version ${v.int} not null,
      confirms ${v.big},
      constraint discrepancy_review_decision check (${oneOf('decision', ['RESOLVE', 'IGNORE', 'ADJUST'])}),
      constraint discrepancy_review_confirmed_once unique (confirms)
    ) ${v.end}`,
    `create index discrepancy_review_of on discrepancy_review (discrepancy_id, id)`,
    ...appendOnly.flatMap((table) => events.map((event) => refuse(v, event, table))),
  ];
}

export function down(v: Vocabulary): string[] {
  return [
    ...appendOnly.flatMap((table) => events.map((event) => `drop trigger if exists ${table}_no_${event}`)),
    ...[
      'discrepancy_review',
      'discrepancy_move',
      'discrepancy',
      'statement_sweep',
      'statement_loose',
      'statement_match',
    ].map((table) => `drop table if exists ${table}`),
    ...['statement_line', 'statement_problem', 'statement_total', 'statement_head', 'statement_file'].map(
      (table) => `drop table if exists ${table}`,
    ),
    ...['payout_reference', 'payout_sent'].map((index) =>
      v.engine === 'sqlite' ? `drop index if exists ${index}` : `drop index ${index} on payout`,
    ),
  ];
}
