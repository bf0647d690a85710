import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database } from '../src/db/database.js';
import type { Session } from '../src/db/session.js';
import { repeatable } from '../src/db/transaction.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { reconcileDay, reconcileIn, type Reconciliation } from '../src/reconciliation/reconcile.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { onEachDatabase } from './support/databases.js';
import { writeBalances } from './support/ledgerBooks.js';
import { withoutTriggers } from './support/plants.js';
import { emptyBooks, smallDays, writeBooks } from './support/books.js';

const day = '2026-11-29';
const wanted = (result: Reconciliation): string[] => result.checks.filter((check) => !check.ok).map(({ name }) => name);

/** Statements of a run that settles the late order 1180: the whole chain, and the day's frame raised to it. */
const settleLateOrder = (committedAt: string): string[] => [
  `update settlement_order set state = 'SUCCESS', version = 2, run_id = 8, chunk_no = 1, finished_at = '2026-11-30' where id = 1180`,
  `insert into chunk (run_id, chunk_no, batch_day, lane, first_id, last_id, orders, nets, committed_at)
   values (8, 1, '${day}', '0', 1180, 1180, 1, 1, '${committedAt}')`,
  `insert into net (run_id, chunk_no, net_no, account_no, currency, orders, amount_minor, biz_no)
   values (8, 1, 1, 'M1', 'USD', 1, 9, 'S8.1.1')`,
  `insert into outbox (id, topic, biz_no, batch_day, account_no, orders, payload, state, created_at, sent_at)
   values (600, 'LEDGER', 'S8.1.1', '${day}', 'M1', 1,
     '{"v":1,"batchDay":"${day}","accountNo":"M1","currency":"USD","netMinor":"9","lines":[{"type":"PAYMENT","channel":"CARD","orders":1,"amountMinor":"9"}],"orderIds":"1180"}',
     'SENT', '${committedAt}', '${committedAt}')`,
  `insert into journal_entry (id, biz_no, type, batch_day, booking_day, ledger_entries, posted_at)
   values (600, 'S8.1.1', 'SETTLEMENT', '${day}', '2026-11-30', 2, '${committedAt}')`,
  `insert into ledger_entry (journal_entry_id, line_no, ledger_account, sub_account, side, amount_minor, currency)
   values (600, 1, 'CHANNEL_RECEIVABLE', 'CARD', 'DEBIT', 9, 'USD'), (600, 2, 'MERCHANT_PAYABLE', 'M1', 'CREDIT', 9, 'USD')`,
  `update source_total set orders = 7, amount_minor = '1927' where batch_day = '${day}' and currency = 'USD' and type = 'PAYMENT'`,
  `update batch set top_id = 1180, orders_at_close = 18 where batch_day = '${day}'`,
];

const unpostMessage: string[] = [
  'delete from ledger_entry where journal_entry_id = 502',
  'delete from journal_entry where id = 502',
  `update outbox set state = 'NEW', sent_at = null where id = 502`,
  `update settlement_order set state = 'PROCESSING', version = 1, finished_at = null
    where run_id = 7 and chunk_no = 1 and account_no = 'M1' and currency = 'USD'`,
];
const reopen = (state: string): string[] => [
  `update batch set state = '${state}', closed_at = null, orders_at_close = null where batch_day = '${day}'`,
  `update ledger_period set closed_through = '2026-11-28'`,
];

