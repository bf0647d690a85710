import { refuse, refuseClosedDay, type Vocabulary } from './vocabulary.js';

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
    // All journal entries of a day that was closed, chained to those of the link before.
    `create table chain_link (
      link_no ${v.big} not null primary key,
      booking_day ${v.day} not null,
      run_id ${v.big} not null,
      entries ${v.big} not null,
      previous_head ${v.digest} not null,
      head ${v.digest} not null,
      linked_at ${v.moment} not null,
      constraint chain_link_day unique (booking_day)
    ) ${v.end}`,

    ...appendOnly.flatMap((table) => events.map((event) => refuse(v, event, table))),
    refuseClosedDay(v),

    // From how many journal entries the balances of a day are made; null while they are in the making.
    `create table balanced_day (
      booking_day ${v.day} not null primary key,
      entries ${v.big}
    ) ${v.end}`,

    // A row for each day on which something moved; opening and closing are debits less credits, whatever the account.
    `create table account_balance (
      booking_day ${v.day} not null,
      ledger_account ${v.code} not null,
      sub_account ${v.id} not null,
      currency ${v.currency} not null,${amounts},
      primary key (booking_day, ledger_account, sub_account, currency)
    ) ${v.end}`,
    // The newest balance up to a day.
    `create index account_balance_newest on account_balance (ledger_account, sub_account, currency, booking_day)`,

    `create table general_balance (
      booking_day ${v.day} not null,
      ledger_account ${v.code} not null,
      currency ${v.currency} not null,${amounts},
      primary key (booking_day, ledger_account, currency)
    ) ${v.end}`,
    `create index general_balance_newest on general_balance (ledger_account, currency, booking_day)`,
  ];
}

export function down(): string[] {
  return [
    ...appendOnly.flatMap((table) => events.map((event) => `drop trigger if exists ${table}_no_${event}`)),
    'drop trigger if exists journal_entry_closed_day',
    ...['general_balance', 'account_balance', 'balanced_day', 'chain_link'].map(
      (table) => `drop table if exists ${table}`,
    ),
  ];
}
