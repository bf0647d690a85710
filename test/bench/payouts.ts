import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { migrateUp } from '../../src/db/schema.js';
import { repeatable } from '../../src/db/transaction.js';
import { batchDay } from './data.js';
import { privateFilePlace, privateServerPlace, withDatabase, type Place } from './place.js';
import { runSettle } from './settleProcess.js';
import { peakOf } from './peakMemory.js';

const help = `npm run bench:payouts -- [options]

Pays one day out over a simulated channel that counts what comes too fast, and compares the time with what the channel's
limit allows. The whole of settle payout run counts: start, planning, submitting, recording.

  --payouts N        payouts of the day (10000)
  --per-second N     the channel's limit (200)
  --submitters N     processes at once (1)
  --engine E         server, sqlite or both (both)
  --memory N,N       instead of this the peak memory of days of so many payouts, without a limit
`;

const settleBin = fileURLToPath(new URL('../../../bin/settle.js', import.meta.url));

interface Payday {
  payouts: number;
  perSecond: number;
  submitters: number;
}

interface Figures {
  seconds: number;
  allowedSeconds: number;
  overPercent: number;
  peakMegabytes: number;
  rateLimited: number;
}

/** A closed day on which each of so many accounts is owed something. */
async function closedDay(place: Place, payouts: number): Promise<void> {
  const at = place.target.dialect === 'sqlite' ? '2026-11-29T08:00:00.000Z' : '2026-11-29 08:00:00.000';
  await withDatabase(place.target, {}, async (database) => {
    await migrateUp(database);
    for (let from = 0; from < payouts; from += 10_000) {
      const numbers = Array.from({ length: Math.min(10_000, payouts - from) }, (_, index) => from + index);
      const account = (number: number): string => `M${String(number).padStart(8, '0')}`;
      const fill = repeatable('fill', async (trx) => {
        await trx.insertMany(
          'account',
          ['account_no', 'state', 'registered_at', 'changed_at'],
          numbers.map((number) => [account(number), 'ACTIVE', at, at]),
        );
        await trx.insertMany(
          'settlement_order',
          ['order_no', 'account_no', 'batch_day', 'type', 'amount_minor', 'currency', 'channel', 'occurred_at'],
          numbers.map((number) => [
            ...[`O${String(number)}`, account(number), batchDay, 'PAYMENT', 100 + (number % 997), 'USD', 'CARD', at],
          ]),
        );
      });
      await database.transact(fill);
    }
  });
  await runSettle(place.url, undefined);
}

