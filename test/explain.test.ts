import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { account, explainCommands } from '../src/commands/explain.js';
import { listDiscrepancies } from '../src/discrepancies/views.js';
import { listPayouts } from '../src/payouts/views.js';
import { answerOf, type Answer } from './support/command.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from './support/databases.js';
import { day } from './support/day.js';
import { transaction } from './support/deposits.js';
import { givenOneOfEach } from './support/explained.js';

type Kind = keyof typeof explainCommands;

interface Document {
  schema: string;
  kind: string;
  id: string;
  state: string;
  head: string[];
  timeline: { at: string | null; table: string; what: string; amountMinor: string | null; currency: string | null }[];
  arithmetic: { currency: string; agrees: boolean; lines: { what: string; amountMinor: string; isTotal: boolean }[] }[];
  stuck: string | null;
  next: string | null;
}

describe.each(databaseKinds)('settle explain [%s]', (kind) => {
  let place: TestDatabase;
  let payoutIds: Map<string, string>;
  let discrepancyId: string;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await givenOneOfEach(place.database);
    const payouts = await place.database.read((session) => listPayouts(session, { limit: 100 }));
    payoutIds = new Map(payouts.map(({ accountNo, currency, id }) => [`${accountNo} ${currency}`, String(id)]));
    const [found] = await place.database.read((session) => listDiscrepancies(session, { class: 'AMOUNT', limit: 1 }));
    discrepancyId = String(found?.id);
  }, 60_000);
  afterAll(() => place.drop());

  const explain = (of: Kind, id: string, output: 'text' | 'json' = 'text'): Promise<Answer> =>
    answerOf(explainCommands[of], { id }, { url: place.url, output, now: '2026-11-30T03:00:00.000Z' });
  const documentOf = async (of: Kind, id: string): Promise<Document> =>
    JSON.parse((await explain(of, id, 'json')).stdout) as Document;
  const payoutOf = (account: string): string => payoutIds.get(account) ?? '';
  const tablesIn = ({ timeline }: Document): string[] => timeline.map(({ table }) => table);

  test('an order goes from its capture over net, message and journal to its payout, in the order of time', async () => {
    const document = await documentOf('order', 'O-1001');
    expect(document).toMatchObject({ schema: 'settle.explain', kind: 'order', id: 'O-1001', state: 'SUCCESS' });
    const tables = tablesIn(document);
    const way = [
      'settlement_order',
      'chunk',
      'net',
      'outbox',
      'journal_entry',
      'ledger_entry',
      'payout',
      'payout_move',
    ];
    expect(way.map((table) => tables.indexOf(table))).toEqual(
      way.map((table) => tables.indexOf(table)).sort((a, b) => a - b),
    );
    expect(way.filter((table) => !tables.includes(table))).toEqual([]);
    expect(tables).toContain('delivery');
    const times = document.timeline.map(({ at }) => at?.slice(0, 23) ?? '');
    expect(times).toEqual([...times].sort());
    expect(document.timeline[0]).toMatchObject({ table: 'settlement_order', amountMinor: '10000', currency: 'USD' });
  });

  test('the net is added up from its orders, and what terms took of it follows', async () => {
    const { arithmetic } = await documentOf('order', 'O-1002');
    expect(arithmetic).toMatchObject([{ currency: 'USD', agrees: true }]);
    expect(arithmetic[0]?.lines.map(({ what, amountMinor }) => [what.replace(/S[0-9.]+/, 'S'), amountMinor])).toEqual([
      ['PAYMENT over CARD', '10000'],
      ['REFUND over CARD', '-2000'],
      ['= net S', '8000'],
      ['FEE_PLAN', '-100'],
      ['= payable of the net', '7900'],
    ]);
  });

  test('a net that does not add up says so', async () => {
    const { database } = place;
    const set = (minor: number) =>
      database.read((session) =>
        session.change(`update net set amount_minor = ? where account_no = 'A1' and currency = 'USD'`, [minor]),
      );
    await set(8_001);
    const { stdout } = await explain('order', 'O-1002');
    await set(8_000);
    expect(stdout).toContain('! The lines do not add up to what is stored. Type: settle verify');
    expect((await explain('order', 'O-1002')).stdout).not.toContain('do not add up');
  });

  test.each([
    ['F-1', 'INIT', /set aside for the day: ACCOUNT_FROZEN/, 'settle quarantine release F1 --by NAME --reason TEXT'],
    ['C-1', 'CANCELED', null, null],
    ['N-1', 'INIT', /waits for the end of its day, 2026-11-30/, null],
    ['O-2001', 'SUCCESS', /may be paid or not/, 'settle payout check'],
    ['O "x" 1', 'SUCCESS', null, null],
    ['O-1003', 'SUCCESS', /a statement says otherwise/, 'settle explain discrepancy N'],
    ['O-1001', 'SUCCESS', null, null],
  ])('order %s is %s, stands at %p, and is moved by %p', async (orderNo, state, stuck, next) => {
    const document = await documentOf('order', orderNo);
    expect(document.state).toBe(state);
    if (stuck === null) expect(document.stuck).toBeNull();
    else expect(document.stuck).toMatch(stuck);
    expect(document.next?.replace(/discrepancy [0-9]+$/, 'discrepancy N') ?? null).toBe(next);
  });

  test.each([
    ['F1', /^It is set aside for the day: ACCOUNT_FROZEN/, 'settle quarantine release F1 --by NAME --reason TEXT'],
    ['A2', /may be paid or not/, 'settle payout check'],
    ['A 3', null, `settle ledger entries --account 'A 3' --batch-day ${day}`],
  ])('account %s stands at %p on the day, and is moved by %s', async (accountNo, stuck, next) => {
    const asked = { url: place.url, output: 'json' as const, now: '2026-11-30T03:00:00.000Z' };
    const { stdout } = await answerOf(account, { account: accountNo, batchDay: day }, asked);
    const document = JSON.parse(stdout) as Document;
    expect(document).toMatchObject({ kind: 'account', id: accountNo, next });
    if (stuck === null) expect(document.stuck).toBeNull();
    else expect(document.stuck).toMatch(stuck);
  });

  test('a payout by id, by "P7" and by its key is one page, with its entries and its line', async () => {
    const id = payoutOf('A1 JPY');
    const document = await documentOf('payout', id);
    expect(document).toMatchObject({ kind: 'payout', id, state: 'SUCCESS' });
    for (const table of ['payout', 'payout_move', 'journal_entry', 'ledger_entry', 'statement_line', 'discrepancy']) {
      expect(tablesIn(document)).toContain(table);
    }
    expect(document.next).toBe(`settle explain discrepancy ${discrepancyId}`);
    const key = /Key (\S+?)[;.]/.exec(document.head.join('\n'))?.[1] ?? '';
    expect(await documentOf('payout', `P${id}`)).toEqual(document);
    expect(await documentOf('payout', ` ${key} `)).toEqual(document);
    const [books] = (await documentOf('payout', payoutOf('A1 USD'))).arithmetic;
    expect(books).toMatchObject({ agrees: true });
    expect(books?.lines.map(({ amountMinor }) => amountMinor)).toEqual(['0', '10000', '-2100', '7900', '-7900', '0']);
  });

  test('shows nothing of where money goes to', async () => {
    for (const id of payoutIds.values()) {
      for (const output of ['text', 'json'] as const) {
        expect((await explain('payout', id, output)).stdout).not.toMatch(/DE00|destination|holder/);
      }
    }
  });

  test('a discrepancy shows both rows, its history, and what decides it', async () => {
    const document = await documentOf('discrepancy', `#${discrepancyId}`);
    expect(document).toMatchObject({ kind: 'discrepancy', id: discrepancyId });
    for (const table of [
      'payout',
      'payout_move',
      'statement_line',
      'statement_match',
      'discrepancy',
      'discrepancy_move',
    ]) {
      expect(tablesIn(document)).toContain(table);
    }
    expect(document.arithmetic[0]?.lines.at(-1)).toMatchObject({ what: '= difference', amountMinor: '-5' });
    const lines = document.timeline.map(({ at, table, what }) => `${at ?? ''} ${table} ${what}`);
    expect(new Set(lines).size).toBe(lines.length);
    expect(document.next).toMatch(/^settle (discrepancy resolve|reconcile)/);
  });

  test('a deposit goes on as the order that its scene credits', async () => {
    const document = await documentOf('deposit', 'R-1');
    expect(document).toMatchObject({ kind: 'deposit', id: 'R-1', state: 'success' });
    expect(document.head.join('\n')).toMatch(/25000000 base units credit 25\.00 USD to account M1: order DEPOSIT-\d+/);
    const way = [
      'deposit_order',
      'deposit_review',
      'deposit_transaction',
      'settlement_order',
      'net',
      'journal_entry',
      'payout',
    ];
    expect(way.filter((table) => !tablesIn(document).includes(table))).toEqual([]);
    const event = document.timeline.find(({ table }) => table === 'deposit_transaction');
    expect(event?.what).toContain(`${transaction}, log 0 of block 100`);
    expect(await documentOf('deposit', 'R-2')).toMatchObject({ state: 'pending', next: 'settle deposit plan R-2' });
  });

  test('the page of an order reads from what it is to what to type', async () => {
    const { code, stdout } = await explain('order', 'F-1');
    expect(code).toBe(0);
    const lines = stdout
      .split('\n')
      .map((line) => line.replace(/run \d+/, 'run N').replace(/order id \d+/, 'order id N'));
    expect(lines).toEqual([
      'Order F-1: PAYMENT over CARD, 0.50 USD to account F1.',
      `Batch day ${day}, INIT.`,
      '',
      expect.stringMatching(/^at +row +what +amount$/),
      expect.stringMatching(
        /^2026-11-29 10:00:00 UTC  settlement_order  order F-1 captured: PAYMENT over CARD +0\.50  USD$/,
      ),
      expect.stringMatching(/^2026-11-30 01:00:00 UTC  batch +batch day 2026-11-29 opened, up to order id N$/),
      expect.stringMatching(
        /^2026-11-30 01:00:00 UTC  quarantine +account set aside: ACCOUNT_FROZEN\. The account is frozen\.$/,
      ),
      expect.stringMatching(/^2026-11-30 01:00:00 UTC  batch +batch day 2026-11-29 closed$/),
      '',
      'Stands: Its account is set aside for the day: ACCOUNT_FROZEN. The account is frozen. Mend that first.',
      'Next: settle quarantine release F1 --by NAME --reason TEXT',
    ]);
  });

  test.each([
    ['order', 'A2', 'settle explain account A2', /"A2" is an account/],
    ['order', 'o-10', 'settle explain order O-1001', /Did you mean "O-1001", "O-1002", "O-1003"\?/],
    ['order', 'R-1', 'settle explain deposit R-1', /"R-1" is a deposit/],
    ['order', 'nothing', 'settle import orders FILE', /^There is no order "nothing"\.$/],
    // Larger than any id of a row can be.
    ['payout', '9223372036854775808', 'settle payout list', /^There is no payout/],
    ['payout', 'O "x" 1', `settle explain order 'O "x" 1'`, /is an order/],
    ['payout', '999999', 'settle payout list', /There is no payout "999999"/],
    ['payout', '结算', 'settle payout list', /There is no payout "结算"/],
    ['deposit', 'O-1001', 'settle explain order O-1001', /"O-1001" is an order/],
    ['discrepancy', '999999', 'settle discrepancy list --all', /There is no discrepancy 999999/],
  ] as const)('unknown %s %s: what it may be, and the next command %s', async (of, id, next, message) => {
    await expect(explain(of, id)).rejects.toMatchObject({
      ...{ code: 'NOT_FOUND', exitCode: 2, next },
      message: expect.stringMatching(message) as unknown,
    });
  });

  test.each([
    ['order', ''],
    ['order', 'a\u0007b'],
    ['payout', 'x'.repeat(65)],
    ['discrepancy', 'O-1001'],
    ['discrepancy', '1e3'],
  ] as const)('%s %j is no id: refused before anything is asked for', async (of, id) => {
    await expect(explain(of, id)).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
  });
});
