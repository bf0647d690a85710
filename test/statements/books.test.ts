import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decideDiscrepancy, directDiscrepancy } from '../../src/discrepancies/decide.js';
import { alertSevere, countAttempts } from '../../src/discrepancies/record.js';
import { discrepancyHistory, listDiscrepancies } from '../../src/discrepancies/views.js';
import { repeatable } from '../../src/db/transaction.js';
import { Checklist } from '../../src/reconciliation/checklist.js';
import { addDays } from '../../src/kernel/batchDay.js';
import { checkStatements } from '../../src/reconciliation/statementChecks.js';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { explainCash } from '../../src/statements/cash.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { importText, match, now, statementText, type TestLine } from '../support/matching.js';
import { alerts, paid, plan, refused, ScriptedChannel, submit } from '../support/payouts.js';
import { withoutTriggers } from '../support/plants.js';

// A settled day with payouts, the bank's statement of it with a difference of each class, what people decide on them, and
// what `settle verify` says of all that: nothing, until a row is changed behind its back.

const person = (by: string, at = now): { by: string; reason: string; at: string } => ({ by, reason: 'because', at });

describe.each(databaseKinds)('books with statements [%s]', (kind) => {
  let place: TestDatabase;
  let bank: ScriptedChannel;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    const { database } = place;
    const accounts = Array.from({ length: 8 }, (_, at) => `A${String(at)}`);
    await givenOrders(
      database,
      accounts.map((accountNo, at) => ({ orderNo: `O${String(at)}`, accountNo, minor: 1_000 + at })),
    );
    await runDay(database);
    await plan(database);
    bank = new ScriptedChannel();
    bank.rules = { ...bank.rules, concurrency: 1 };
    bank.submits = [paid, paid, paid, paid, paid, paid, paid, refused];
    await submit(database, bank);
    await importText(database, statementOf(bank));
    await match(database, { matches: { payouts: true, orders: false } });
    await withoutTriggers(database);
  }, 120_000);
  afterAll(() => place.drop());

  /** One payout each: agrees, missing, other amount, twice, came back, other currency; one refused that was paid; a stranger. */
  function statementOf({ book }: ScriptedChannel): string {
    const lines = book.entries.flatMap(({ key, amountMinor, outcome }, at): TestLine[] => {
      const line = { minor: amountMinor, our: key };
      if (outcome === 'REFUSED') return [line];
      if (at === 1) return [];
      if (at === 2) return [{ ...line, minor: amountMinor + 5n }];
      if (at === 3) return [line, line];
      if (at === 4) return [line, { ...line, kind: 'RETURN', direction: 'CREDIT' }];
      if (at === 5) return [{ ...line, currency: 'EUR' }];
      return [line];
    });
    const all = [...lines, { minor: 77, our: 'stranger' }, { kind: 'FEE', minor: 3 }];
    const moved = all
      .filter(({ currency }) => currency !== 'EUR')
      .reduce((sum, { minor, direction }) => sum + (direction === 'CREDIT' ? BigInt(minor) : -BigInt(minor)), 0n);
    // Payouts are sent at the moment of the database's clock.
    const today = new Date().toISOString().slice(0, 10);
    return statementText({
      account: 'X',
      from: addDays(today, -1),
      to: addDays(today, 1),
      opening: 50_000,
      closing: 50_000n + moved,
      lines: all,
    });
  }

  const idOf = async (kindOf: string): Promise<bigint> => {
    const [found] = await place.database.read((session) => listDiscrepancies(session, { class: kindOf, limit: 1 }));
    if (found === undefined) throw new Error(`No ${kindOf}`);
    return found.id;
  };
  const contradictions = async (): Promise<string[]> => {
    const checks = await verifyBooks(place.database);
    return checks
      .filter(({ name }) => name !== 'append-only')
      .flatMap(({ name, contradictions: found }) => found.map(({ key, problem }) => `${name} ${key}: ${problem}`));
  };

  test('each difference is one row, severe ones raise one alert each, and verify agrees', async () => {
    const found = await place.database.read((session) => listDiscrepancies(session, { limit: 100 }));
    expect(found.map((one) => one.class).sort()).toEqual(
      ['AMOUNT', 'CURRENCY', 'DUPLICATE', 'MISSING_OURS', 'MISSING_THEIRS', 'STATE', 'STATE'].sort(),
    );
    const writer = { actor: 'test', now };
    for (const rows of [6, 0]) {
      const unit = repeatable('alert', (trx) => alertSevere(trx, writer));
      expect(await place.database.transact(unit)).toBe(rows);
    }
    expect((await alerts(place.database)).filter((line) => line.includes('DISCREPANCY_'))).toHaveLength(6);
    expect(await contradictions()).toEqual([]);
  });

  test('channel cash is explained to the cent', async () => {
    const [usd] = await place.database.snapshot((session) => explainCash(session, 'bank'));
    expect(usd?.currency).toBe('USD');
    const sum = usd?.items.reduce((total, { minor }) => total + minor, 0n);
    expect(sum).toBe(usd?.differenceMinor);
    const named = Object.fromEntries(usd?.items.map(({ reason, minor }) => [reason, minor]) ?? []);
    expect(named).toMatchObject({ OPENING_BALANCE: 50_000n, LINES_MISSING_OURS: -77n, FEES: -3n, DUPLICATES: -1_003n });
    expect(named['PAYOUTS_MISSING_THEIRS']).toBe(1_001n);
    expect(named['UNPROVEN']).toBeUndefined();
  });

  test('looked for again in vain it is tried, then a person’s', async () => {
    const id = await idOf('MISSING_THEIRS');
    const due = async (): Promise<void> => {
      await place.database.read((session) => session.change('update discrepancy set next_ms = 0 where id = ?', [id]));
      await place.database.transact(repeatable('attempts', (trx) => countAttempts(trx, 2, { actor: 'test', now })));
    };
    const state = async (): Promise<string> => {
      const rows = await place.database.read((session) =>
        session.tuples('select state from discrepancy where id = ?', [id]),
      );
      return String(rows[0]?.[0]);
    };
    const seen: string[] = [];
    for (let time = 0; time < 3; time += 1) {
      await due();
      seen.push(await state());
    }
    expect(seen).toEqual(['RETRYING', 'RETRYING', 'MANUAL']);
    expect((await directDiscrepancy(place.database, id, 'retry', person('ann'))).state).toBe('RETRYING');
    const assigned = await directDiscrepancy(place.database, id, { assign: 'bob' }, person('ann'));
    expect(assigned).toMatchObject({ state: 'MANUAL', owner: 'bob' });
    expect(await contradictions()).toEqual([]);
  });

  test('is closed by one person, above an amount by two', async () => {
    const small = await idOf('CURRENCY');
    const above = new Map([
      ['USD', 50n],
      ['EUR', 100_000n],
    ]);
    const done = await decideDiscrepancy(place.database, small, 'RESOLVE', person('ann'), above);
    expect(done).toMatchObject({ outcome: 'APPLIED', discrepancy: { state: 'RESOLVED' } });
    expect(await decideDiscrepancy(place.database, small, 'RESOLVE', person('ann'), above)).toMatchObject({
      outcome: 'REPEATED',
    });
    await expect(decideDiscrepancy(place.database, small, 'IGNORE', person('ann'), above)).rejects.toMatchObject({
      code: 'DISCREPANCY_CLOSED',
    });
    const large = await idOf('MISSING_OURS');
    expect(await decideDiscrepancy(place.database, large, 'IGNORE', person('ann'), above)).toMatchObject({
      outcome: 'PROPOSED',
    });
    await expect(decideDiscrepancy(place.database, large, 'IGNORE', person(' Ann '), above)).rejects.toMatchObject({
      code: 'SECOND_PERSON_NEEDED',
    });
    const second = await decideDiscrepancy(place.database, large, 'IGNORE', person('bob'), above);
    expect(second).toMatchObject({ outcome: 'APPLIED', discrepancy: { state: 'IGNORED' } });
    const { moves } = await place.database.read((session) => discrepancyHistory(session, large));
    expect(moves.at(-1)).toMatchObject({ event: 'ignore', actor: 'ann, confirmed by bob', reason: 'because' });
    expect(await contradictions()).toEqual([]);
  });

  test('an adjustment books what the statement says, once, by two people; nothing else touches the books', async () => {
    const id = await idOf('DUPLICATE');
    const before = await place.database.snapshot((session) => explainCash(session, 'bank'));
    expect(await decideDiscrepancy(place.database, id, 'ADJUST', person('ann'), new Map())).toMatchObject({
      outcome: 'PROPOSED',
    });
    const done = await decideDiscrepancy(place.database, id, 'ADJUST', person('bob'), new Map());
    expect(done).toMatchObject({
      outcome: 'APPLIED',
      adjustment: expect.stringMatching(/^D\d+\.ADJUSTED\.\d+$/) as unknown,
    });
    const after = await place.database.snapshot((session) => explainCash(session, 'bank'));
    expect(after[0]?.ledgerMinor).toBe((before[0]?.ledgerMinor ?? 0n) - 1_003n);
    expect(after[0]?.items.reduce((sum, { minor }) => sum + minor, 0n)).toBe(after[0]?.differenceMinor);
    const state = await idOf('STATE');
    const rejected = decideDiscrepancy(place.database, state, 'ADJUST', person('ann'), new Map());
    await expect(rejected.catch((error: unknown) => (error as { code: string }).code)).resolves.toEqual(
      expect.anything(),
    );
    expect(await contradictions()).toEqual([]);
  });

  describe('verify names', () => {
    const undone = new Error('undone');
    const named = async (sql: string): Promise<string[]> => {
      const checklist = new Checklist();
      const unit = repeatable('plant', async (trx) => {
        await trx.change(sql);
        await checkStatements(trx, checklist);
        throw undone;
      });
      await place.database.transact(unit).catch((error: unknown) => {
        if (error !== undone) throw error;
      });
      return checklist
        .result()
        .filter(({ ok }) => !ok)
        .map(({ name }) => name);
    };
    const one = (of: string, where: string): string =>
      `id = (select x.id from (select min(id) as id from ${of} where ${where}) x)`;
    test.each([
      ['a line that is gone', 'delete from statement_line where seq = 1', 'statement'],
      ['a line more', `update statement_file set lines_new = lines_new - 1`, 'statement'],
      ['a total that counts another line', 'update statement_total set line_count = line_count + 1', 'statement'],
      ['a line without a place', 'delete from statement_loose', 'statement'],
      ['a match that is gone', `delete from statement_match where verdict = 'AGREES'`, 'statement'],
      [
        'a line of another amount',
        'update statement_line set amount_minor = amount_minor + 1 where seq = 1',
        'statement-match',
      ],
      ['a line of another currency', `update statement_line set currency = 'JPY' where seq = 1`, 'statement-match'],
      [
        'a payout of another amount',
        `update payout set amount_minor = amount_minor + 1 where ${one('payout', `state = 'SUCCESS'`)}`,
        'statement-match',
      ],
      ['a match with nobody', `update statement_match set ours_id = 999999 where seq = 1`, 'statement-match'],
      [
        'a difference that is called agreement',
        `update statement_match set verdict = 'AGREES' where verdict = 'AMOUNT'`,
        'statement-match',
      ],
      ['a difference of which nothing tells', `delete from discrepancy where class = 'AMOUNT'`, 'statement-match'],
      [
        'an amount that does not differ',
        `update statement_match set verdict = 'AMOUNT' where seq = 1`,
        'statement-match',
      ],
      [
        'a discrepancy in another state',
        `update discrepancy set state = 'RETRYING' where class = 'AMOUNT'`,
        'discrepancy',
      ],
      ['a history without its beginning', `delete from discrepancy_move where event = 'find'`, 'discrepancy'],
      [
        'a move that cannot be',
        `update discrepancy_move set to_state = 'IGNORED' where event = 'retry'`,
        'discrepancy',
      ],
      [
        'a version that nobody made',
        `update discrepancy set version = version + 1 where class = 'AMOUNT'`,
        'discrepancy',
      ],
      ['a decision that nobody signed', 'delete from discrepancy_review', 'discrepancy'],
      [
        'an adjustment that is not booked',
        `update journal_entry set biz_no = 'X' where biz_no like 'D%.ADJUSTED.%'`,
        'discrepancy',
      ],
      [
        'an adjustment of another amount',
        `update discrepancy set effect_minor = '5' where adjustment is not null`,
        'discrepancy',
      ],
      [
        'a missing one that was found',
        `update statement_match set ours_id = (select d.ours_id from discrepancy d where d.class = 'MISSING_THEIRS') where seq = 1`,
        'discrepancy',
      ],
      ['a duplicate of which nothing tells', `delete from discrepancy where class = 'DUPLICATE'`, 'discrepancy'],
    ])('%s', async (_what, sql, check) => {
      expect(await named(sql)).toContain(check);
    });
  });
});
