import { refuse, type Vocabulary } from './vocabulary.js';

const appendOnly = ['journal_entry', 'ledger_entry', 'chain_link'];
const events = ['update', 'delete'] as const;

/** What keeps the books from being written twice, and the balances that are made of them day by day. */
export function up(v: Vocabulary): string[] {
  const amounts = `
      opening_minor ${v.wide} not null,
      debit_minor ${v.wide} not null,
      credit_minor ${v.wide} not null,
      closing_minor ${v.wide} not null`;
  return [
    // The journal entries that a run found in a day at its end, chained to those of the link before.
    `create table chain_link (
      link_no ${v.big} not null primary key,
      batch_day ${v.day} not null,
      run_id ${v.big} not null,
      after_id ${v.big} not null,
      last_id ${v.big} not null,
      entries ${v.big} not null,
      previous_head ${v.digest} not null,
      head ${v.digest} not null,
      linked_at ${v.moment} not null
    ) ${v.end}`,
    `create index chain_link_day on chain_link (batch_day, link_no)`,

    ...appendOnly.flatMap((table) => events.map((event) => refuse(v, event, table))),

    // A row for each day on which something moved; opening and closing are debits less credits, whatever the account.
    `create table account_balance (
      batch_day ${v.day} not null,
      ledger_account ${v.code} not null,
      sub_account ${v.id} not null,
      currency ${v.currency} not null,${amounts},
      primary key (batch_day, ledger_account, sub_account, currency)
    ) ${v.end}`,
    // The newest balance up to a day.
    `create index account_balance_newest on account_balance (ledger_account, sub_account, currency, batch_day)`,

    `create table general_balance (
      batch_day ${v.day} not null,
      ledger_account ${v.code} not null,
      currency ${v.currency} not null,${amounts},
      primary key (batch_day, ledger_account, currency)
    ) ${v.end}`,
    `create index general_balance_newest on general_balance (ledger_account, currency, batch_day)`,
  ];
}

export function down(): string[] {
  return [
    ...appendOnly.flatMap((table) => events.map((event) => `drop trigger if exists ${table}_no_${event}`)),
    ...['general_balance', 'account_balance', 'chain_link'].map((table) => `drop table if exists ${table}`),
  ];
}
