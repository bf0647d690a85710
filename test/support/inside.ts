import { Readable, Writable } from 'node:stream';
import { main } from '../../src/cli.js';
import type { Ended } from './program.js';

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
    return { code, signal: null, stdout: stdout.text(), stderr: stderr.text() };
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

let before: Promise<unknown> = Promise.resolve();

/**
 * `settle` of ./program.ts inside this process, a tenth of its price: for tests of what a command answers. Where
 * signals, memory, the machine's zone, or two commands at the same time are the point, a process is due: commands
 * that are typed here wait for each other.
 */
export function settleInside(
  args: readonly string[],
  options: { url?: string; cwd?: string; env?: Record<string, string>; stdin?: string } = {},
): Promise<Ended> {
  const ended = before.then(() =>
    runInside({
      args,
      environment: { ...(options.url === undefined ? {} : { SETTLE_DATABASE_URL: options.url }), ...options.env },
      cwd: options.cwd ?? process.cwd(),
      ...(options.stdin === undefined ? {} : { stdin: Buffer.from(options.stdin) }),
    }),
  );
  before = ended.catch(() => undefined);
  return ended;
}
