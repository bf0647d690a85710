import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Database } from '../src/db/database.js';
import { repeatable } from '../src/db/transaction.js';
import { orderTypes } from '../src/kernel/states.js';
import { settlementEntry } from '../src/ledger/journalEntry.js';
import { netOrders } from '../src/netting/netOrders.js';
import type { Order } from '../src/orders/order.js';
import { reversalFault, storedAmount, type Reversible } from '../src/orders/reversals.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { emptyBooks } from './support/books.js';
import { onEachDatabase } from './support/databases.js';
import { day, everyRow, givenAccounts, givenOrders, payables, runDay } from './support/day.js';
import { header, importOrders, orderLine } from './support/importing.js';

const nextDay = '2026-11-30';

/** A file of reversals of the next day; `reversal_of` is the last column. */
function reversals(...rows: Partial<Record<string, string>>[]): string {
  const lines = rows.map((row) =>
    orderLine({ order_no: 'R1', account_no: 'A', batch_day: nextDay, amount: '1.00', reversal_of: 'O1', ...row }),
  );
  return `${header},reversal_of\n${lines.join('\n')}\n`;
}

onEachDatabase('reversals', (current) => {
  const database = (): Database => current().database;
  const runNext = () => runDay(database(), { target: nextDay });
  const faults = async (file: string): Promise<string[]> =>
    (await importOrders(database(), file)).rejected.map(
      ({ line, code, message }) => `${String(line)} ${code} ${message}`,
    );
  const sound = async () => (await verifyBooks(database())).filter(({ ok }) => !ok);

  beforeEach(async () => {
    await emptyBooks(database());
    await givenOrders(database(), [
      { orderNo: 'O1', accountNo: 'A', minor: 100 },
      { orderNo: 'O2', accountNo: 'A', type: 'REFUND', minor: 30 },
      { orderNo: 'O3', accountNo: 'B', type: 'FEE', minor: 7 },
      { orderNo: 'O4', accountNo: 'B', type: 'ADJUSTMENT', minor: -9 },
    ]);
    await runDay(database());
  });

  test('take back what each type did, and leave the day before as it was', async () => {
    const before = await payables(database());
    expect(before).toEqual({ 'A USD': '70', 'B USD': '-16' });
    const history = (await everyRow(database()))
      .split('\n')
      .filter((row) => row.includes(day) && !row.startsWith('ledger_period'));
    const file = reversals(
      {},
      { order_no: 'R2', type: 'REFUND', amount: '0.30', reversal_of: 'O2' },
      { order_no: 'R3', account_no: 'B', type: 'FEE', amount: '0.07', reversal_of: 'O3' },
      { order_no: 'R4', account_no: 'B', type: 'ADJUSTMENT', amount: '-0.09', reversal_of: 'O4' },
    );
    expect(await faults(file)).toEqual([]);
    expect(await runNext()).toMatchObject({ outcome: 'OK', exitCode: 0 });
    expect(await payables(database())).toEqual({ 'A USD': '0', 'B USD': '0' });
    const after = (await everyRow(database())).split('\n');
    expect(history.filter((row) => !after.includes(row))).toEqual([]);
    expect(await sound()).toEqual([]);
  });

  test('are booked with the sides of the order that they reverse turned', async () => {
    await importOrders(database(), reversals({ amount: '0.40' }));
    await runNext();
    const legs = await database().read((session) =>
      session.tuples(
        `select e.ledger_account, e.sub_account, e.side, e.amount_minor from ledger_entry e
           join journal_entry j on j.id = e.journal_entry_id where j.batch_day = ? order by e.line_no`,
        [nextDay],
      ),
    );
    expect(legs.map((leg) => leg.map(String).join(' '))).toEqual([
      'CHANNEL_RECEIVABLE CARD CREDIT 40',
      'MERCHANT_PAYABLE A DEBIT 40',
    ]);
  });

  test('take parts until nothing is left, in one file or in several', async () => {
    expect(
      await faults(
        reversals({ amount: '0.40' }, { order_no: 'R2', amount: '0.40' }, { order_no: 'R3', amount: '0.40' }),
      ),
    ).toEqual(['4 REVERSAL_TOO_LARGE reversal_of "O1" has 20 minor units left to reverse.']);
    await runNext();
    expect(await faults(reversals({ order_no: 'R3', amount: '0.20' }))).toEqual([]);
    expect(await faults(reversals({ order_no: 'R4', amount: '0.01' }))).toEqual([
      '2 REVERSAL_TOO_LARGE reversal_of "O1" has nothing left to reverse.',
    ]);
    await runNext();
    expect(await payables(database())).toMatchObject({ 'A USD': '-30' });
    expect(await sound()).toEqual([]);
  });

  test('repeated, in the file or after the run, change nothing', async () => {
    const file = reversals({}, {});
    expect(await importOrders(database(), file)).toMatchObject({ accepted: 1, repeated: 1, rejectedCount: 0 });
    await runNext();
    const rows = await everyRow(database());
    expect(await importOrders(database(), file)).toMatchObject({ accepted: 0, repeated: 2, rejectedCount: 0 });
    expect(await everyRow(database())).toBe(rows);
  });

  test.each([
    [{ reversal_of: 'NONE' }, 'REVERSAL_UNKNOWN reversal_of "NONE" is no order that is known.'],
    [{ account_no: 'B' }, 'REVERSAL_DIFFERS reversal_of "O1" is an order of another account_no.'],
    [
      { type: 'FEE', currency: 'EUR', channel: 'CASH' },
      'REVERSAL_DIFFERS reversal_of "O1" is an order of another type, currency, channel.',
    ],
    [
      { account_no: 'B', type: 'ADJUSTMENT', amount: '0.09', reversal_of: 'O4' },
      'REVERSAL_DIFFERS reversal_of "O4" is an order of another sign of the amount.',
    ],
    [{ amount: '1.01' }, 'REVERSAL_TOO_LARGE reversal_of "O1" has 100 minor units left to reverse.'],
    [{ amount: '0' }, 'BAD_REVERSAL_OF amount "0" reverses nothing.'],
    [{ order_no: 'O1' }, 'BAD_REVERSAL_OF reversal_of "O1" names the order itself.'],
  ])('that fit no order are refused at the door: %j', async (row, fault) => {
    expect(await faults(reversals(row))).toEqual([`2 ${fault}`]);
    expect(
      await database().read((session) => session.rows('select 1 from settlement_order where reversal_of is not null')),
    ).toEqual([]);
  });

  test('refused are refused each time they are in the file', async () => {
    const found = await faults(reversals({ reversal_of: 'NONE' }, { reversal_of: 'NONE' }));
    expect(found.map((fault) => fault.split(' ').slice(0, 2).join(' '))).toEqual([
      '2 REVERSAL_UNKNOWN',
      '3 REVERSAL_UNKNOWN',
    ]);
  });

  test('of an order of the same day or file are settled together with it', async () => {
    const file = reversals(
      { order_no: 'O9', amount: '0.50', reversal_of: '' },
      { order_no: 'R2', amount: '0.20', reversal_of: 'O9' },
      { order_no: 'R3', amount: '0.40', reversal_of: 'O9' },
    );
    expect(await faults(file)).toEqual(['4 REVERSAL_TOO_LARGE reversal_of "O9" has 30 minor units left to reverse.']);
    expect(await runNext()).toMatchObject({ outcome: 'OK' });
    expect(await payables(database())).toMatchObject({ 'A USD': '100' });
    expect(await sound()).toEqual([]);
  });

  test('a refund may name its payment: it lowers by itself, and counts as taken back', async () => {
    expect(await faults(reversals({ type: 'REFUND', amount: '0.60' }))).toEqual([]);
    expect(await faults(reversals({ order_no: 'R2', amount: '0.41' }))).toEqual([
      '2 REVERSAL_TOO_LARGE reversal_of "O1" has 40 minor units left to reverse.',
    ]);
    expect(await faults(reversals({ order_no: 'R3', amount: '0.40' }))).toEqual([]);
    expect(await runNext()).toMatchObject({ outcome: 'OK' });
    expect(await payables(database())).toMatchObject({ 'A USD': '-30' });
    expect(await sound()).toEqual([]);
  });

  test('of an order that was cancelled, that is of a later day, or of a reversal, are refused', async () => {
    const cancelled = `insert into settlement_order (order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at, state, cancel_code, finished_at)
      values ('O9', 'A', ?, 'PAYMENT', 5, 'USD', 'CARD', '2026-11-29 10:00:00.000000', 'CANCELED', 'X', '2026-11-29 10:00:00.000')`;
    await database().transact(repeatable('insert', (trx) => trx.change(cancelled, [nextDay])));
    await givenOrders(database(), [{ orderNo: 'O8', accountNo: 'A', minor: 5, batchDay: nextDay }]);
    expect(await faults(reversals({ reversal_of: 'O9', amount: '0.05' }))).toEqual([
      '2 REVERSAL_NOT_SETTLED reversal_of "O9" is CANCELED: there is nothing to reverse.',
    ]);
    expect(await faults(reversals({ reversal_of: 'O8', amount: '0.05', batch_day: day }))).toEqual([
      '2 REVERSAL_NOT_SETTLED reversal_of "O8" is of a later day, 2026-11-30.',
    ]);
    await importOrders(database(), reversals({ amount: '0.40' }));
    await runNext();
    expect(await faults(reversals({ order_no: 'R2', reversal_of: 'R1', amount: '0.40' }))).toEqual([
      '2 REVERSAL_UNKNOWN reversal_of "R1" is itself a reversal.',
    ]);
  });

  test('of one order by several importers at once: one gets it', async () => {
    const outcomes = await Promise.all(
      ['R1', 'R2', 'R3', 'R4'].map((orderNo) => importOrders(database(), reversals({ order_no: orderNo }))),
    );
    expect(outcomes.map(({ accepted }) => accepted).sort()).toEqual([0, 0, 0, 1]);
  });

  test('that got past the door set their account aside, and nobody else', async () => {
    await givenOrders(database(), [
      { orderNo: 'O8', accountNo: 'A', minor: 1, batchDay: nextDay },
      { orderNo: 'O9', accountNo: 'B', minor: 5, batchDay: nextDay },
    ]);
    const insert = `insert into settlement_order (order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at, reversal_of)
                    values ('R1', 'A', ?, 'PAYMENT', -101, 'USD', 'CARD', '2026-11-30 10:00:00.000000', 'O1')`;
    await database().transact(repeatable('insert', (trx) => trx.change(insert, [nextDay])));
    expect(await runNext()).toMatchObject({ outcome: 'PARTIAL', exitCode: 3 });
    expect(await payables(database())).toEqual({ 'A USD': '70', 'B USD': '-11' });
    const aside = await database().read((session) =>
      session.tuples('select account_no, code, detail, orders from quarantine'),
    );
    expect(aside.map((row) => row.map(String).join('|'))).toEqual([
      'A|REVERSAL_REFUSED|Order "R1": reversal_of "O1" has 100 minor units left to reverse.|2',
    ]);
  });

  test('of an order that an earlier day has left are not booked before it', async () => {
    await givenOrders(database(), [{ orderNo: 'LEFT', accountNo: 'C', minor: 50 }]);
    await givenAccounts(database(), { C: 'FROZEN' });
    await runDay(database());
    await givenAccounts(database(), { C: 'ACTIVE' });
    const file = reversals({ account_no: 'C', amount: '0.50', reversal_of: 'LEFT' });
    expect(await faults(file)).toEqual([]);
    expect(await runNext()).toMatchObject({ outcome: 'PARTIAL' });
    const aside = await database().read((session) =>
      session.tuples('select code, detail from quarantine where batch_day = ?', [nextDay]),
    );
    expect(aside).toEqual([['REVERSAL_REFUSED', 'Order "R1": reversal_of "LEFT" is INIT: it was left on 2026-11-29.']]);
    expect(await payables(database())).not.toHaveProperty('C USD');
  });

  test('settled beyond their order, by whatever way, are what verify names', async () => {
    await importOrders(database(), reversals({ amount: '0.40' }));
    await runNext();
    await database().transact(
      repeatable('plant', (trx) => trx.change(`update settlement_order set account_no = 'B' where order_no = 'O1'`)),
    );
    const [check] = (await sound()).filter(({ name }) => name === 'reversal');
    expect(check?.contradictions).toEqual([
      { table: 'settlement_order', key: 'R1', problem: 'reverses O1, which is an order of another account_no' },
    ]);
  });
});

