import { beforeEach, expect, test } from '@jest/globals';
import type { Database } from '../src/db/database.js';
import { repeatable } from '../src/db/transaction.js';
import { bookEntries } from '../src/ledger/bookEntries.js';
import { reverseEntry } from '../src/ledger/reverseEntry.js';
import { trialBalance } from '../src/ledger/views.js';
import { reconcileDay } from '../src/reconciliation/reconcile.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { collectReport } from '../src/reports/dayReport.js';
import { emptyBooks } from './support/books.js';
import { onEachDatabase } from './support/databases.js';
import { everyRow, givenOrders, payables, runDay } from './support/day.js';
import { importFeePlans, importTerms } from './support/importing.js';
import { plant } from './support/plants.js';
import { settleInside as settle } from './support/inside.js';

const day = '2026-11-29';
const next = '2026-11-30';
const decision = { by: 'alice', reason: 'wrong account', at: '2026-11-30T02:00:00.000Z' };

const column = async (database: Database, sql: string): Promise<string[]> =>
  (await database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));
const legs = (database: Database, bizNo: string): Promise<string[]> =>
  column(
    database,
    `select e.side, e.ledger_account, e.sub_account, e.amount_minor, coalesce(e.reason, '-') from journal_entry j
       join ledger_entry e on e.journal_entry_id = j.id where j.biz_no = '${bizNo}' order by e.line_no`,
  );
const contradictions = async (database: Database): Promise<{ key: string; problem: string }[]> =>
  // The entry that stands here for a payout's has no payout.
  (await verifyBooks(database))
    .filter(({ name }) => !name.startsWith('payout'))
    .flatMap((check) => check.contradictions);

