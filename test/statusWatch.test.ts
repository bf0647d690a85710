import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import utils from 'cli-table3/src/utils.js';
import { status } from '../src/commands/status.js';
import { watch } from '../src/commands/watch.js';
import { Tally } from '../src/batch/tally.js';
import { Cancellation } from '../src/kernel/cancellation.js';
import { collectLive, Pace, type LiveRun, type LiveView } from '../src/reports/live.js';
import { fit, liveFrame } from '../src/reports/liveFrame.js';
import { checkStatus, type Thresholds } from '../src/reports/statusCheck.js';
import { answerOf, contextOf } from './support/command.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from './support/databases.js';
import { day, quiet, runDay } from './support/day.js';
import { givenOneOfEach } from './support/explained.js';
import { settleBin } from './support/program.js';

const run: LiveRun = {
  ...{ runId: 17n, batchDay: day, kind: 'RUN', shard: null, state: 'RUNNING', stage: 'SETTLING', exitCode: null },
  ...{ errorCode: null, reason: null, cancellation: null, orders: 480_000, ordersPosted: 0, ordersRead: 660_000 },
  ...{ ordersTotal: 1_000_000, watermark: { from: 0n, reached: 400n, top: 1_000n } },
  ...{ startedAt: '2026-11-30T00:30:00.000Z', heartbeatAt: '2026-11-30T00:31:20.000Z', finishedAt: null },
  ...{ ordersPerSecond: 9_113, etaMs: 57_000, medianMs: 1_400 },
  lanes: [
    { lane: 0, accountNo: null, accounts: 812, orders: 10_000, forMs: 300 },
    { lane: 3, accountNo: '结算商户号一二三四五六七八九十零', accounts: 1, orders: 9_999, forMs: 12_000 },
  ],
  slowest: { lane: 3, accountNo: 'M00001', orders: 10_000, durationMs: 11_480 },
};
const view: LiveView = {
  at: '2026-11-30T00:31:22.000Z',
  due: { day, state: 'SETTLING', lastRun: 'RUNNING' },
  leases: [
    {
      ...{ shard: null, held: true, expired: false, fencingNo: '5', heartbeatAgeMs: 400 },
      holder: { host: 'db1', pid: '4711', startedAt: null, command: 'settle run' },
      ...{ acquiredAt: '2026-11-30T00:30:00.000Z', heartbeatAt: null, expiresAt: null },
    },
  ],
  runs: [run],
  ledger: { waiting: 4_000, parked: 0, oldestMs: 12_000 },
  sinks: [{ sink: 'mq', waiting: 130, parked: 2, oldestMs: 61_000 }],
  stuck: { afterMs: 900_000, orders: 12, payouts: 0, payoutsForMs: null },
  payouts: { INIT: 3, PROCESSING: 1, UNKNOWN: 2, MANUAL: 0 },
  discrepancies: { open: 3, high: 1 },
  quarantined: 0,
};
const size = { columns: 80, rows: null };

