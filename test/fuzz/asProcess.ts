import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Typed } from '../support/inside.js';
import type { Ended } from '../support/program.js';

/** One command as a process of its own; killed, with code null, when it does not end in `msMax`. */
export function runAsProcess({ args, environment, cwd, stdin }: Typed, msMax: number): Promise<Ended> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../../bin/settle.js'), ...args], {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: process.env['TMPDIR'] ?? '', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin ?? '');
  const timer = setTimeout(() => child.kill('SIGKILL'), msMax);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text: Buffer) => (stdout += text.toString()));
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}

/** An argument or a value that no operating system can hand to a process. */
export function fitsProcess({ args, environment }: Typed): boolean {
  const texts = [...args, ...Object.entries(environment).flat()];
  return texts.every((text) => !text.includes('\0') && text.length < 100_000);
}
