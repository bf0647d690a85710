import { oneOf, refuse, type Vocabulary } from './vocabulary.js';

const appendOnly = ['deposit_transaction', 'deposit_log'];
const events = ['update', 'delete'] as const;

/** Orders that are paid on a chain, what settled them, what people said of them, and what an audit found later. */
export function up(v: Vocabulary): string[] {
  const ascii = (length: number): string =>
    v.engine === 'sqlite' ? 'text' : `varchar(${String(length)}) character set ascii collate ascii_bin`;
  // In lower case: a server's key would otherwise hold two spellings of one hash for the same, and SQLite's for two.
  const [hash, address, fingerprint] = [ascii(66), ascii(42), ascii(80)];
  // A uint256 is wider than any number of a database here; as text it is exact on each.
  const uint256 = ascii(78);
  const digits = (column: string): string =>
    v.engine === 'sqlite'
      ? `${column} <> '' and ${column} not glob '*[^0-9]*' and length(${column}) <= 78`
      : `${column} regexp '^[0-9]+$'`;
  const lower = (column: string): string => `${column} = lower(${column})`;
  return [
    `create table deposit_order (
      id ${v.autoId},
      out_trade_no ${v.id} not null,
      provider ${v.code} not null,
      chain_name ${v.code} not null,
      token ${address} not null,
      receiver ${address} not null,
      amount_raw ${uint256} not null,
      required_confirmations ${v.int},
      scene ${v.code} not null,
      account_no ${v.id},
      created_at ${v.instant} not null,
      expires_at ${v.instant},
      transaction_hash ${hash},
      log_index ${v.int},
      status ${v.code} not null default 'pending',
      version ${v.int} not null default 0,
      imported_at ${v.moment} not null,
      finished_at ${v.moment},
      constraint deposit_order_no unique (out_trade_no),
      constraint deposit_order_status check (${oneOf('status', ['pending', 'success', 'closed', 'refunded'])}),
      constraint deposit_order_amount check (${digits('amount_raw')}),
      constraint deposit_order_spelling check (${lower('token')} and ${lower('receiver')}),
      constraint deposit_order_hash check (transaction_hash is null or ${lower('transaction_hash')}),
      constraint deposit_order_finished check ((status = 'pending') = (finished_at is null))
    ) ${v.end}`,
    // Pages of orders in one status, in the order of ids; and who else waits for this amount at this address.
    `create index deposit_order_page on deposit_order (status, id)`,
    `create index deposit_order_receiver on deposit_order (receiver, token, status)`,
    `create index deposit_order_hash on deposit_order (transaction_hash)`,

    // One row an event that has paid. The name of a chain is a word of the configuration, so that its id is in a key too:
    // a chain that is called otherwise tomorrow does not pay the same event again.
    `create table deposit_transaction (
      id ${v.autoId},
      out_trade_no ${v.id} not null,
      type ${v.code} not null,
      chain_name ${v.code} not null,
      chain_id ${v.big} not null,
      transaction_hash ${hash} not null,
      log_index ${v.int} not null,
      position ${v.int} not null,
      block_number ${v.big} not null,
      block_hash ${hash} not null,
      token ${address} not null,
      from_address ${address} not null,
      to_address ${address} not null,
      value_raw ${uint256} not null,
      review_id ${v.big} not null,
      fingerprint ${fingerprint} not null,
      actor ${v.text} not null,
      settled_at ${v.moment} not null,
      constraint deposit_transaction_event unique (chain_name, transaction_hash, log_index),
      constraint deposit_transaction_chain unique (chain_id, transaction_hash, log_index),
      constraint deposit_transaction_order unique (out_trade_no, transaction_hash, type),
      constraint deposit_transaction_value check (${digits('value_raw')}),
      constraint deposit_transaction_spelling check (${lower('transaction_hash')} and ${lower('block_hash')}),
      constraint deposit_transaction_place check (log_index >= 0 and position >= 0 and block_number >= 0)
    ) ${v.end}`,

    // A plan that waits for a decision, by what it looked like. evidence is what the reviewer was shown, as JSON.
    // attempts and last_code are of automatic executions.
    `create table deposit_review (
      id ${v.autoId},
      out_trade_no ${v.id} not null,
      fingerprint ${fingerprint} not null,
      transaction_hash ${hash} not null,
      log_index ${v.int},
      plan_state ${v.code} not null,
      codes ${v.text} not null,
      evidence ${v.text} not null,
      state ${v.code} not null default 'open',
      version ${v.int} not null default 0,
      opened_at ${v.moment} not null,
      opened_by ${v.text} not null,
      decided_at ${v.moment},
      decided_by ${v.text},
      is_auto ${v.int} not null default 0,
      attempts ${v.int} not null default 0,
      last_code ${v.code},
      constraint deposit_review_once unique (out_trade_no, fingerprint),
      constraint deposit_review_state check (${oneOf('state', ['open', 'approved', 'rejected', 'executed'])}),
      constraint deposit_review_decided check ((state = 'open') = (decided_at is null))
    ) ${v.end}`,
    `create index deposit_review_due on deposit_review (state, opened_at, id)`,
    `create index deposit_review_hash on deposit_review (transaction_hash)`,

    // What happened to reviews, orders and findings, in the order in which it did.
    `create table deposit_log (
      id ${v.autoId},
      out_trade_no ${v.id} not null,
      review_id ${v.big},
      finding_id ${v.big},
      at ${v.moment} not null,
      actor ${v.text} not null,
      action ${v.code} not null,
      from_state ${v.code},
      to_state ${v.code},
      code ${v.code},
      fingerprint ${fingerprint},
      reason ${v.text}
    ) ${v.end}`,
    `create index deposit_log_order on deposit_log (out_trade_no, id)`,
    `create index deposit_log_review on deposit_log (review_id, id)`,

    // What an audit found wrong with a settled deposit; is_open is 1 or null, so that one is open at a time.
    `create table deposit_finding (
      id ${v.autoId},
      transaction_id ${v.big} not null,
      out_trade_no ${v.id} not null,
      code ${v.code} not null,
      codes ${v.text} not null,
      risk ${v.code} not null,
      reorg_suspected ${v.int} not null,
      suggestion ${v.code} not null,
      detail ${v.text} not null,
      state ${v.code} not null default 'open',
      is_open ${v.int},
      version ${v.int} not null default 0,
      seen ${v.int} not null default 1,
      found_at ${v.moment} not null,
      last_seen_at ${v.moment} not null,
      decided_at ${v.moment},
      decided_by ${v.text},
      constraint deposit_finding_once unique (transaction_id, code, is_open),
      constraint deposit_finding_state check (${oneOf('state', ['open', 'resolved', 'ignored'])}),
      constraint deposit_finding_risk check (${oneOf('risk', ['low', 'medium', 'high'])}),
      constraint deposit_finding_open check ((state = 'open') = (is_open is not null)),
      constraint deposit_finding_decided check ((state = 'open') = (decided_at is null))
    ) ${v.end}`,
    `create index deposit_finding_state on deposit_finding (state, id)`,
    ...appendOnly.flatMap((table) => events.map((event) => refuse(v, event, table))),

    // How far the audit of settlements has come, by the chain that it was asked for ('' for all); it begins again at the end.
    `create table deposit_audit_place (
      chain_name ${v.code} not null primary key,
      after_id ${v.big} not null
    ) ${v.end}`,
  ];
}

export function down(): string[] {
  return [
    ...appendOnly.flatMap((table) => events.map((event) => `drop trigger if exists ${table}_no_${event}`)),
    ...[
      'deposit_audit_place',
      'deposit_finding',
      'deposit_log',
      'deposit_review',
      'deposit_transaction',
      'deposit_order',
    ].map((table) => `drop table if exists ${table}`),
  ];
}
