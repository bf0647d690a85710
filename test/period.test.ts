import { beforeEach, describe, expect, test } from '@jest/globals';
import { insertBatch } from '../src/batch/batchQueries.js';
import type { Database } from '../src/db/database.js';
import { repeatable } from '../src/db/transaction.js';
import { bookEntries, type OwnEntry } from '../src/ledger/bookEntries.js';
import { ledgerPeriod } from '../src/ledger/period.js';
import { ledgerBalances, trialBalance } from '../src/ledger/views.js';
import { reconcileDay } from '../src/reconciliation/reconcile.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { collectReport } from '../src/reports/dayReport.js';
import { reportText } from '../src/reports/reportText.js';
import { emptyBooks } from './support/books.js';
import { createTestDatabase, onEachDatabase } from './support/databases.js';
import { everyRow, givenOrders, runDay } from './support/day.js';
import { importTerms } from './support/importing.js';
import { settleInside as settle } from './support/inside.js';

const friday = '2026-11-27';
const saturday = '2026-11-28';
const sunday = '2026-11-29';
const monday = '2026-11-30';
const now = '2026-12-01T01:00:00.000Z';

const column = async (database: Database, sql: string): Promise<string[]> =>
  (await database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));
const entriesOf = (database: Database): Promise<string[]> =>
  column(database, 'select type, batch_day, booking_day from journal_entry order by id');
/** Apart from the checks of payouts: the entries that are booked here as theirs have none. */
const contradictions = async (database: Database): Promise<unknown[]> =>
  (await verifyBooks(database))
    .filter(({ name }) => !name.startsWith('payout'))
    .flatMap((check) => check.contradictions);
const expectSound = async (database: Database, ...days: string[]): Promise<void> => {
  expect(await contradictions(database)).toEqual([]);
  for (const day of days) expect([day, (await reconcileDay(database, day)).outcome]).toEqual([day, 'OK']);
};