onEachDatabase('settle ledger reverse', (current) => {
  let bizNo: string;
  beforeEach(async () => {
    const { database } = current();
    await emptyBooks(database);
    await importFeePlans(database, 'fee_plan,valid_from,type,basis_points\nP,2026-01-01,PAYMENT,100\n');
    await importTerms(
      database,
      'account_no,valid_from,fee_plan,reserve_basis_points,reserve_days\nA1,2026-01-01,P,1000,30\n',
    );
    await givenOrders(database, [
      { orderNo: 'O1', accountNo: 'A1', minor: 1_000 },
      { orderNo: 'O2', accountNo: 'A1', type: 'REFUND', minor: 300 },
    ]);
    await runDay(database);
    [bizNo = ''] = await column(database, `select biz_no from journal_entry where type = 'SETTLEMENT'`);
  });

  test('books the other side on the open day, with the value date of the entry, and proves itself', async () => {
    const { database } = current();
    const reversed = await reverseEntry(database, bizNo, decision);
    expect(reversed).toMatchObject({
      bizNo: `R-${bizNo}`,
      reverses: bizNo,
      batchDay: day,
      bookingDay: next,
      already: false,
    });
    const sides: Record<string, string> = { DEBIT: 'CREDIT', CREDIT: 'DEBIT' };
    const turned = (await legs(database, bizNo)).map((leg) => leg.replace(/^\w+/, (side) => sides[side] ?? ''));
    expect(turned.length).toBe(6);
    expect(await legs(database, `R-${bizNo}`)).toEqual(turned);
    expect(await payables(database)).toEqual({ 'A1 USD': '-100' }); // only the reserve that is held is left
    expect(await contradictions(database)).toEqual([]);
    expect((await reconcileDay(database, day)).outcome).toBe('OK');
    expect((await collectReport(database, { day })).tieOut.every(({ agrees }) => agrees)).toBe(true);
    await runDay(database, { target: next });
    expect(await contradictions(database)).toEqual([]);
    expect((await reconcileDay(database, next)).outcome).toBe('OK');
    expect((await database.read((session) => trialBalance(session))).balanced).toBe(true);
  });

  test('records who decided, leaves orders alone, and repeated changes nothing', async () => {
    const { database } = current();
    await reverseEntry(database, bizNo, decision);
    expect(await column(database, 'select action, subject, by_name, reason from operator_action')).toEqual([
      `LEDGER_REVERSE journal entry ${bizNo} by R-${bizNo} alice wrong account`,
    ]);
    expect(await column(database, 'select distinct state, version from settlement_order')).toEqual(['SUCCESS 2']);
    const before = await everyRow(database);
    expect(await reverseEntry(database, bizNo, { ...decision, reason: 'again' })).toMatchObject({ already: true });
    expect(await everyRow(database)).toBe(before);
    await runDay(database);
    expect(await contradictions(database)).toEqual([]);
  });

  test('may be reversed itself, after which the first entry holds and is not taken back under the same number', async () => {
    const { database } = current();
    const before = await payables(database);
    await reverseEntry(database, bizNo, decision);
    await reverseEntry(database, `R-${bizNo}`, decision);
    expect(await payables(database)).toEqual(before);
    const rows = await everyRow(database);
    await expect(reverseEntry(database, bizNo, decision)).rejects.toMatchObject({
      code: 'ENTRY_NOT_REVERSIBLE',
      next: `settle ledger reverse R-R-${bizNo} --by NAME --reason TEXT`,
    });
    expect(await everyRow(database)).toBe(rows);
    await reverseEntry(database, `R-R-${bizNo}`, decision);
    expect(await payables(database)).toEqual({ 'A1 USD': '-100' });
    expect(await contradictions(database)).toEqual([]);
  });

  test('takes back what the terms did, too', async () => {
    const { database } = current();
    const [terms = ''] = await column(database, `select biz_no from journal_entry where type = 'TERMS'`);
    await reverseEntry(database, terms, decision);
    expect(
      await column(
        database,
        `select sum(case side when 'CREDIT' then amount_minor else -amount_minor end)
      from ledger_entry where ledger_account = 'RESERVE'`,
      ),
    ).toEqual(['0']);
    await runDay(database, { target: next });
    expect(await contradictions(database)).toEqual([]);
    expect((await reconcileDay(database, day)).outcome).toBe('OK');
  });

  test.each(['S9.9.9', '', 'S1.1.1 ', 'ü', 'x'.repeat(300)])(
    'refuses a number that no entry has: %j',
    async (unknown) => {
      const before = await everyRow(current().database);
      await expect(reverseEntry(current().database, unknown, decision)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await everyRow(current().database)).toBe(before);
    },
  );

  test('refuses a payout, and a decision without a name', async () => {
    const { database } = current();
    await database.transact(
      repeatable('a payout', (trx) =>
        bookEntries(
          trx,
          [
            {
              ...{ bizNo: 'P1', type: 'PAYOUT', batchDay: day, accountNo: 'A1' },
              entries: (['DEBIT', 'CREDIT'] as const).map((side) => ({
                ...{
                  ledgerAccount: side === 'DEBIT' ? 'MERCHANT_PAYABLE' : 'PAYOUT_IN_TRANSIT',
                  subAccount: 'A1',
                  side,
                },
                ...{ amountMinor: 5n, currency: 'USD' },
              })),
            },
          ],
          decision.at,
        ),
      ),
    );
    await expect(reverseEntry(database, 'P1', decision)).rejects.toMatchObject({ code: 'ENTRY_NOT_REVERSIBLE' });
    await expect(reverseEntry(database, bizNo, { ...decision, by: ' ' })).rejects.toMatchObject({ code: 'USAGE' });
    expect(await contradictions(database)).toEqual([]);
  });

  test('of two at the same moment books one', async () => {
    const { database } = current();
    const both = await Promise.all(['alice', 'bob'].map((by) => reverseEntry(database, bizNo, { ...decision, by })));
    expect(both.map(({ already }) => already).sort()).toEqual([false, true]);
    expect(await column(database, 'select count(*) from operator_action')).toEqual(['1']);
    expect(await contradictions(database)).toEqual([]);
  });

  test('says what it did, and what it did not', async () => {
    const { url } = current();
    const args = ['ledger', 'reverse', bizNo, '--by', 'alice', '--reason', 'wrong account'];
    const first = await settle(args, { url });
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toContain(`${bizNo} is reversed by R-${bizNo}, booked on ${next} with the value date ${day}.`);
    expect(first.stdout).toMatch(/MERCHANT_PAYABLE +A1 +10\.00 +USD/);
    const again = await settle(args, { url });
    expect(again).toMatchObject({
      code: 0,
      stdout: `${bizNo} was reversed before, by R-${bizNo} on ${next}. Nothing was changed.\n`,
    });
    const json = await settle([...args, '--json'], { url });
    expect(JSON.parse(json.stdout)).toMatchObject({
      schema: 'settle.ledgerReverse',
      bizNo: `R-${bizNo}`,
      already: true,
    });
    const unknown = await settle(['ledger', 'reverse', 'S99.1.1', '--by', 'a', '--reason', 'b'], { url });
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain('NOT_FOUND');
    const explained = await settle(['explain', 'account', 'A1', '--batch-day', day], { url });
    expect(explained.stdout).toMatch(/REVERSAL +-6\.90/);
    const entries = await settle(['ledger', 'entries', '--account', 'A1'], { url });
    expect(entries.stdout).toMatch(new RegExp(`${day} +${next} +R-${bizNo.replaceAll('.', '\\.')}`));
  });

  test.each<[string, string, RegExp]>([
    [
      'an amount',
      'update ledger_entry set amount_minor = amount_minor + 1 where journal_entry_id = ID',
      /its message says/,
    ],
    ['its own number', `update journal_entry set biz_no = 'R-X' where id = ID`, /R-X/],
    [
      'its message',
      `update outbox set payload = replace(payload, '"reverses":"S', '"reverses":"T') where id = ID`,
      /reverses T/,
    ],
    ['its type', `update journal_entry set type = 'PAYOUT' where id = ID`, /type is REVERSAL instead of PAYOUT/],
    ['its account', `update outbox set account_no = 'A2' where id = ID`, /accountNo is A1 instead of A2/],
    [
      'what it reverses',
      `update ledger_entry set sub_account = 'A2' where journal_entry_id = ORIGINAL and ledger_account = 'MERCHANT_PAYABLE'`,
      /the other side of/,
    ],
  ])('is found by verify with another %s', async (_what, sql, problem) => {
    const { database } = current();
    await reverseEntry(database, bizNo, decision);
    const [id = ''] = await column(database, `select id from journal_entry where biz_no = 'R-${bizNo}'`);
    const [original = ''] = await column(database, `select id from journal_entry where biz_no = '${bizNo}'`);
    await plant(database, sql.replace('ID', id).replace('ORIGINAL', original));
    expect((await contradictions(database)).map((found) => `${found.key} ${found.problem}`).join('\n')).toMatch(
      problem,
    );
  });
});
