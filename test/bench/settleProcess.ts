import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { batchDay } from './data.js';
import { BenchRefused } from './refused.js';
import { peakOf } from './peakMemory.js';

const settleBin = fileURLToPath(new URL('../../../bin/settle.js', import.meta.url));

export interface SettleResult {
  /** From the start of the process to its end: start-up, reconciliation and closing the day included. */
  ms: number;
  peakBytes: number;
}

/** `settle run` as cron would start it. Anything but exit code 0 fails the benchmark. */
export async function runSettle(url: string, lanes: number | undefined): Promise<SettleResult> {
  if (!existsSync('/proc/self/status')) {
    throw new BenchRefused('The peak memory of the client is read from /proc, so the benchmark needs Linux.');
  }
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [
      settleBin,
      'run',
      '--batch-day',
      batchDay,
      '--json',
      ...['--progress', 'none'],
      ...(lanes === undefined ? [] : ['--lanes', String(lanes)]),
    ],
    { env: { PATH: process.env['PATH'], SETTLE_DATABASE_URL: url }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const killed = (): void => void child.kill('SIGKILL');
  process.once('exit', killed); // a benchmark that is stopped leaves nobody at work behind
  let answer = '';
  let trouble = '';
  child.stdout.on('data', (text: Buffer) => (answer += text.toString()));
  child.stderr.on('data', (text: Buffer) => (trouble += text.toString()));
  let peakBytes = 0;
  const poll = setInterval(() => (peakBytes = Math.max(peakBytes, peakOf(child.pid))), 25);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const ms = performance.now() - start;
  clearInterval(poll);
  process.off('exit', killed);
  if (code !== 0) throw new Error(`settle run ended with exit code ${String(code)}:\n${trouble}${answer}`);
  const outcome = (JSON.parse(answer) as { outcome?: unknown }).outcome;
  if (outcome !== 'OK') throw new Error(`settle run ended with outcome ${String(outcome)} instead of OK.`);
  return { ms, peakBytes };
}