/** Everything that is told of the books of a day: must never change once it is closed. */
async function books(database: Database, day: string): Promise<string> {
  const told = await database.read(async (session) => [
    await ledgerBalances(session, { asOf: day }),
    await ledgerBalances(session, { asOf: day, general: true }),
    await trialBalance(session, day),
  ]);
  const link = await column(database, `select * from chain_link where booking_day <= '${day}' order by link_no`);
  return JSON.stringify([...told, link], (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

const order = (orderNo: string, batchDay: string, minor: number, accountNo = 'A1') => ({
  ...{ orderNo, accountNo, batchDay, minor },
});

const payout = (bizNo: string, batchDay: string, minor = 10n): OwnEntry => ({
  ...{ bizNo, type: 'PAYOUT', batchDay, accountNo: 'A1' },
  entries: [
    { ledgerAccount: 'MERCHANT_PAYABLE', subAccount: 'A1', side: 'DEBIT', amountMinor: minor, currency: 'USD' },
    { ledgerAccount: 'PAYOUT_IN_TRANSIT', subAccount: 'A1', side: 'CREDIT', amountMinor: minor, currency: 'USD' },
  ],
});
const book = (database: Database, ...entries: OwnEntry[]): Promise<number> =>
  database.transact(repeatable('book', (trx) => bookEntries(trx, entries, now)));

onEachDatabase('a closed day', (current) => {
  beforeEach(() => emptyBooks(current().database));

  test('keeps its books when an order comes late: it is booked on the open day under its own value date', async () => {
    const { database, url } = current();
    await givenOrders(database, [order('O1', friday, 100)]);
    await runDay(database, { target: friday });
    await givenOrders(database, [order('O2', saturday, 200)]);
    await runDay(database, { target: saturday });
    const closed = [await books(database, friday), await books(database, saturday)];
    await givenOrders(database, [order('L1', friday, 7), order('L2', saturday, 9)]);
    const clock = { now: () => new Date('2026-12-01T01:00:00.000Z') };
    const document = await runDay(database, { target: saturday, clock });
    expect(document).toMatchObject({
      ...{ outcome: 'OK', closed: true, late: [{ batchDay: friday }, { batchDay: saturday }] },
    });
    expect(await entriesOf(database)).toEqual([
      ...[`SETTLEMENT ${friday} ${friday}`, `SETTLEMENT ${saturday} ${saturday}`],
      ...[`SETTLEMENT ${friday} ${sunday}`, `SETTLEMENT ${saturday} ${sunday}`],
    ]);
    expect([await books(database, friday), await books(database, saturday)]).toEqual(closed);
    await expectSound(database, friday, saturday);
    // What the day settled is told by value date all the same.
    const report = await collectReport(database, { day: friday });
    expect(report).toMatchObject({ totals: [{ currency: 'USD', orders: 2, netMinor: 107n }], lateBookedOn: [sunday] });
    expect(reportText(report)).toContain(`1 order settled late, after the day was closed, and booked on ${sunday}.`);
    const { stdout } = await settle(['explain', 'account', 'A1', '--batch-day', friday], { url });
    expect(stdout).toContain(`Part of it came after the day was closed, and is booked on ${sunday}.`);

    await runDay(database, { target: sunday });
    expect([await books(database, friday), await books(database, saturday)]).toEqual(closed);
    expect(
      await column(
        database,
        `select opening_minor, credit_minor, closing_minor from account_balance
      where booking_day = '${sunday}' and ledger_account = 'MERCHANT_PAYABLE'`,
      ),
    ).toEqual(['-300 16 -316']);
    await expectSound(database, friday, saturday, sunday);
    const rows = await everyRow(database);
    await runDay(database, { target: sunday });
    expect(await everyRow(database)).toBe(rows);
  });

  test('is not touched by what the terms make of late orders either', async () => {
    const { database } = current();
    await importTerms(database, `account_no,valid_from,reserve_basis_points,reserve_days\nA1,2026-01-01,1000,30\n`);
    await givenOrders(database, [order('O1', friday, 100)]);
    await runDay(database, { target: friday });
    const closed = await books(database, friday);
    await givenOrders(database, [order('L1', friday, 500)]);
    await runDay(database, { target: friday });
    expect((await entriesOf(database)).slice(2)).toEqual([
      ...[`SETTLEMENT ${friday} ${saturday}`, `TERMS ${friday} ${saturday}`],
    ]);
    expect(await books(database, friday)).toBe(closed);
    await runDay(database, { target: saturday });
    expect(
      await column(
        database,
        `select closing_minor from account_balance
      where booking_day = '${saturday}' and ledger_account = 'RESERVE'`,
      ),
    ).toEqual(['-60']);
    await expectSound(database, friday, saturday);
  });

  test('closes the days before it: the first orders of one that was never run are booked on the open day', async () => {
    const { database } = current();
    await givenOrders(database, [order('O1', sunday, 100)]);
    await runDay(database, { target: sunday });
    const closed = await books(database, sunday);
    await givenOrders(database, [order('O2', friday, 5)]);
    expect(await runDay(database, { target: sunday })).toMatchObject({
      catchUp: [{ batchDay: friday, outcome: 'OK' }],
    });
    expect(await entriesOf(database)).toEqual([`SETTLEMENT ${sunday} ${sunday}`, `SETTLEMENT ${friday} ${monday}`]);
    expect(await books(database, sunday)).toBe(closed);
    await expectSound(database, friday, sunday);
  });

  test('refuses a journal entry with its date, whoever writes it', async () => {
    const { database } = current();
    await givenOrders(database, [order('O1', friday, 100)]);
    await runDay(database, { target: friday });
    const before = await everyRow(database);
    const insert = (day: string): Promise<number> =>
      database.transact(
        repeatable('by hand', (trx) =>
          trx.insertMany(
            'journal_entry',
            ['id', 'biz_no', 'type', 'batch_day', 'booking_day', 'ledger_entries', 'posted_at'],
            [[990, `X${day}`, 'SETTLEMENT', friday, day, 0, '2026-12-01 00:00:00.000']],
          ),
        ),
      );
    for (const day of ['2026-11-01', friday]) {
      await expect(insert(day)).rejects.toThrow(`journal_entry: ${day} is a closed day: insert is refused`);
    }
    expect(await everyRow(database)).toBe(before);
    await insert(saturday);
  });
});

onEachDatabase('the open day', (current) => {
  beforeEach(() => emptyBooks(current().database));

  test('is behind every day of which a batch was opened, and never goes back', async () => {
    const { database } = current();
    const period = () => database.read(ledgerPeriod);
    expect(await period()).toEqual({ bookingDay: null, closedThrough: null });
    await givenOrders(database, [order('O1', saturday, 100)]);
    await runDay(database, { target: saturday });
    expect(await period()).toEqual({ bookingDay: sunday, closedThrough: saturday });
    await givenOrders(database, [order('O2', friday, 100)]);
    await runDay(database, { target: saturday });
    expect(await period()).toEqual({ bookingDay: sunday, closedThrough: saturday });
  });

  test('that no run ends, such as a Sunday, has balances and a link by the next one', async () => {
    const { database } = current();
    await givenOrders(database, [order('O1', saturday, 100)]);
    await runDay(database, { target: saturday });
    await book(database, payout('P1', saturday), payout('P2', saturday, 5n));
    await book(database, payout('P1', saturday));
    expect((await entriesOf(database)).slice(1)).toEqual([
      `PAYOUT ${saturday} ${sunday}`,
      `PAYOUT ${saturday} ${sunday}`,
    ]);
    await expectSound(database, saturday);
    await givenOrders(database, [order('O2', monday, 30)]);
    const document = await runDay(database, { target: monday });
    expect(document).toMatchObject({ outcome: 'OK', ledgerHead: { link: 3, entries: 1 } });
    expect(await column(database, 'select booking_day, entries from chain_link order by link_no')).toEqual([
      ...[`${saturday} 1`, `${sunday} 2`, `${monday} 1`],
    ]);
    const payable = `select booking_day, opening_minor, debit_minor, credit_minor, closing_minor from account_balance
      where ledger_account = 'MERCHANT_PAYABLE' order by booking_day`;
    expect(await column(database, payable)).toEqual([
      ...[`${saturday} 0 0 100 -100`, `${sunday} -100 15 0 -85`, `${monday} -85 0 30 -115`],
    ]);
    await expectSound(database, saturday, monday);
  });

  test('may be behind a day that is opened later: what its own run books there is in time', async () => {
    const { database } = current();
    await givenOrders(database, [order('O1', friday, 100)]);
    await runDay(database, { target: friday });
    await book(database, payout('P1', friday));
    await givenOrders(database, [order('O2', saturday, 40)]);
    await runDay(database, { target: saturday });
    expect((await entriesOf(database)).slice(1)).toEqual([
      ...[`PAYOUT ${friday} ${saturday}`, `SETTLEMENT ${saturday} ${saturday}`],
    ]);
    expect(await column(database, `select entries from chain_link where booking_day = '${saturday}'`)).toEqual(['2']);
    await expectSound(database, friday, saturday);
  });
});

describe('two connections to a server', () => {
  /** A promise, and what ends it. */
  function gate(): { passed: Promise<void>; open: () => void } {
    let open = (): void => undefined;
    const passed = new Promise<void>((resolve) => (open = resolve));
    return { passed, open };
  }
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  test('the batch of the open day is not opened while somebody books on it, and has the entry in its balances', async () => {
    const { database, drop } = await createTestDatabase('server');
    try {
      await givenOrders(database, [order('O1', friday, 100), order('O2', saturday, 40)]);
      await runDay(database, { target: friday });
      const [booked, commit] = [gate(), gate()];
      const booking = database.transact(
        repeatable('book slowly', async (trx) => {
          await bookEntries(trx, [payout('P1', friday)], now);
          booked.open();
          await commit.passed;
        }),
      );
      await booked.passed;
      let ended = false;
      const running = runDay(database, { target: saturday }).finally(() => (ended = true));
      await pause(400);
      expect(ended).toBe(false);
      expect(await column(database, 'select batch_day from batch')).toEqual([friday]);
      commit.open();
      await booking;
      expect(await running).toMatchObject({ outcome: 'OK', closed: true });
      expect((await entriesOf(database)).slice(1)).toEqual([
        ...[`PAYOUT ${friday} ${saturday}`, `SETTLEMENT ${saturday} ${saturday}`],
      ]);
      await expectSound(database, friday, saturday);
    } finally {
      await drop();
    }
  });

  test('who books while a batch is opened waits, and books on the day after it', async () => {
    const { database, drop } = await createTestDatabase('server');
    try {
      await givenOrders(database, [order('O1', friday, 100)]);
      await runDay(database, { target: friday });
      const [opened, commit] = [gate(), gate()];
      const opening = database.transact(
        repeatable('open slowly', async (trx) => {
          const batch = { day: saturday, state: 'OPEN', cutOff: `${sunday}T00:00:00.000Z`, topId: 0n } as const;
          await insertBatch(trx, { ...batch, ordersAtClose: null }, now);
          opened.open();
          await commit.passed;
        }),
      );
      await opened.passed;
      const booking = book(database, payout('P1', friday));
      await pause(300);
      commit.open();
      await Promise.all([opening, booking]);
      expect((await entriesOf(database)).slice(1)).toEqual([`PAYOUT ${friday} ${sunday}`]);
      await runDay(database, { target: saturday });
      await expectSound(database, friday, saturday);
    } finally {
      await drop();
    }
  });
});