describe('a frame', () => {
  test('shows stage, bars, rate, lanes, the slowest, the lease, what is open and what waits', () => {
    expect(liveFrame(view, size)).toEqual([
      '2026-11-30 00:31:22 UTC  due day 2026-11-29: SETTLING, last run RUNNING',
      '',
      'Run 17 RUN of 2026-11-29: RUNNING SETTLING, for 1 min 22 s',
      '  read    [###############.........]  66 %        660,000 of 1,000,000',
      '  claimed [###########.............]  48 %        480,000 of 1,000,000',
      '  posted  [........................]   0 %              0 of 1,000,000',
      '  9,113 orders/s, ready in about 57 s',
      '  lane 3   结算商户号一二三四五六七八..     9,999 orders  for 12 s',
      '  lane 0   812 accounts                    10,000 orders  for 0.3 s',
      '  slowest  M00001, 11 s (8.2 x the median of 1.4 s)',
      '',
      'lease    heartbeat 0.4 s ago, process 4711 on db1, since 00:30:00, number 5',
      'open     12 orders PROCESSING for more than 15 min 00 s settle outbox status',
      'open     2 payouts UNKNOWN                            settle payout check',
      'open     3 open discrepancies, 1 HIGH                 settle discrepancy list',
      'outbox   ledger: 4,000 waiting, the oldest for 12 s',
      'outbox   mq: 130 waiting, the oldest for 1 min 01 s, 2 parked',
    ]);
  });

  test.each([
    [
      'an account of 64 wide characters',
      { lanes: [{ lane: 1, accountNo: '商'.repeat(64), accounts: 1, orders: 1, forMs: 1 }] },
    ],
    [
      'an account with an emoji of several parts',
      { lanes: [{ lane: 1, accountNo: '👩‍👩‍👧‍👦'.repeat(20), accounts: 1, orders: 1, forMs: 1 }] },
    ],
    ['control characters', { slowest: { lane: 1, accountNo: 'M\u001b[2J\n', orders: 1, durationMs: 5 } }],
    [
      'sixty-four lanes',
      {
        lanes: Array.from({ length: 64 }, (_, lane) => ({ lane, accountNo: 'M', accounts: 1, orders: 1, forMs: lane })),
      },
    ],
    ['counts beyond all days', { ordersTotal: 9_007_199_254_740_991, orders: 9_007_199_254_740_991 }],
  ])('with %s no line is wider than the screen, and nothing steers the terminal', (_what, part) => {
    for (const columns of [20, 40, 80]) {
      const lines = liveFrame({ ...view, runs: [{ ...run, ...part }] }, { columns, rows: 24 });
      expect(lines.length).toBeLessThanOrEqual(24);
      for (const line of lines) {
        expect({ line, fits: utils.strlen(line) <= columns }).toEqual({ line, fits: true });
        expect(line).not.toMatch(/\p{Cc}/u);
      }
    }
  });

  test('on a low screen the last line says how many are left out', () => {
    const lines = liveFrame(view, { columns: 80, rows: 10 });
    expect([lines.length, lines.at(-1)]).toEqual([10, '.. 8 lines more']);
  });

  test('without a run, and with trouble, it says so', () => {
    const none = { ...view, runs: [], leases: [], due: { day, state: null, lastRun: null } };
    expect(liveFrame(none, size, 'DATABASE_UNREACHABLE: gone.')).toEqual(
      expect.arrayContaining(['! DATABASE_UNREACHABLE: gone.', 'No run yet.', 'lease    free']),
    );
    expect(liveFrame(none, size)[0]).toBe('2026-11-30 00:31:22 UTC  due day 2026-11-29: not begun');
  });

  test('a run whose lease is gone is dead, and has neither rate nor lanes', () => {
    const lines = liveFrame({ ...view, leases: [] }, size).join('\n');
    expect(lines).toContain('RUNNING, but its lease is gone');
    expect(lines).not.toMatch(/orders\/s|lane/);
  });

  test.each([
    ['short', 10, 'short'],
    ['exactly ten', 11, 'exactly ten'],
    ['a little longer', 10, 'a little..'],
    ['结算结算结算', 8, '结算结..'],
    ['结算结算结算', 7, '结算..'],
  ])('%s in %d columns is %s', (text, columns, cut) => {
    expect(fit(text, columns)).toBe(cut);
  });
});

test('rate and time left are those of the last half minute of a stage', () => {
  const pace = new Pace();
  const at = (second: number, orders: number, stage = 'SETTLING', posted = 0): LiveView => ({
    ...view,
    runs: [
      {
        ...run,
        stage,
        orders,
        ordersPosted: posted,
        heartbeatAt: new Date(Date.parse('2026-11-30T00:31:00Z') + second * 1_000).toISOString(),
      },
    ],
  });
  const rate = (looked: LiveView): [number | null | undefined, number | null | undefined] => {
    const [first] = pace.of(looked).runs;
    return [first?.ordersPerSecond, first?.etaMs];
  };
  expect(rate(at(0, 100_000))).toEqual([9_113, 57_000]); // nothing to compare with: since its start
  expect(rate(at(10, 200_000))).toEqual([10_000, 80_000]);
  expect(rate(at(40, 260_000))).toEqual([2_000, 370_000]); // the first look is forgotten
  expect(rate(at(41, 260_000, 'POSTING', 0))).toEqual([9_113, 57_000]);
  expect(rate(at(43, 260_000, 'POSTING', 50_000))).toEqual([25_000, 38_000]);
});

