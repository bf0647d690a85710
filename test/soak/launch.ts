import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Launched {
  pid: number;
  ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
  isOver(): boolean;
  /** Stands still, as after SIGSTOP. */
  isStopped(): boolean;
}

const bin = join(process.cwd(), 'bin', 'settle.js');
const striker = pathToFileURL(join(process.cwd(), 'test', 'soak', 'strike.mjs')).href;

/** Starts `settle` as a process of its own. With `strike`, it sends itself a signal at its n-th SQLite statement. */
export function launch(
  args: readonly string[],
  options: { url: string; cwd: string; env: Record<string, string>; strike?: { statement: number; signal: string } },
): Launched {
  const { strike } = options;
  const child = spawn(process.execPath, [bin, ...args], {
    cwd: options.cwd,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      SETTLE_DATABASE_URL: options.url,
      ...options.env,
      ...(strike === undefined
        ? {}
        : {
            NODE_OPTIONS: `--import=${striker}`,
            SOAK_STATEMENT: String(strike.statement),
            SOAK_SIGNAL: strike.signal,
          }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  let over = false;
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      over = true;
      resolve({ code, signal, stdout, stderr });
    });
  });
  const pid = child.pid ?? 0;
  return {
    pid,
    ended,
    kill: (signal) => {
      if (!over) child.kill(signal);
    },
    isOver: () => over,
    isStopped: () => {
      try {
        return /^State:\s+T/m.test(readFileSync(`/proc/${String(pid)}/status`, 'utf8'));
      } catch {
        return false;
      }
    },
  };
}