describe('the arithmetic of reversals', () => {
  const original = fc.record({
    type: fc.constantFrom(...orderTypes),
    minor: fc.bigInt(1n, 10n ** 12n),
    parts: fc.array(fc.bigInt(1n, 10n ** 12n), { maxLength: 6 }),
  });

  test('whatever is reversed in whatever parts: never more than was there, and what is booked is what is left', () => {
    fc.assert(
      fc.property(original, ({ type, minor, parts }) => {
        const order = { accountNo: 'A', batchDay: day, type, currency: 'USD', channel: 'CARD' };
        const state: Reversible = {
          ...order,
          amountMinor: minor,
          state: 'SUCCESS',
          isReversal: false,
          reversedMinor: 0n,
        };
        const orders: Order[] = [{ ...order, id: 1n, amountMinor: minor }];
        parts.forEach((part, at) => {
          const reversal = { ...order, orderNo: `R${String(at)}`, reversalOf: 'O', amountMinor: part };
          if (reversalFault(reversal, state) !== null) {
            expect(part > minor - state.reversedMinor).toBe(true);
            return;
          }
          state.reversedMinor += part;
          orders.push({ ...order, id: BigInt(at + 2), amountMinor: storedAmount(reversal, order) });
        });
        const left = minor - state.reversedMinor;
        expect(left >= 0n).toBe(true);
        const [net] = netOrders(orders);
        const sign = type === 'REFUND' || type === 'FEE' ? -1n : 1n;
        expect(net?.amountMinor).toBe(sign * left);
        // The entry asserts that its debits equal its credits, and that it moves the account by the net.
        settlementEntry({
          bizNo: 'S1.1.1',
          accountNo: 'A',
          currency: 'USD',
          netMinor: sign * left,
          lines: net?.lines ?? [],
        });
      }),
    );
  });
});