describe('--check', () => {
  const closed = { dueDay: day, closed: true, missing: [] };
  const nothing: Thresholds = { stuck: false, maxLagMs: null, maxUnknown: null, maxDiscrepancies: null };
  test.each([
    ['the day is closed', {}, {}, 0, []],
    ['rows are stuck, and nobody asked', { stuck: { ...view.stuck, orders: 12 } }, {}, 0, []],
    ['rows are stuck', {}, { stuck: true }, 3, ['12 orders PROCESSING for more than 15 min 00 s.']],
    ['a lag is allowed', {}, { maxLagMs: 61_000 }, 0, []],
    ['a sink lags', {}, { maxLagMs: 60_000 }, 3, ['A message waits for mq for 1 min 01 s, more than 1 min 00 s.']],
    ['two UNKNOWN are allowed', {}, { maxUnknown: 2 }, 0, []],
    ['two are not', {}, { maxUnknown: 1 }, 3, ['2 payouts UNKNOWN or MANUAL, more than 1.']],
    ['discrepancies', {}, { maxDiscrepancies: 0 }, 3, ['3 open discrepancies, more than 0.']],
    [
      'the books contradict each other',
      { due: { ...view.due, lastRun: 'INTEGRITY' } },
      {},
      4,
      [`The books of ${day} contradict each other.`],
    ],
  ])('%s', (_what, part, asked, exitCode, findings) => {
    const result = checkStatus({ ...view, ...part }, closed, { ...nothing, ...asked });
    expect(result).toEqual({ ok: findings.length === 0, findings, exitCode });
  });

  test('a day that is open is told in one sentence each', () => {
    const open = { dueDay: day, closed: false, missing: ['No run has settled it yet.'] };
    expect(checkStatus(view, open, nothing)).toMatchObject({ exitCode: 3, findings: open.missing });
  });
});

test('what the lanes have in hand is written down with the heartbeat', () => {
  const tally = new Tally(0n);
  tally.atWork.set(2, { accountNo: 'M1', accounts: 1, orders: 5, since: 1_000 });
  tally.addTimings([{ lane: 1, orders: 9, durationMs: 70, accountNo: null }], 30);
  expect(JSON.parse(tally.atWorkText(1_250))).toEqual({
    lanes: [{ lane: 2, accountNo: 'M1', accounts: 1, orders: 5, forMs: 250 }],
    slowest: { lane: 1, orders: 9, durationMs: 70, accountNo: null },
    medianMs: 30,
  });
});

describe.each(databaseKinds)('the live view [%s]', (kind) => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await givenOneOfEach(place.database);
  }, 60_000);
  afterAll(() => place.drop());

  test('counts what is open, and has the lanes of a run at its last heartbeat', async () => {
    let during: LiveView | null = null;
    const progress = {
      ...quiet,
      stage: async (name: string): Promise<void> => {
        if (name === 'POSTING') during = await place.database.snapshot((session) => collectLive(session, day, 900_000));
      },
    };
    await runDay(place.database, { target: '2026-11-30', progress });
    expect(during).toMatchObject({
      due: { day },
      leases: [{ shard: null, expired: false }],
      runs: [{ state: 'RUNNING' }],
    });
    const after = await place.database.snapshot((session) => collectLive(session, day, 900_000));
    expect(after).toMatchObject({
      due: { day, state: 'CLOSED', lastRun: 'PARTIAL' },
      ...{
        leases: [],
        ledger: { parked: 0 },
        payouts: { UNKNOWN: 1, MANUAL: 0 },
        quarantined: 1,
        discrepancies: { open: 1 },
      },
      stuck: { orders: 0, payouts: 0 },
      runs: [{ batchDay: '2026-11-30', state: 'OK' }],
    });
  });

  test('finds what is PROCESSING for longer than it may be', async () => {
    const { database } = place;
    await database.read(async (session) => {
      await session.change(
        `update outbox set state = 'NEW', sent_at = null where biz_no like 'S1.%' and account_no = 'A2'`,
      );
      await session.change(
        `update payout set state = 'PROCESSING', next_ms = null, last_sent_ms = 5 where state = 'UNKNOWN'`,
      );
    });
    const { stuck, ledger } = await database.snapshot((session) => collectLive(session, day, 1));
    expect(stuck).toMatchObject({ orders: 1, payouts: 1 });
    expect(ledger.oldestMs).toBeGreaterThan(0);
    const asked = { url: place.url, now: '2026-11-30T03:00:00.000Z' };
    const line = await answerOf(status, { check: true, stuckAfter: '1ms' }, asked);
    expect(line).toEqual({
      code: 3,
      stdout:
        'NOT OK: 1 order PROCESSING for more than 0.0 s. 1 payout PROCESSING for more than 0.0 s. Next: settle status',
      said: [],
    });
    expect(await answerOf(status, { check: true }, asked)).toMatchObject({ code: 0, stdout: `OK: ${day} is closed.` });
  });

  test('--grace asks for the day that was due so long ago', async () => {
    const asked = { url: place.url, now: '2026-12-02T00:30:00.000Z' };
    expect((await answerOf(status, { check: true }, asked)).code).toBe(3);
    expect(await answerOf(status, { check: true, grace: '30m' }, asked)).toMatchObject({ code: 3 });
    expect(await answerOf(status, { check: true, grace: '31m' }, asked)).toMatchObject({
      ...{ code: 0, stdout: 'OK: 2026-11-30 is closed.' },
    });
  });
});

