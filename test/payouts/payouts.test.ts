import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { exitCodes } from '../../src/kernel/errors.js';
import { reviewPayout, type ReviewDecision, type ReviewResult } from '../../src/payouts/review.js';
import type { PlanPorts } from '../../src/payouts/planPayouts.js';
import { carriedForward, payoutStory } from '../../src/payouts/views.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { day, givenAccounts, givenOrders, runDay } from '../support/day.js';
import {
  alerts,
  check,
  lost,
  paid,
  paidUnheard,
  payoutBalances,
  payoutLines,
  plan,
  refused,
  ScriptedChannel,
  submit,
} from '../support/payouts.js';

describe.each(databaseKinds)('payouts [%s]', (kind) => {
  let place: TestDatabase;
  let bank: ScriptedChannel;
  beforeEach(async () => {
    place = await createTestDatabase(kind);
    bank = new ScriptedChannel();
  });
  afterEach(() => place.drop());

  /** A closed day in which A1 is owed 100, A2 60 in USD and 7 in EUR, and A3 owes 5. */
  const givenClosedDay = async (): Promise<void> => {
    await givenOrders(place.database, [
      { orderNo: 'O1', accountNo: 'A1', minor: 100 },
      { orderNo: 'O2', accountNo: 'A2', minor: 60 },
      { orderNo: 'O3', accountNo: 'A2', minor: 7, currency: 'EUR' },
      { orderNo: 'O4', accountNo: 'A3', minor: 5, type: 'FEE' },
    ]);
    expect((await runDay(place.database)).exitCode).toBe(exitCodes.OK);
  };

  /** At the channel: at most one accepted payment a key; and our books say what the channel's book says. */
  const expectBooksAgree = async (): Promise<void> => {
    const paidOut = bank.book.entries.filter(({ outcome }) => outcome === 'PAID');
    const sum = paidOut.reduce((total, { amountMinor }) => total + amountMinor, 0n);
    const ours = (await payoutBalances(place.database)).filter((line) => line.startsWith('CHANNEL_CASH'));
    expect(ours).toEqual(sum === 0n ? [] : [`CHANNEL_CASH bank ${String(-sum)}`]);
  };

  test('every positive payable of a closed day becomes one task, however often it is planned', async () => {
    expect(await plan(place.database)).toBeNull();
    await givenClosedDay();
    const planned = await plan(place.database);
    expect(planned).toMatchObject({ batchDay: day, payouts: 3 });
    expect(await plan(place.database)).toEqual(planned);
    expect(await payoutLines(place.database)).toEqual(['A1 USD 100 INIT', 'A2 EUR 7 INIT', 'A2 USD 60 INIT']);
  });

  test('what has no beneficiary is carried forward, and planned once it has one', async () => {
    await givenClosedDay();
    const route = { channel: 'bank', destination: 'DE00', holder: 'A', maximumMinor: null };
    let known = ['A2 EUR'];
    const routesOf: PlanPorts['routesOf'] = () =>
      Promise.resolve((accountNo, currency) => (known.includes(`${accountNo} ${currency}`) ? route : null));
    expect(await plan(place.database, { routesOf })).toMatchObject({ payouts: 1, carried: { WITHOUT_BENEFICIARY: 2 } });
    expect(await place.database.read(carriedForward)).toMatchObject([
      { accountNo: 'A1', currency: 'USD', amountMinor: 100n, reason: 'WITHOUT_BENEFICIARY' },
      { accountNo: 'A2', currency: 'USD', amountMinor: 60n, reason: 'WITHOUT_BENEFICIARY' },
    ]);
    known = ['A2 EUR', 'A2 USD'];
    await Promise.all([plan(place.database, { routesOf }), plan(place.database, { routesOf })]);
    expect(await payoutLines(place.database)).toEqual(['A2 EUR 7 INIT', 'A2 USD 60 INIT']);
    await givenAccounts(place.database, { A1: 'FROZEN' });
    known = ['A1 USD', 'A2 EUR', 'A2 USD'];
    expect(await plan(place.database, { routesOf })).toMatchObject({
      carried: { NOT_ACTIVE: 1, WITHOUT_BENEFICIARY: 0 },
    });
    await givenAccounts(place.database, { A1: 'ACTIVE' });
    expect(await plan(place.database, { routesOf })).toMatchObject({ payouts: 3, carried: { NOT_ACTIVE: 0 } });
    expect(await payoutLines(place.database)).toContain('A1 USD 100 INIT');
  });

  test('several that plan at once make each task once', async () => {
    await givenClosedDay();
    await Promise.all([plan(place.database), plan(place.database), plan(place.database)]);
    expect(await payoutLines(place.database)).toHaveLength(3);
  });

  test('a paid task is booked: payable, in transit, channel cash', async () => {
    await givenClosedDay();
    await plan(place.database);
    expect(await submit(place.database, bank)).toMatchObject({ asked: 3, held: 0, unreachable: null });
    expect(await payoutLines(place.database)).toEqual(['A1 USD 100 SUCCESS', 'A2 EUR 7 SUCCESS', 'A2 USD 60 SUCCESS']);
    expect(await payoutBalances(place.database)).toEqual([
      'CHANNEL_CASH bank -167',
      'MERCHANT_PAYABLE A1 100',
      'MERCHANT_PAYABLE A2 67',
    ]);
    expect(await submit(place.database, bank)).toMatchObject({ asked: 0 });
    expect(await check(place.database, bank)).toMatchObject({ asked: 0 });
    await expectBooksAgree();
  });

  test('an explicit refusal gives the amount back, and the next day pays it again', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [refused];
    await submit(place.database, bank);
    expect(await payoutLines(place.database)).toEqual(['A1 USD 100 FAILED', 'A2 EUR 7 SUCCESS', 'A2 USD 60 SUCCESS']);
    expect(await payoutBalances(place.database)).not.toContain('MERCHANT_PAYABLE A1 100');
    const next = '2026-11-30';
    await givenOrders(place.database, [{ orderNo: 'O9', accountNo: 'A1', minor: 11, batchDay: next }]);
    expect((await runDay(place.database, { target: next })).exitCode).toBe(exitCodes.OK);
    await plan(place.database);
    await submit(place.database, bank, { dueUpTo: next });
    expect((await payoutLines(place.database)).slice(3)).toEqual(['A1 USD 111 SUCCESS']);
    await expectBooksAgree();
  });

  test('a lost answer is UNKNOWN; the check finds it paid, and nothing is submitted again', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [paidUnheard];
    await submit(place.database, bank);
    expect(await payoutLines(place.database)).toContain('A1 USD 100 UNKNOWN');
    expect(await payoutBalances(place.database)).toContain('PAYOUT_IN_TRANSIT A1 -100');
    await submit(place.database, bank);
    expect(bank.asked.filter(({ ask }) => ask === 'submit')).toHaveLength(3);
    await check(place.database, bank);
    expect(await payoutLines(place.database)).toContain('A1 USD 100 SUCCESS');
    await expectBooksAgree();
  });

  test('a check that times out, then answers: no second submission', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [paidUnheard];
    bank.queries = [lost];
    await submit(place.database, bank);
    await check(place.database, bank);
    await check(place.database, bank);
    expect(await payoutLines(place.database)).toContain('A1 USD 100 SUCCESS');
    expect(bank.asked.filter(({ ask }) => ask === 'submit')).toHaveLength(3);
  });

  test('a submission that never arrived goes out again only after "not found", under its key', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [lost];
    await submit(place.database, bank);
    await check(place.database, bank);
    expect(await payoutLines(place.database)).toContain('A1 USD 100 PROCESSING');
    await submit(place.database, bank);
    expect(await payoutLines(place.database)).toContain('A1 USD 100 SUCCESS');
    const [first, , , again] = bank.asked.filter(({ ask }) => ask === 'submit');
    expect(again).toEqual(first);
    await expectBooksAgree();
  });

  test('checks that tell nothing end in MANUAL with exactly one alert', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [lost];
    bank.queries = [lost, lost, lost, lost];
    await submit(place.database, bank);
    for (let round = 0; round < 5; round += 1) await check(place.database, bank);
    expect(await payoutLines(place.database)).toContain('A1 USD 100 MANUAL');
    expect(bank.asked.filter(({ ask }) => ask === 'query')).toHaveLength(3);
    const [alert, ...more] = await alerts(place.database);
    expect(more).toEqual([]);
    expect(alert).toContain('CHECKS_EXHAUSTED');
    expect(alert).toContain('settle payout show 1');
    expect(alert).not.toContain('DE00');
  });

  test('another amount than was asked for is MANUAL at once', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [() => ({ kind: 'PAID', reference: 'R', amountMinor: 99n, currency: 'USD' })];
    await submit(place.database, bank);
    expect(await payoutLines(place.database)).toContain('A1 USD 100 MANUAL');
    expect(await alerts(place.database)).toHaveLength(1);
  });

  test('account, hold and balance are asked again before anything leaves', async () => {
    await givenClosedDay();
    await plan(place.database);
    await givenAccounts(place.database, { A1: 'FROZEN' });
    expect(await submit(place.database, bank)).toMatchObject({ asked: 2, held: 1 });
    expect(await payoutLines(place.database)).toContain('A1 USD 100 INIT');
    await givenAccounts(place.database, { A1: 'ACTIVE' });
    const next = '2026-11-30';
    await givenOrders(place.database, [{ orderNo: 'O9', accountNo: 'A1', minor: 30, type: 'REFUND', batchDay: next }]);
    await runDay(place.database, { target: next });
    expect(await submit(place.database, bank)).toMatchObject({ asked: 0, held: 1 });
    const story = await place.database.read((session) => payoutStory(session, '1'));
    expect(story?.payout.heldCode).toBe('BALANCE_TOO_LOW');
  });

  test('two submitters at once submit each task once; two checkers ask once', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [paidUnheard, paidUnheard, paidUnheard];
    await Promise.all([submit(place.database, bank), submit(place.database, bank)]);
    expect(bank.asked).toHaveLength(3);
    await Promise.all([check(place.database, bank), check(place.database, bank)]);
    expect(bank.asked).toHaveLength(6);
    await expectBooksAgree();
  });

  test('a submitter that is not heard of again leaves the payout UNKNOWN, and its late answer still counts', async () => {
    await givenClosedDay();
    await plan(place.database);
    bank.submits = [
      async (payout, book) => {
        // While this answer is on its way, somebody else gives the submitter up.
        await place.database.transact(
          repeatable('time passes', (trx) => trx.change('update payout set next_ms = 1 where id = 1')),
        );
        await check(place.database, bank);
        return paid(payout, book);
      },
    ];
    bank.queries = [lost];
    await submit(place.database, bank);
    const story = await place.database.read((session) => payoutStory(session, '1'));
    expect(story?.moves.map(({ event, to }) => `${event} ${to}`)).toEqual([
      'submit PROCESSING',
      'loseTrack UNKNOWN',
      'note UNKNOWN',
      'confirm SUCCESS',
    ]);
    await expectBooksAgree();
  });

  describe('a review', () => {
    const decide = (decision: ReviewDecision, by = 'alice', secondFrom?: bigint): Promise<ReviewResult> =>
      reviewPayout(
        place.database,
        1n,
        decision,
        { by, reason: 'seen on the statement', at: '2026-11-30T09:00:00.000Z' },
        {
          secondPersonAbove: new Map(secondFrom === undefined ? [] : [['USD', secondFrom]]),
          rulesOf: () => bank.rules,
        },
      );
    const givenManual = async (): Promise<void> => {
      await givenClosedDay();
      await plan(place.database);
      bank.submits = [lost];
      bank.queries = [lost, lost, lost];
      await submit(place.database, bank);
      for (let round = 0; round < 3; round += 1) await check(place.database, bank);
    };

    test.each`
      decision     | state           | balance
      ${'APPROVE'} | ${'SUCCESS'}    | ${'CHANNEL_CASH bank -167'}
      ${'REJECT'}  | ${'FAILED'}     | ${'CHANNEL_CASH bank -67'}
      ${'RETRY'}   | ${'PROCESSING'} | ${'PAYOUT_IN_TRANSIT A1 -100'}
    `(
      '$decision leads to $state, is booked and recorded; repeated it changes nothing',
      async ({ decision, state, balance }) => {
        await givenManual();
        expect(await decide(decision as ReviewDecision)).toMatchObject({ outcome: 'APPLIED', state: state as string });
        expect(await payoutLines(place.database)).toContain(`A1 USD 100 ${String(state)}`);
        expect(await payoutBalances(place.database)).toContain(balance);
        expect(await decide(decision as ReviewDecision)).toMatchObject({ outcome: 'REPEATED' });
        const story = await place.database.read((session) => payoutStory(session, '1'));
        expect(story?.reviews).toMatchObject([{ decision: decision as string, by: 'alice' }]);
        expect(story?.moves.at(-1)).toMatchObject({ actor: 'alice', to: state as string });
      },
    );

    test('of something that is not MANUAL is refused', async () => {
      await givenClosedDay();
      await plan(place.database);
      await expect(decide('APPROVE')).rejects.toMatchObject({ code: 'PAYOUT_NOT_MANUAL' });
    });

    test('over a large amount needs a second person, who is another one and decides the same', async () => {
      await givenManual();
      expect(await decide('APPROVE', 'alice', 100n)).toMatchObject({ outcome: 'PROPOSED' });
      await expect(decide('APPROVE', ' Alice ', 100n)).rejects.toMatchObject({ code: 'SECOND_PERSON_NEEDED' });
      expect(await decide('REJECT', 'bob', 100n)).toMatchObject({ outcome: 'PROPOSED' });
      expect(await decide('APPROVE', 'carol', 100n)).toMatchObject({ outcome: 'PROPOSED' });
      expect(await decide('APPROVE', 'dave', 100n)).toMatchObject({ outcome: 'APPLIED', state: 'SUCCESS' });
      const story = await place.database.read((session) => payoutStory(session, '1'));
      expect(story?.moves.at(-1)?.actor).toBe('carol, confirmed by dave');
    });

    test('of two people who decide at once, one decides', async () => {
      await givenManual();
      const both = await Promise.allSettled([decide('APPROVE', 'alice'), decide('REJECT', 'bob')]);
      expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });

    test('does not let a payout out again whose key the channel may have forgotten', async () => {
      await givenManual();
      bank.rules = { ...bank.rules, keyLifetimeMs: 0 };
      await expect(decide('RETRY')).rejects.toMatchObject({ code: 'PAYOUT_KEY_EXPIRED' });
      expect(await decide('REJECT')).toMatchObject({ outcome: 'APPLIED' });
    });
  });
});
