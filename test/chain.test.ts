import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import type { Database } from '../src/db/database.js';
import { repeatable } from '../src/db/transaction.js';
import { toBigInt, toText } from '../src/db/values.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { emptyBooks } from './support/books.js';
import { onEachDatabase } from './support/databases.js';
import { givenOrders, givenVariedDay, runDay } from './support/day.js';
import { writeDigests, writeLinks } from './support/ledgerBooks.js';
import { withoutTriggers } from './support/plants.js';
import { settleInside as settle } from './support/inside.js';

const day = '2026-11-29';
const unicode = 'Zażółć\u{1F4B0}';

interface Link {
  linkNo: string;
  bookingDay: string;
  entries: string;
  previousHead: string;
  head: string;
}

async function links(database: Database): Promise<Link[]> {
  const rows = await database.read((session) =>
    session.tuples('select link_no, booking_day, entries, previous_head, head from chain_link order by link_no'),
  );
  return rows.map((row) => {
    const [linkNo, bookingDay, entries, previousHead, head] = row.map(String) as [
      string,
      string,
      string,
      string,
      string,
    ];
    return { linkNo, bookingDay, entries, previousHead, head };
  });
}

/** What verify says of the chain: "table key", and how the problems read. */
async function broken(database: Database): Promise<{ keys: string[]; problems: string[] }> {
  const check = (await verifyBooks(database)).find(({ name }) => name === 'hash-chain');
  const found = check?.contradictions ?? [];
  return { keys: found.map(({ table, key }) => `${table} ${key}`), problems: found.map(({ problem }) => problem) };
}

