import type { FloorSql } from './floor.js';

const now = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;

export const sqliteFloor: FloorSql = {
  prepare: [
    'pragma temp_store = memory',
    `create temporary table bench_line (
      net_no integer, account_no text, currency text, type text, channel text, orders integer,
      amount_minor integer, effect_minor integer, ids text)`,
    `create temporary table bench_leg (
      journal_entry_id integer, line_no integer, ledger_account text, sub_account text, side text,
      amount_minor integer, currency text)`,
  ],
  clear: ['delete from bench_line', 'delete from bench_leg'],
  settle: [
    {
      part: 'settle: group orders',
      sql: `insert into bench_line
        select dense_rank() over (order by account_no, currency), account_no, currency, type, channel,
               count(*), sum(amount_minor), iif(type in ('REFUND', 'FEE'), -sum(amount_minor), sum(amount_minor)),
               group_concat(id)
          from settlement_order
         where id between :first and :last and +batch_day = :day and state = 'INIT'
         group by account_no, currency, type, channel, amount_minor < 0`,
    },
    {
      part: 'settle: insert nets',
      sql: `insert into net (run_id, chunk_no, net_no, account_no, currency, orders, amount_minor, biz_no)
        select :run, :chunk, net_no, account_no, currency, sum(orders), sum(effect_minor), 'S' || :run || '.' || :chunk || '.' || net_no
          from bench_line group by net_no`,
    },
    {
      part: 'settle: insert chunk',
      sql: `insert into chunk (run_id, chunk_no, batch_day, lane, first_id, last_id, orders, nets, committed_at)
        select :run, :chunk, :day, 'floor', :first, :last, sum(orders), max(net_no), ${now} from bench_line`,
    },
    {
      part: 'settle: claim orders',
      sql: `update settlement_order
           set state = 'PROCESSING', version = version + 1, run_id = :run, chunk_no = :chunk
         where id between :first and :last and +batch_day = :day and state = 'INIT'`,
    },
    {
      part: 'settle: insert outbox',
      sql: `insert into outbox (id, topic, biz_no, batch_day, account_no, orders, payload, created_at)
        select :first + net_no - 1, 'LEDGER', 'S' || :run || '.' || :chunk || '.' || net_no, :day, account_no, sum(orders),
               '{"v":1,"batchDay":"' || :day || '","accountNo":"' || account_no || '","currency":"' || currency ||
                 '","netMinor":"' || sum(effect_minor) || '","lines":[' ||
                 group_concat('{"type":"' || type || '","channel":"' || channel || '","orders":' || orders ||
                   ',"amountMinor":"' || amount_minor || '"}') ||
                 '],"orderIds":"' || group_concat(ids) || '"}',
               ${now}
          from bench_line group by net_no`,
    },
  ],
  post: [
    {
      part: 'post: book lines',
      sql: `insert into bench_leg
        select :first + net_no - 1, row_number() over (partition by net_no order by ledger_account, sub_account, side),
               ledger_account, sub_account, side, sum(amount_minor), currency
          from (
            select net_no, currency, abs(amount_minor) as amount_minor,
                   case type when 'FEE' then 'FEE_INCOME' when 'ADJUSTMENT' then 'ADJUSTMENTS' else 'CHANNEL_RECEIVABLE' end as ledger_account,
                   iif(type in ('PAYMENT', 'REFUND'), channel, '') as sub_account,
                   iif(effect_minor > 0, 'DEBIT', 'CREDIT') as side
              from bench_line where amount_minor <> 0
            union all
            select net_no, currency, abs(amount_minor), 'MERCHANT_PAYABLE', account_no, iif(effect_minor > 0, 'CREDIT', 'DEBIT')
              from bench_line where amount_minor <> 0
          ) leg
         group by net_no, ledger_account, sub_account, side, currency`,
    },
    {
      part: 'post: insert journal',
      sql: `insert into journal_entry (id, biz_no, type, batch_day, booking_day, ledger_entries, posted_at)
        select o.id, o.biz_no, 'SETTLEMENT', o.batch_day, o.batch_day, coalesce(l.lines, 0), ${now}
          from outbox o
          left join (select journal_entry_id, count(*) as lines from bench_leg group by journal_entry_id) l
            on l.journal_entry_id = o.id
         where o.id between :first and :last and +o.state = 'NEW'`,
    },
    {
      part: 'post: insert ledger',
      sql: `insert into ledger_entry (journal_entry_id, line_no, ledger_account, sub_account, side, amount_minor, currency)
        select * from bench_leg`,
    },
    {
      part: 'post: finish orders',
      sql: `update settlement_order
           set state = 'SUCCESS', version = version + 1, finished_at = ${now}
         where id between :first and :last and state = 'PROCESSING' and run_id = :run and chunk_no = :chunk`,
    },
    {
      part: 'post: mark sent',
      sql: `update outbox set state = 'SENT', sent_at = ${now} where id between :first and :last and +state = 'NEW'`,
    },
  ],
  totals: [
    {
      part: 'totals',
      sql: `select currency, state, count(*) as orders,
               sum(iif(type in ('REFUND', 'FEE'), -amount_minor, amount_minor)) as effect
          from settlement_order where batch_day = :day group by currency, state`,
    },
    {
      part: 'totals',
      sql: `select ledger_account, currency, side, count(*) as entries, sum(amount_minor) as amount
          from ledger_entry group by ledger_account, currency, side`,
    },
  ],
};
