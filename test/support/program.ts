import { spawn } from 'node:child_process';
import { join } from 'node:path';

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Started {
  pid: number | undefined;
  kill(signal: NodeJS.Signals): void;
  onStderr(listener: (text: string) => void): void;
}

export const settleBin = join(process.cwd(), 'bin', 'settle.js');

/** Starts `settle` as a process of its own, as cron would: no terminal, no standard input, only this environment. */
export function settle(
  args: readonly string[],
  options: { url?: string; cwd?: string; env?: Record<string, string>; stdin?: string } = {},
): Promise<Ended> & Started {
  const child = spawn(process.execPath, [settleBin, ...args], {
    cwd: options.cwd ?? process.cwd(),
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      ...(options.url === undefined ? {} : { SETTLE_DATABASE_URL: options.url }),
      ...options.env,
    },
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  if (options.stdin !== undefined) child.stdin?.end(options.stdin);
  let stdout = '';
  let stderr = '';
  const listeners: ((text: string) => void)[] = [];
  child.stdout?.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr?.on('data', (text: Buffer) => {
    stderr += text.toString();
    for (const listener of listeners) listener(text.toString());
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout, stderr });
    });
  });
  return Object.assign(ended, {
    pid: child.pid,
    kill: (signal: NodeJS.Signals) => {
      child.kill(signal);
    },
    onStderr: (listener: (text: string) => void) => {
      listeners.push(listener);
    },
  });
}