onEachDatabase('the hash chain', (current) => {
  const change = (sql: string): Promise<number> =>
    current().database.transact(repeatable('hand on the database', (trx) => trx.change(sql)));

  beforeAll(() => withoutTriggers(current().database));
  beforeEach(async () => {
    const { database } = current();
    await emptyBooks(database);
    await givenOrders(database, [{ orderNo: 'E1', accountNo: 'A1', minor: 5, batchDay: '2026-11-28' }]);
    await runDay(database, { target: '2026-11-28' });
    await givenVariedDay(database, 30);
    await givenOrders(database, [{ orderNo: 'U1', accountNo: unicode, minor: 77 }]);
    await runDay(database);
  });

  test('links each closed day to the one before, and its head is in the document and the report', async () => {
    const { database, url } = current();
    const made = await links(database);
    expect(made.map(({ linkNo, bookingDay }) => [linkNo, bookingDay])).toEqual([
      ['1', '2026-11-28'],
      ['2', day],
    ]);
    expect(made[0]?.previousHead).toBe('0'.repeat(64));
    expect(made[1]?.previousHead).toBe(made[0]?.head);
    expect(await broken(database)).toEqual({ keys: [], problems: [] });
    const head = made[1]?.head ?? 'none';
    const { ledgerHead } = await runDay(database);
    expect(ledgerHead).toEqual({
      ...{ link: 2, entries: Number(made[1]?.entries), head, previousHead: made[0]?.head },
    });
    const reported = await settle(['report', '--format', 'json'], { url });
    expect(JSON.parse(reported.stdout)).toMatchObject({ ledgerHead: { link: 2, head } });
    const text = await settle(['report', '--format', 'text'], { url });
    expect(text.stdout).toContain(`Ledger head ${head} (link 2).`);
  });

  test('is what another hand makes of the entries by the description', async () => {
    const { database } = current();
    const before = await database.read((session) => session.tuples('select id, digest from journal_entry order by id'));
    expect(before.length).toBeGreaterThan(20);
    await change('update journal_entry set digest = null');
    const heads = await links(database);
    await change('delete from chain_link');
    await database.transact(
      repeatable('by the description', async (trx) => {
        await writeDigests(trx);
        await writeLinks(trx);
      }),
    );
    expect(
      await database.read((session) => session.tuples('select id, digest from journal_entry order by id')),
    ).toEqual(before);
    expect(await links(database)).toEqual(heads);
  });

  test('can be recomputed by sha256sum', async () => {
    const { database } = current();
    const [first, second] = await links(database);
    const digests = await database.read((session) =>
      session.tuples('select digest from journal_entry where booking_day = ? order by id', [day]),
    );
    const lines = ['settle.link.1', first?.head, day, ...digests.map(([digest]) => toText(digest)), ''].join('\n');
    expect(spawnSync('sha256sum', { input: lines, encoding: 'utf8' }).stdout.slice(0, 64)).toBe(second?.head);
  });

  test('takes entries that come late into the link of the day that is open, and touches no link that is there', async () => {
    const { database } = current();
    const before = await links(database);
    await givenOrders(database, [{ orderNo: 'L1', accountNo: 'A1', minor: 3, batchDay: '2026-11-28' }]);
    await runDay(database);
    expect(await links(database)).toEqual(before);
    await runDay(database, { target: '2026-11-30' });
    const after = await links(database);
    expect(after.slice(0, 2)).toEqual(before);
    expect(after.slice(2)).toMatchObject([
      { linkNo: '3', bookingDay: '2026-11-30', entries: '1', previousHead: before[1]?.head },
    ]);
    expect(await broken(database)).toEqual({ keys: [], problems: [] });
  });

  test('a day without orders has a link too, and a further run adds none', async () => {
    const { database } = current();
    await runDay(database, { target: '2026-11-30' });
    await runDay(database, { target: '2026-11-30' });
    expect((await links(database)).slice(2)).toMatchObject([{ bookingDay: '2026-11-30', entries: '0' }]);
    expect(await broken(database)).toEqual({ keys: [], problems: [] });
  });

  test.each([
    ['journal_entry', `biz_no = 'S9.9.9'`],
    ['journal_entry', `type = 'OTHER'`],
    ['journal_entry', `batch_day = '2026-11-27'`],
    ['journal_entry', 'run_id = 99'],
    ['journal_entry', 'run_id = null'],
    ['journal_entry', 'ledger_entries = ledger_entries + 1'],
    ['journal_entry', `posted_at = '2026-11-30 01:00:00.001'`],
    ['journal_entry', 'digest = null'],
    ['journal_entry', `digest = '${'0'.repeat(64)}'`],
    ['ledger_entry', 'amount_minor = amount_minor + 1'],
    ['ledger_entry', `ledger_account = 'SUSPENSE'`],
    ['ledger_entry', `sub_account = 'Zazólc'`],
    ['ledger_entry', `currency = 'EUR'`],
    ['ledger_entry', `side = case side when 'DEBIT' then 'CREDIT' else 'DEBIT' end`],
    ['ledger_entry', `reason = 'FEE'`],
    ['ledger_entry', 'line_no = line_no + 10'],
  ])('names the journal entry of which %s has: %s', async (table, set) => {
    const { database } = current();
    const [row] = await database.read((session) =>
      session.tuples(`select journal_entry_id from ledger_entry where sub_account = ?`, [unicode]),
    );
    const id = String(toBigInt(row?.[0]));
    const where =
      table === 'journal_entry' ? `id = ${id}` : `journal_entry_id = ${id} and ledger_account = 'MERCHANT_PAYABLE'`;
    expect(await change(`update ${table} set ${set} where ${where}`)).toBe(1);
    const { keys, problems } = await broken(database);
    expect(keys).toContain(`journal_entry ${id}`);
    expect(problems[0]).toMatch(/2026-11-29/);
  });

  test.each<[string, string[], string]>([
    [
      'an entry changed together with its digest',
      [`update ledger_entry set amount_minor = amount_minor + 1 where journal_entry_id = 3`],
      'chain_link 2',
    ],
    [
      'an entry that is gone',
      ['delete from ledger_entry where journal_entry_id = 3', 'delete from journal_entry where id = 3'],
      'chain_link 2',
    ],
    [
      'an entry moved to another day',
      [`update journal_entry set booking_day = '2026-11-28' where id = 3`],
      'chain_link 2',
    ],
    [
      'an entry moved to an open day',
      [`update journal_entry set booking_day = '2026-12-05' where id = 3`],
      'chain_link 2',
    ],
    [
      'an entry added later',
      [
        `insert into journal_entry (id, biz_no, type, batch_day, booking_day, ledger_entries, posted_at) values (999, 'X', 'SETTLEMENT', '${day}', '${day}', 0, '2026-11-30 01:00:00.000')`,
      ],
      'chain_link 2',
    ],
    ['a link that is gone', ['delete from chain_link where link_no = 1'], 'chain_link 2'],
    ['the last link gone', ['delete from chain_link where link_no = 2'], `chain_link ${day}`],
    ['another head', [`update chain_link set head = '${'1'.repeat(64)}' where link_no = 1`], 'chain_link 1'],
    [
      'another head before',
      [`update chain_link set previous_head = '${'1'.repeat(64)}' where link_no = 2`],
      'chain_link 2',
    ],
    ['another count', ['update chain_link set entries = entries + 1 where link_no = 2'], 'chain_link 2'],
    ['another day', [`update chain_link set booking_day = '2026-11-27' where link_no = 1`], 'chain_link 2026-11-28'],
    [
      'an earlier day than the one before',
      [`update chain_link set booking_day = '2026-11-27' where link_no = 2`],
      'chain_link 2',
    ],
    ['an open day', [`update chain_link set booking_day = '2026-12-05' where link_no = 2`], 'chain_link 2'],
  ])('names the link of %s', async (what, statements, key) => {
    const { database } = current();
    // Ids go on counting on each database: the third journal entry of the day is meant.
    const ids = await database.read((session) => session.tuples('select id from journal_entry order by id'));
    const third = String(toBigInt(ids[3]?.[0]));
    for (const sql of statements) await change(sql.replace(/= 3$/, `= ${third}`));
    if (what.includes('digest')) {
      await change(`update journal_entry set digest = null where id = ${third}`);
      await database.transact(repeatable('forge', writeDigests));
    }
    expect((await broken(database)).keys).toContain(key);
  });
});