function start(place: Place, folder: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [settleBin, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SETTLE_DATABASE_URL: place.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Runs `settle payout run` in so many processes at once; gives the time of all, and the largest peak. */
async function payOut(place: Place, folder: string, submitters: number): Promise<{ ms: number; peakBytes: number }> {
  const startedAt = performance.now();
  let peakBytes = 0;
  const runs = Array.from({ length: submitters }, async () => {
    const child = start(place, folder, ['payout', 'run', '--json']);
    child.stdout?.resume();
    const poll = setInterval(() => (peakBytes = Math.max(peakBytes, peakOf(child.pid))), 25);
    const code = await new Promise((resolve) => child.on('close', resolve));
    clearInterval(poll);
    if (code !== 0 && !(code === 3 && submitters > 1)) throw new Error(`settle payout run ended with ${String(code)}`);
  });
  await Promise.all(runs);
  return { ms: performance.now() - startedAt, peakBytes };
}

async function measure(place: Place, { payouts, perSecond, submitters }: Payday): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  writeFileSync(join(folder, 'secret'), 'a secret of the benchmark\n');
  writeFileSync(join(folder, 'scenario.json'), JSON.stringify({ perSecond }));
  const simulated = [
    'channel',
    'simulate',
    '--port',
    '0',
    '--scenario',
    'scenario.json',
    '--json',
    '--secret-file',
    'secret',
  ];
  const channel = start(place, folder, simulated);
  try {
    await closedDay(place, payouts);
    const url = await new Promise<string>((resolve) => {
      let text = '';
      channel.stdout?.on('data', (part: Buffer) => {
        text += part.toString();
        const [, found] = /"url": "([^"]+)"/.exec(text) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    const settings = `{ kind: http, url: '${url}', secret: { file: secret }, paysByAccountNo: true, perSecond: ${String(perSecond)}, concurrency: 16 }`;
    writeFileSync(join(folder, 'settle.yaml'), `channels:\n  bank: ${settings}\npayouts: { channel: bank }\n`);
    const { ms, peakBytes } = await payOut(place, folder, submitters);
    const book = (await (await fetch(new URL('/book', url))).json()) as Book;
    assertPaid(book, payouts);
    const allowedSeconds = payouts / perSecond;
    const seconds = ms / 1_000;
    return {
      seconds,
      allowedSeconds,
      overPercent: (seconds / allowedSeconds - 1) * 100,
      peakMegabytes: peakBytes / 2 ** 20,
      rateLimited: book.counts.rateLimited,
    };
  } finally {
    channel.kill('SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Book {
  counts: { submits: number; rateLimited: number; bodiesDiffer: number };
  payments: { key: string }[];
}

function assertPaid({ counts, payments }: Book, payouts: number): void {
  const keys = new Set(payments.map(({ key }) => key));
  if (payments.length !== keys.size || keys.size + counts.rateLimited !== payouts || counts.bodiesDiffer > 0) {
    throw new Error(`${String(payments.length)} payments of ${String(keys.size)} keys, ${String(payouts)} expected.`);
  }
}

/** The peak of planning and submitting so many payouts over a channel in the process, which takes them as they come. */
async function memory(place: Place, payouts: number): Promise<{ seconds: number; peakMegabytes: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  try {
    await closedDay(place, payouts);
    const settings = '{ kind: simulator, perSecond: 10000, concurrency: 64 }';
    writeFileSync(join(folder, 'settle.yaml'), `channels:\n  bank: ${settings}\npayouts: { channel: bank }\n`);
    const { ms, peakBytes } = await payOut(place, folder, 2);
    return { seconds: ms / 1_000, peakMegabytes: peakBytes / 2 ** 20 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const options = {
    payouts: { type: 'string', default: '10000' },
    'per-second': { type: 'string', default: '200' },
    submitters: { type: 'string', default: '1' },
    engine: { type: 'string', default: 'both' },
    memory: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) {
    process.stdout.write(help);
    return 0;
  }
  const payday = {
    payouts: Number(values.payouts),
    perSecond: Number(values['per-second']),
    submitters: Number(values.submitters),
  };
  let kept = true;
  for (const engine of values.engine === 'both' ? ['sqlite', 'server'] : [values.engine]) {
    const on = async <T>(work: (place: Place) => Promise<T>): Promise<T> => {
      const place = engine === 'sqlite' ? privateFilePlace() : await privateServerPlace();
      return work(place).finally(() => place.remove());
    };
    if (values.memory !== undefined) {
      for (const payouts of values.memory.split(',').map(Number)) {
        const { seconds, peakMegabytes } = await on((place) => memory(place, payouts));
        const figures = `${peakMegabytes.toFixed(0)} MB, ${seconds.toFixed(1)} s`;
        process.stdout.write(`${engine}: ${String(payouts)} payouts: ${figures}\n`);
      }
      continue;
    }
    const { seconds, allowedSeconds, overPercent, peakMegabytes, rateLimited } = await on((place) =>
      measure(place, payday),
    );
    kept &&= overPercent <= 10 && rateLimited === 0;
    process.stdout.write(
      `${engine}: ${String(payday.payouts)} payouts at ${String(payday.perSecond)} a second by ${String(payday.submitters)}: ` +
        `${seconds.toFixed(1)} s, ${overPercent.toFixed(1)} % over the ${allowedSeconds.toFixed(1)} s that the limit allows; ` +
        `${String(rateLimited)} too fast; ${peakMegabytes.toFixed(0)} MB\n`,
    );
  }
  return kept ? 0 : 1;
}

process.exitCode = await main();