onEachDatabase('reconciling a day', (current) => {
  const apply = (
    statements: readonly string[],
    { database = current().database, balance = false } = {},
  ): Promise<void> =>
    database.transact(
      repeatable('change', async (trx) => {
        for (const sql of statements) await trx.change(sql);
        if (balance) await writeBalances(trx);
      }),
    );
  // Days are made open again by taking entries away, which the triggers forbid and the hash chain names.
  const handmade = ['append-only', 'hash-chain'];
  const contradictions = async (): Promise<unknown[]> =>
    (await verifyBooks(current().database)).flatMap(({ name, contradictions }) =>
      handmade.includes(name) ? [] : contradictions,
    );

  beforeAll(() => withoutTriggers(current().database));
  beforeEach(async () => {
    await emptyBooks(current().database);
    await writeBooks(current().database, smallDays);
  });

  test('books that agree reconcile, with exact sums beyond 64 bits', async () => {
    const result = await reconcileDay(current().database, day);
    expect(result.outcome).toBe('OK');
    const settled = 'JPY 4 orders 18446744073709552514; KWD 2 orders -5.000; USD 8 orders 16.26';
    const control = 'JPY 18446744073709552514; KWD -5.000; USD 16.26';
    expect(result.checks).toEqual([
      { name: 'batch-totals', ok: true, expected: settled, actual: settled, differences: [] },
      {
        name: 'orders-left',
        ok: true,
        expected: '0 INIT, 0 PROCESSING, 0 NEW, 0 PARKED',
        actual: '0 INIT, 0 PROCESSING, 0 NEW, 0 PARKED',
        differences: [],
      },
      { name: 'sub-ledger', ok: true, expected: control, actual: control, differences: [] },
      {
        name: 'trial-balance',
        ok: true,
        expected: 'JPY 18446744073709552514; KWD 5.000; USD 21.16',
        actual: 'JPY 18446744073709552514; KWD 5.000; USD 21.16',
        differences: [],
      },
      {
        name: 'balances',
        ok: true,
        expected: 'JPY 18446744073709552514; KWD 5.000; USD 21.16',
        actual: 'JPY 18446744073709552514; KWD 5.000; USD 21.16',
        differences: [],
      },
    ]);
    expect(result.totals.source).toEqual([
      { currency: 'JPY', orders: 4, netMinor: 18446744073709552514n },
      { currency: 'KWD', orders: 2, netMinor: -5000n },
      // One order of 0.77 is in quarantine and one of 0.40 was withdrawn.
      { currency: 'USD', orders: 10, netMinor: 1626n + 77n + 40n },
    ]);
    expect(result.totals.posted).toEqual(result.totals.claimed);
    expect(result.totals.outbox).toEqual(result.totals.claimed);
  });

  test('a day without orders reconciles as nothing', async () => {
    await apply([
      `insert into batch (batch_day, state, cut_off, top_id, orders_at_close, opened_at, closed_at)
       values ('2026-12-01', 'CLOSED', '2026-12-02', 0, 0, '2026-12-02', '2026-12-02')`,
      `update ledger_period set booking_day = '2026-12-02', closed_through = '2026-12-01'`,
    ]);
    const result = await reconcileDay(current().database, '2026-12-01');
    expect(result.outcome).toBe('OK');
    expect(result.checks[0]).toMatchObject({ expected: 'nothing', actual: 'nothing' });
    expect(await contradictions()).toEqual([]);
  });

  test('an unknown day is refused with the days that there are', async () => {
    await expect(reconcileDay(current().database, '2026-11-01')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      details: { days: ['2026-11-28', day] },
    });
    await expect(reconcileDay(current().database, '2026-02-30')).rejects.toMatchObject({ code: 'USAGE' });
  });

  describe('work that is still to be done is no contradiction', () => {
    test.each([
      ['orders not claimed yet', ['batch-totals', 'orders-left', 'balances'], claimsOnly('SETTLING')],
      [
        'messages not posted yet',
        ['batch-totals', 'orders-left', 'balances'],
        [...reopen('POSTING'), ...unpostMessage],
      ],
      [
        'a message posted, but not marked SENT yet',
        ['orders-left'],
        [...reopen('POSTING'), `update outbox set state = 'NEW', sent_at = null where id = 502`],
      ],
      [
        'a run that was cut off before it made the balances',
        ['balances'],
        [
          ...reopen('RECONCILING'),
          `update balanced_day set entries = null where booking_day = '${day}'`,
          `insert into run (id, batch_day, kind, state, fencing_no, owner, from_id, reached_id, top_id, stage, started_at, heartbeat_at)
           values (8, '${day}', 'RUN', 'RUNNING', 2, '{}', 1170, 1180, 1180, 'POSTING', '2026-12-01', '2026-12-01')`,
        ],
      ],
      [
        'an account released from quarantine on the closed day',
        ['batch-totals', 'orders-left'],
        [`update quarantine set active = null, released_at = '2026-11-30'`],
      ],
      [
        'an order below the top id that became visible after the close',
        ['orders-left'],
        [
          `insert into settlement_order (id, order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at)
           values (1065, 'O1065', 'M1', '${day}', 'PAYMENT', 3, 'USD', 'CARD', '2026-11-29')`,
        ],
      ],
      [
        'an order that came late, claimed after the close and not posted yet',
        ['batch-totals', 'orders-left'],
        [
          ...settleLateOrder('2026-12-01'),
          'delete from ledger_entry where journal_entry_id = 600',
          'delete from journal_entry where id = 600',
          `update outbox set state = 'NEW', sent_at = null where id = 600`,
          `update settlement_order set state = 'PROCESSING', version = 1, finished_at = null where id = 1180`,
        ],
      ],
    ])('%s', async (_what, checks, statements) => {
      await apply(statements);
      const result = await reconcileDay(current().database, day);
      expect(wanted(result)).toEqual(checks);
      expect(result.outcome).toBe('UNFINISHED');
      expect(await contradictions()).toEqual([]);
    });

    test('but balances of a closed day that are not made of all its entries are one', async () => {
      await apply([`update balanced_day set entries = entries - 1 where booking_day = '${day}'`]);
      expect(wanted(await reconcileDay(current().database, day))).toEqual(['balances']);
      expect((await reconcileDay(current().database, day)).outcome).toBe('CONTRADICTION');
      expect(await contradictions()).toMatchObject([{ table: 'balanced_day', key: day }]);
    });

    test('but a difference beside it is one', async () => {
      await apply([
        ...reopen('POSTING'),
        ...unpostMessage,
        'update net set amount_minor = 901 where net_no = 1 and run_id = 7',
      ]);
      expect((await reconcileDay(current().database, day)).outcome).toBe('CONTRADICTION');
    });
  });

  test('an order that came late belongs to its closed day, and is booked on the open one', async () => {
    await apply(settleLateOrder('2026-12-01'), { balance: true });
    expect((await reconcileDay(current().database, day)).outcome).toBe('OK');
    expect(await contradictions()).toEqual([]);
  });

  test('a late run that was cut off has not counted its orders yet', async () => {
    await apply([
      ...settleLateOrder('2026-12-01'),
      `update batch set orders_at_close = 17 where batch_day = '${day}'`,
      `insert into run (id, batch_day, kind, state, fencing_no, owner, from_id, reached_id, top_id, stage, started_at, heartbeat_at)
       values (8, '${day}', 'RUN', 'RUNNING', 2, '{}', 1170, 1180, 1180, 'POSTING', '2026-12-01', '2026-12-01')`,
    ]);
    expect(await contradictions()).toEqual([]);
  });

  describe('a commit between two of its reads', () => {
    const settleWhile = async (
      pause: number,
      read: Database['snapshot'],
    ): Promise<{ result: Reconciliation; statements: number }> => {
      const other = await Database.open(parseDatabaseUrl(current().url));
      let statements = 0;
      try {
        const result = await read((session) =>
          reconcileIn(
            pausing(session, async () => {
              statements += 1;
              if (statements === pause) await apply(settleLateOrder('2026-11-30'), { database: other, balance: true });
            }),
            day,
          ),
        );
        return { result, statements };
      } finally {
        await other.close();
      }
    };

    test('shows no false difference, wherever it falls', async () => {
      const { database } = current();
      const { statements } = await settleWhile(0, (work) => database.snapshot(work));
      expect(statements).toBeGreaterThan(8);
      for (let pause = 2; pause <= statements; pause += 1) {
        await emptyBooks(database);
        await writeBooks(database, smallDays);
        const { result } = await settleWhile(pause, (work) => database.snapshot(work));
        expect([pause, result.outcome]).toEqual([pause, 'OK']);
        expect((await reconcileDay(database, day)).totals.claimed[2]).toEqual({
          currency: 'USD',
          orders: 9,
          netMinor: 1635n,
        });
      }
    });

    test('would show one if the reads did not share a snapshot', async () => {
      const { database } = current();
      const { result } = await settleWhile(4, (work) => database.read(work));
      expect(result.outcome).toBe('CONTRADICTION');
    });
  });
});

/** Chunk 1 of the day was never claimed: its orders are INIT, and nothing hangs on it. */
function claimsOnly(state: string): string[] {
  return [
    ...reopen(state),
    'delete from ledger_entry where journal_entry_id in (501, 502, 503)',
    'delete from journal_entry where id in (501, 502, 503)',
    'delete from outbox where id in (501, 502, 503)',
    'delete from net where run_id = 7 and chunk_no = 1',
    'delete from chunk where run_id = 7 and chunk_no = 1',
    `update settlement_order set state = 'INIT', version = 0, run_id = null, chunk_no = null, finished_at = null
      where run_id = 7 and chunk_no = 1`,
  ];
}

function pausing(session: Session, before: () => Promise<void>): Session {
  return {
    dialect: session.dialect,
    clustered: session.clustered,
    source: session.source,
    rows: async (sql, bindings) => {
      await before();
      return session.rows(sql, bindings);
    },
    tuples: (sql, bindings) => session.tuples(sql, bindings),
    change: (sql, bindings) => session.change(sql, bindings),
    insert: (sql, bindings) => session.insert(sql, bindings),
    insertMany: (table, columns, rows) => session.insertMany(table, columns, rows),
  };
}
