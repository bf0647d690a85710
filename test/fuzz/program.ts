import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { main } from '../../src/cli.js';

/** What a user sees of one command. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Typed {
  args: readonly string[];
  /** The settings of the environment; all others are unset. */
  environment: Readonly<Record<string, string>>;
  cwd: string;
  stdin?: Buffer;
}

class Collected extends Writable {
  private readonly parts: Buffer[] = [];

  override _write(part: Buffer | string, _encoding: string, done: () => void): void {
    this.parts.push(Buffer.from(part as Buffer));
    done();
  }

  text(): string {
    return Buffer.concat(this.parts).toString();
  }
}

const environmentBefore = { ...process.env };

/** Runs the command line inside this process: the streams, the environment and the folder are those of one command. */
export async function runInside({ args, environment, cwd, stdin }: Typed): Promise<Ended> {
  const [stdout, stderr] = [new Collected(), new Collected()];
  const input = Readable.from(stdin === undefined ? [] : [stdin]);
  const streams = { stdout, stderr, stdin: input };
  const kept = Object.fromEntries(
    Object.keys(streams).map((name) => [name, Object.getOwnPropertyDescriptor(process, name)]),
  ) as Record<string, PropertyDescriptor>;
  const folder = process.cwd();
  for (const [name, value] of Object.entries(streams))
    Object.defineProperty(process, name, { value, configurable: true });
  setEnvironment(environment);
  process.chdir(cwd);
  try {
    const code = await main([process.execPath, 'settle', ...args]);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.chdir(folder);
    setEnvironment(null);
    for (const [name, descriptor] of Object.entries(kept)) Object.defineProperty(process, name, descriptor);
  }
}

function setEnvironment(settings: Readonly<Record<string, string>> | null): void {
  for (const name of Object.keys(process.env)) {
    if (settings === null ? !(name in environmentBefore) : name.startsWith('SETTLE_')) delete process.env[name];
  }
  Object.assign(process.env, settings ?? environmentBefore);
}

/** The same as a process of its own; killed, with code null, when it does not end in `msMax`. */
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
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
}

/** An argument or a value that no operating system can hand to a process. */
export function fitsProcess({ args, environment }: Typed): boolean {
  const texts = [...args, ...Object.entries(environment).flat()];
  return texts.every((text) => !text.includes('\0') && text.length < 100_000);
}
