import type { FloorSql } from './floor.js';

const id = 'varchar(64) character set utf8mb4 collate utf8mb4_bin';
const code = 'varchar(40) character set ascii collate ascii_bin';
const currency = 'char(3) character set ascii collate ascii_bin';
// MariaDB alone reads this; MySQL has no Aria, and its own temporary tables (InnoDB) are not logged either.
const unlogged = '/*M! engine = Aria transactional = 0 */';

export const mysqlFloor: FloorSql = {
  prepare: [
    'set session group_concat_max_len = 16777216',
    `create temporary table bench_line (
      net_no int not null, account_no ${id} not null, currency ${currency} not null, type ${code} not null,
      channel ${id} not null, orders int not null, amount_minor bigint not null, effect_minor bigint not null,
      ids longtext character set ascii not null
    ) ${unlogged}`,
    `create temporary table bench_leg (
      journal_entry_id bigint not null, line_no int not null, ledger_account ${code} not null,
      sub_account ${id} not null, side ${code} not null, amount_minor bigint not null, currency ${currency} not null
    ) ${unlogged}`,
  ],
  clear: ['truncate table bench_line', 'truncate table bench_leg'],
  settle: [
    {
      part: 'settle: group orders',
      sql: `insert into bench_line
        select dense_rank() over (order by account_no, currency), account_no, currency, type, channel,
               count(*), sum(amount_minor), if(type in ('REFUND', 'FEE'), -sum(amount_minor), sum(amount_minor)),
               group_concat(id order by id)
          from settlement_order
         where id between :first and :last and batch_day = :day and state = 'INIT'
         group by account_no, currency, type, channel, amount_minor < 0`,
    },
    {
      part: 'settle: insert nets',
      sql: `insert into net (run_id, chunk_no, net_no, account_no, currency, orders, amount_minor, biz_no)
        select :run, :chunk, net_no, account_no, currency, sum(orders), sum(effect_minor), concat('S', :run, '.', :chunk, '.', net_no)
          from bench_line group by net_no, account_no, currency order by net_no`,
    },
    {
      part: 'settle: insert chunk',
      sql: `insert into chunk (run_id, chunk_no, batch_day, lane, first_id, last_id, orders, nets, committed_at)
        select :run, :chunk, :day, 'floor', :first, :last, sum(orders), max(net_no), now(3) from bench_line`,
    },
    {
      part: 'settle: claim orders',
      sql: `update settlement_order
           set state = 'PROCESSING', version = version + 1, run_id = :run, chunk_no = :chunk
         where id between :first and :last and batch_day = :day and state = 'INIT'`,
    },
    {
      part: 'settle: insert outbox',
      sql: `insert into outbox (id, topic, biz_no, batch_day, account_no, orders, payload, created_at)
        select :first + net_no - 1, 'LEDGER', concat('S', :run, '.', :chunk, '.', net_no), :day, account_no, sum(orders),
               concat('{"v":1,"batchDay":"', :day, '","accountNo":"', account_no, '","currency":"', currency,
                 '","netMinor":"', sum(effect_minor), '","lines":[',
                 group_concat('{"type":"', type, '","channel":"', channel, '","orders":', orders,
                   ',"amountMinor":"', amount_minor, '"}'),
                 '],"orderIds":"', group_concat(ids), '"}'),
               now(3)
          from bench_line group by net_no, account_no, currency order by net_no`,
    },
  ],
  post: [
    {
      // MySQL reads a temporary table once a statement, so the two legs are made by a join.
      part: 'post: book lines',
      sql: `insert into bench_leg
        select :first + net_no - 1, row_number() over (partition by net_no order by ledger_account, sub_account, side),
               ledger_account, sub_account, side, sum(amount_minor), currency
          from (
            select net_no, currency, abs(amount_minor) as amount_minor,
                   case when leg = 2 then 'MERCHANT_PAYABLE' when type = 'FEE' then 'FEE_INCOME'
                        when type = 'ADJUSTMENT' then 'ADJUSTMENTS' else 'CHANNEL_RECEIVABLE' end as ledger_account,
                   case when leg = 2 then account_no when type in ('PAYMENT', 'REFUND') then channel else '' end as sub_account,
                   if((leg = 1) = (effect_minor > 0), 'DEBIT', 'CREDIT') as side
              from bench_line cross join (select 1 as leg union all select 2) legs where amount_minor <> 0
          ) leg
         group by net_no, ledger_account, sub_account, side, currency`,
    },
    {
      part: 'post: insert journal',
      sql: `insert into journal_entry (id, biz_no, type, batch_day, booking_day, ledger_entries, posted_at)
        select o.id, o.biz_no, 'SETTLEMENT', o.batch_day, o.batch_day, coalesce(l.lines, 0), now(3)
          from outbox o
          left join (select journal_entry_id, count(*) as \`lines\` from bench_leg group by journal_entry_id) l
            on l.journal_entry_id = o.id
         where o.id between :first and :last and o.state = 'NEW'`,
    },
    {
      part: 'post: insert ledger',
      sql: `insert into ledger_entry (journal_entry_id, line_no, ledger_account, sub_account, side, amount_minor, currency)
        select * from bench_leg order by journal_entry_id, line_no`,
    },
    {
      part: 'post: finish orders',
      sql: `update settlement_order
           set state = 'SUCCESS', version = version + 1, finished_at = now(3)
         where id between :first and :last and state = 'PROCESSING' and run_id = :run and chunk_no = :chunk`,
    },
    {
      part: 'post: mark sent',
      sql: `update outbox set state = 'SENT', sent_at = now(3) where id between :first and :last and state = 'NEW'`,
    },
  ],
  totals: [
    {
      part: 'totals',
      sql: `select currency, state, count(*) as orders, sum(if(type in ('REFUND', 'FEE'), -amount_minor, amount_minor)) as effect
          from settlement_order where batch_day = :day group by currency, state`,
    },
    {
      part: 'totals',
      sql: `select ledger_account, currency, side, count(*) as entries, sum(amount_minor) as amount
          from ledger_entry group by ledger_account, currency, side`,
    },
  ],
};
