import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { scenarios, type ScenarioInput } from '../../src/payouts/channels/scenario.js';
import { SimulatorServer, type SimulatorOptions } from '../../src/payouts/channels/simulatorServer.js';
import { createTestDatabase, kindsForProcesses, type TestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { alerts, payoutBalances, payoutLines } from '../support/payouts.js';
import { settleInside } from '../support/inside.js';
import { settle, type Ended, type Started } from '../support/program.js';

// Processes of the program, several at once, against a channel that misbehaves. Whatever happens: a key is paid at most once
// and with one body, our books are the channel's book to the cent, each cause of MANUAL has one alert, and no account is paid
// more than it was owed.

const first = { on: 'submit', nth: 1 } as const;

describe.each(kindsForProcesses('server'))('processes that pay out [%s]', (kind) => {
  let place: TestDatabase;
  let folder: string;
  let bank: SimulatorServer;
  beforeEach(async () => {
    place = await createTestDatabase(kind);
    folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  });
  afterEach(async () => {
    await bank.close();
    await place.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const given = async (
    accounts: number,
    scenario: ScenarioInput,
    { horizon = '700ms', ...options }: SimulatorOptions & { horizon?: string } = {},
  ): Promise<void> => {
    const orders = Array.from({ length: accounts }, (_, at) => ({
      ...{ orderNo: `O${String(at)}`, accountNo: `A${String(at)}`, minor: 100 + at },
    }));
    await givenOrders(place.database, orders);
    await runDay(place.database);
    bank = await SimulatorServer.start(0, { scenario, secret: 'cAnAry7hunter2', ...options });
    writeFileSync(join(folder, 'secret'), 'cAnAry7hunter2\n');
    const quick = `timeout: 500ms, settlingHorizon: ${horizon}, checkAfter: [50ms], checks: 3, attempts: 3, perSecond: 500`;
    const channel = `{ kind: http, url: '${bank.url}', secret: { file: secret }, paysByAccountNo: true, ${quick} }`;
    writeFileSync(join(folder, 'settle.yaml'), `channels: { bank: ${channel} }\npayouts: { channel: bank }\n`);
  };
  const payout = (what: 'run' | 'check'): Promise<Ended> & Started =>
    settle(['payout', what], { url: place.url, cwd: folder });

  /** What a claim outlives takes half a minute: the claims of processes that are dead grow old. */
  const timePasses = async (): Promise<void> => {
    await place.database.transact(
      repeatable('time passes', (trx) =>
        trx.change(
          `update payout set next_ms = next_ms - 100000, first_sent_ms = first_sent_ms - 100000,
                  last_sent_ms = last_sent_ms - 100000 where state in ('PROCESSING', 'UNKNOWN') and next_ms is not null`,
        ),
      ),
    );
  };
  const states = async (): Promise<Record<string, number>> => {
    const counted: Record<string, number> = {};
    for (const line of await payoutLines(place.database)) {
      const state = line.split(' ')[3] ?? '';
      counted[state] = (counted[state] ?? 0) + 1;
    }
    return counted;
  };
  const isOver = async (): Promise<boolean> => {
    const { INIT = 0, PROCESSING = 0, UNKNOWN = 0, ...over } = await states();
    return INIT + PROCESSING + UNKNOWN === 0 && Object.keys(over).length > 0;
  };
  const untilOver = async (rounds = 8): Promise<void> => {
    for (let round = 0; round < rounds && !(await isOver()); round += 1) {
      const ended = await Promise.all([payout('check'), payout('run')]);
      for (const { code, stderr } of ended) expect([code, stderr]).toEqual([code === 0 ? 0 : 3, stderr]);
      await timePasses();
    }
    expect(await isOver()).toBe(true);
  };

  /** The oracle: `manual` payouts are left to people, and everything else agrees. */
  const expectRight = async (manual: number): Promise<void> => {
    const paid = bank.book.entries.filter(({ outcome }) => outcome === 'PAID');
    expect(new Set(paid.map(({ key }) => key)).size).toBe(paid.length);
    expect(bank.counts).toMatchObject({ bodiesDiffer: 0, badSignatures: 0, rateLimited: 0 });
    for (const { destination, amountMinor } of paid) {
      expect([destination, amountMinor]).toEqual([destination, 100n + BigInt(destination.slice(1))]);
    }
    const told = await alerts(place.database);
    expect([told.length, new Set(told).size]).toEqual([manual, manual]);
    expect((await states())['MANUAL'] ?? 0).toBe(manual);
    const lines = await payoutLines(place.database);
    const open = new Set(lines.filter((line) => line.endsWith('MANUAL')).map((line) => line.split(' ')[0]));
    const settled = paid.filter(({ destination }) => !open.has(destination));
    const sum = settled.reduce((total, { amountMinor }) => total + amountMinor, 0n);
    const ours = (await payoutBalances(place.database)).filter((line) => line.startsWith('CHANNEL_CASH'));
    expect(ours).toEqual(sum === 0n ? [] : [`CHANNEL_CASH bank ${String(-sum)}`]);
    const verified = await settleInside(['verify'], { url: place.url, cwd: folder });
    expect([verified.code, verified.stdout + verified.stderr]).toEqual([0, verified.stdout + verified.stderr]);
  };

  test('several at once make and submit each payout once', async () => {
    await given(30, {});
    await Promise.all([payout('run'), payout('run'), payout('run')]);
    expect(await states()).toEqual({ SUCCESS: 30 });
    expect(bank.counts).toMatchObject({ submits: 30, queries: 0 });
    await expectRight(0);
  }, 120_000);

  test('an answer that comes too late is UNKNOWN and no failure, and nothing is submitted again', async () => {
    await given(3, { rules: [{ ...first, delayMs: 3_000 }] });
    expect((await payout('run')).code).toBe(3);
    expect(await states()).toEqual({ UNKNOWN: 3 });
    await untilOver();
    expect(await states()).toEqual({ SUCCESS: 3 });
    expect(bank.counts.submits).toBe(3);
    await expectRight(0);
  }, 120_000);

  test('a query that times out, then answers: nothing is submitted again', async () => {
    const hang = { on: 'query', nth: 1, answer: 'HANG' } as const;
    await given(3, { rules: [{ ...first, answer: 'CUT' }, hang] });
    await untilOver();
    expect(await states()).toEqual({ SUCCESS: 3 });
    expect(bank.counts.submits).toBe(3);
    await expectRight(0);
  }, 120_000);

  test('queries that go on timing out end in MANUAL, with one alert each', async () => {
    await given(3, {
      rules: [
        { ...first, answer: 'CUT' },
        { on: 'query', answer: 'HANG' },
      ],
    });
    await untilOver();
    await Promise.all([payout('check'), payout('check')]);
    expect(bank.counts).toMatchObject({ submits: 3, queries: 9 });
    await expectRight(3);
  }, 120_000);

  test('two checkers at once ask about each payout once', async () => {
    await given(20, { rules: [{ ...first, answer: 'CUT' }] });
    await payout('run');
    await Promise.all([payout('check'), payout('check')]);
    expect(bank.counts).toMatchObject({ submits: 20, queries: 20 });
    await expectRight(0);
  }, 120_000);

  test('"not found" soon after a submission proves nothing: within the horizon nothing is submitted again', async () => {
    const notFound = { on: 'query', withinMs: 3_000, answer: 'NOT_FOUND' } as const;
    await given(3, { rules: [{ ...first, answer: 'CUT' }, notFound] }, { horizon: '6s' });
    await payout('run');
    for (let round = 0; round < 12 && !(await isOver()); round += 1)
      await Promise.all([payout('check'), payout('run')]);
    expect(await states()).toEqual({ SUCCESS: 3 });
    expect(bank.counts.submits).toBe(3);
    expect(bank.counts.queries).toBeGreaterThan(3);
    await expectRight(0);
  }, 120_000);

  test('a submission that never arrived goes out again after the horizon, with its key and its body', async () => {
    await given(3, { rules: [{ ...first, outcome: 'NOTHING', answer: 'CUT' }] });
    await untilOver();
    expect(await states()).toEqual({ SUCCESS: 3 });
    expect(bank.counts.submits).toBe(6);
    await expectRight(0);
  }, 120_000);

  test('another amount is for a person at once', async () => {
    await given(3, scenarios['another-amount']);
    expect((await payout('run')).code).toBe(3);
    await Promise.all([payout('check'), payout('run')]);
    expect(await states()).toEqual({ MANUAL: 3 });
    expect(await alerts(place.database)).toHaveLength(3);
    expect(bank.counts).toMatchObject({ submits: 3, queries: 0 });
  }, 120_000);

  test('an error that the channel replays for ever ends in MANUAL after three submissions', async () => {
    await given(6, scenarios['replays-error']);
    await untilOver(14);
    expect(bank.counts.submits).toBe(18);
    await expectRight(6);
  }, 180_000);

  test('a storm of everything', async () => {
    await given(40, scenarios.storm);
    await untilOver(12);
    await expectRight(0);
  }, 180_000);

  test.each([
    ['arrived', 'submit'],
    ['booked', 'submit'],
    ['answered', 'submit'],
    ['arrived', 'query'],
    ['answered', 'query'],
  ] as const)(
    'killed when a request has %s (%s)',
    async (step, on) => {
      let victim: Started | null = null;
      let struck = 0;
      await given(
        5,
        { rules: on === 'query' ? [{ ...first, answer: 'CUT' }] : [] },
        {
          onStep: (at, what) => {
            if (at !== step || what !== on || victim === null) return;
            victim.kill('SIGKILL');
            victim = null;
            struck += 1;
          },
        },
      );
      if (on === 'query') await payout('run');
      const process = payout(on === 'submit' ? 'run' : 'check');
      victim = process;
      expect((await process).signal).toBe('SIGKILL');
      expect(struck).toBe(1);
      await timePasses();
      await untilOver();
      expect(await states()).toEqual({ SUCCESS: 5 });
      await expectRight(0);
    },
    120_000,
  );

  test.each(['run', 'check'] as const)(
    'killed at a statement of payout %s, the rest is done by the next ones',
    async (what) => {
      const trace = join(folder, 'trace');
      const at = async (point: object): Promise<Ended> => {
        const env = {
          NODE_OPTIONS: `--import ${join(process.cwd(), 'test/support/crashPoint.mjs')}`,
          CRASH_POINT: JSON.stringify({ trace, ...point }),
        };
        return settle(['payout', what], { url: place.url, cwd: folder, env });
      };
      const rules = what === 'check' ? [{ ...first, answer: 'CUT' } as const] : [];
      await given(2, { rules });
      if (what === 'check') await payout('run');
      await at({});
      const statements = readFileSync(trace, 'utf8').trim().split('\n').length - 1;
      expect(statements).toBeGreaterThan(20);
      const every = process.env['SETTLE_TEST_FAULTS'] === 'every';
      const points = every ? statements : 3;
      let killed = 0;
      for (let point = 1; point <= points; point += 1) {
        for (const side of every ? ['before', 'after'] : [point % 2 === 0 ? 'before' : 'after']) {
          await bank.close();
          await place.drop();
          place = await createTestDatabase(kind);
          await given(2, { rules });
          if (what === 'check') await payout('run');
          const no = every ? point : Math.round((statements * (point + 3)) / (points + 4));
          if ((await at({ at: no, side })).signal === 'SIGKILL') killed += 1;
          await timePasses();
          await untilOver();
          expect(await states()).toEqual({ SUCCESS: 2 });
          await expectRight(0);
        }
      }
      expect(killed).toBeGreaterThan(points / 2);
    },
    600_000,
  );

  test('where the money goes, the secret, and answers as they came are written nowhere', async () => {
    const iban = 'DE89370400440532013000';
    await given(2, {
      rules: [
        { ...first, answer: 'HTML' },
        { on: 'query', answer: 'HTML' },
      ],
    });
    writeFileSync(join(folder, 'own.csv'), `account_no,destination,holder\nA0,${iban},Ann\nA1,${iban},Ann\n`);
    const told = [await settleInside(['import', 'beneficiaries', 'own.csv'], { url: place.url, cwd: folder })];
    const say = (...args: string[]): Promise<Ended> =>
      settle(['-v', '--log-file', 'run.log', ...args], { url: place.url, cwd: folder, env: { SETTLE_DEBUG: '1' } });
    told.push(await say('payout', 'run', '--json'));
    for (let round = 0; round < 4; round += 1) told.push(await say('payout', 'check'));
    expect(await states()).toEqual({ MANUAL: 2 });
    for (const args of [['list'], ['list', '--json'], ['show', '1'], ['show', '1', '--json'], ['run']]) {
      told.push(await say('payout', ...args));
    }
    told.push(await say('report', '--out', '-'), await say('outbox', 'status', '--json'));
    const texts = told.map(({ stdout, stderr }) => stdout + stderr);
    texts.push(readFileSync(join(folder, 'run.log'), 'utf8'), ...(await alerts(place.database)));
    expect(texts.join('')).toContain('UNREADABLE_ANSWER');
    for (const text of texts) {
      for (const hidden of [iban, 'cAnAry7hunter2', 'back soon']) expect(text).not.toContain(hidden);
    }
  }, 120_000);
});