describe('settle status --watch', () => {
  let place: TestDatabase;
  beforeAll(async () => {
    place = await createTestDatabase('sqlite');
  });
  afterAll(() => place.drop());

  /** Watches until it has written so often. */
  async function watched(
    output: 'text' | 'jsonl',
    isTTY: boolean,
    writes: number,
  ): Promise<{ code: number; written: string[]; printed: string }> {
    const stop = new AbortController();
    const written: string[] = [];
    const count = (text: string): void => {
      if (written.push(text) === writes) stop.abort(new Cancellation('SIGINT', 'Stopped.'));
    };
    const stdout = {
      ...{ isTTY, columns: 60, rows: 20 },
      write: (text: string, done?: () => void) => {
        count(text);
        done?.();
        return true;
      },
    } as unknown as NodeJS.WriteStream;
    const { context, answer } = contextOf({ url: place.url, output, signal: stop.signal });
    const { print } = context;
    if (!isTTY) {
      context.print = (text) => {
        count(text);
        return print(text);
      };
    }
    const code = await watch(context, stdout, { intervalMs: 1, stuckMs: 900_000, dueDay: () => day });
    return { code, written, printed: answer().stdout };
  }

  test('draws each frame with one write from the top, and gives the terminal back as it was', async () => {
    const { code, written, printed } = await watched('text', true, 4);
    expect(code).toBe(130);
    expect(written[0]).toBe('\u001b[?1049h\u001b[?25l');
    const frames = written.slice(1, -1);
    expect(frames).toHaveLength(3);
    for (const frame of frames) {
      expect(frame.startsWith('\u001b[H')).toBe(true);
      expect(frame.endsWith('\u001b[K\u001b[J')).toBe(true);
      for (const line of frame.split('\r\n')) expect(line.endsWith('\u001b[K') || line.endsWith('\u001b[J')).toBe(true);
      expect(frame).not.toContain('\u001b[2J');
    }
    expect(written.at(-1)).toBe('\u001b[?25h\u001b[?1049l');
    expect(printed).toContain('No run yet.');
  });

  test('elsewhere prints one plain block after the other', async () => {
    const { code, written } = await watched('text', false, 2);
    expect(code).toBe(130);
    expect(written).toHaveLength(2);
    for (const block of written) expect(block).toMatch(/^\d{4}.* UTC {2}due day [^]*No run yet\.\n[^]*\n$/);
    expect(written.join('')).not.toContain('\u001b');
  });

  test('as JSON lines gives one document a look; --json is refused', async () => {
    const { written } = await watched('jsonl', false, 2);
    for (const line of written) {
      expect(line).not.toContain('\n');
      expect(JSON.parse(line)).toMatchObject({
        schema: 'settle.statusWatch',
        schemaVersion: 1,
        runs: [],
        trouble: null,
      });
    }
    const asked = { url: place.url, output: 'json' as const };
    await expect(answerOf(status, { watch: true }, asked)).rejects.toMatchObject({
      ...{ code: 'USAGE', next: 'settle status --watch --output jsonl' },
    });
  });

  test.each([
    [{ watch: true, check: true }, /type one of them/],
    [{ watch: true, run: '1' }, /settle status RUN/],
    [{ interval: '2s' }, /--interval is for --watch/],
    [{ watch: true, interval: '10ms' }, /at least 200ms/],
    [{ watch: true, interval: 'often' }, /not a duration/],
    [{ grace: '1m' }, /--grace is for --check/],
    [{ watch: true, maxLag: '1m' }, /--max-lag is for --check/],
  ])('%j is refused: it would be passed over in silence', async (options, message) => {
    await expect(answerOf(status, options, { url: place.url })).rejects.toMatchObject({
      ...{ code: 'USAGE', message: expect.stringMatching(message) as unknown },
    });
  });

  test('on a real terminal it ends with Ctrl-C, the cursor is back and the last frame stays', async () => {
    const command = `"${process.execPath}" "${settleBin}" status --watch --interval 200ms`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', SETTLE_DATABASE_URL: place.url, TERM: 'xterm' },
    });
    let output = '';
    let isAsked = false;
    child.stdout.on('data', (part: Buffer) => {
      output += part.toString();
      if (isAsked || output.split('\u001b[H').length < 4) return;
      isAsked = true;
      child.stdin.write('\u0003');
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect(code).toBe(130);
    const [, after = ''] = output.split('\u001b[?25h\u001b[?1049l');
    expect(after).toContain('No run yet.');
    expect(after).not.toMatch(/\u001b\[[?H]/);
  });
});
