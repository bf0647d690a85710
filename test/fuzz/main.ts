import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { msMax } from './door.js';
import { newRoot } from './place.js';
import { doors, work, type Message } from './worker.js';

const usage = `npm run fuzz -- [--runs N] [--seed S] [--door ${doors.map(({ name }) => name).join('|')}|all] [--only N]

  --runs N   inputs, over all doors that are tried (default: 100000)
  --seed S   seed of the inputs (default: 1); the same seed makes the same inputs
  --door D   one way in (default: all)
  --only N   one input, by the number that a failure printed
`;

interface Failure {
  door: string;
  number: number;
  input: string;
  faults: string[];
}

interface Result {
  door: string;
  inputs: number;
  processes: number;
  seconds: number;
  failures: Failure[];
}

/** Tries one door in a process of its own; one that dies or says nothing for too long has failed with its input. */
function tryDoor(door: string, seed: string, from: number, to: number): Promise<Result> {
  const root = newRoot();
  const child = fork(fileURLToPath(import.meta.url), ['--work', root, door, seed, String(from), String(to)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const started = performance.now();
  const result: Result = { door, inputs: 0, processes: 0, seconds: 0, failures: [] };
  let [current, ended] = [from, false];
  let timer: NodeJS.Timeout | undefined;
  const fail = (number: number, input: string, faults: string[]): void => {
    const failure = { door, number, input, faults };
    result.failures.push(failure);
    process.stdout.write(`${told(failure, seed)}\n`);
  };
  const watch = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => child.kill('SIGKILL'), 2 * msMax);
  };
  watch();
  child.on('message', (message: Message) => {
    watch();
    if ('began' in message) current = message.began;
    else if ('failed' in message) fail(message.failed, message.input, message.faults);
    else {
      ended = true;
      Object.assign(result, { inputs: message.done, processes: message.processes });
    }
  });
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      rmSync(root, { recursive: true, force: true });
      if (!ended) fail(current, '(not told)', [`hung or died: exit code ${String(code)}, signal ${String(signal)}`]);
      result.seconds = (performance.now() - started) / 1_000;
      resolve(result);
    });
  });
}

function told({ door, number, input, faults }: Failure, seed: string): string {
  const lines = faults.map((fault) => `    ${fault}`).join('\n');
  return `FAILED ${door} ${String(number)}   (npm run fuzz -- --seed ${seed} --door ${door} --only ${String(number)})\n  ${input}\n${lines}`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      door: { type: 'string', default: 'all' },
      only: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const tried = doors.map(({ name }) => name).filter((name) => values.door === 'all' || values.door === name);
  const [runs, only] = [Number(values.runs), values.only === undefined ? null : Number(values.only)];
  if (values.help || tried.length === 0 || !(runs >= 1) || Number.isNaN(only ?? 0)) {
    process.stdout.write(usage);
    return values.help ? 0 : 2;
  }
  const each = Math.ceil(runs / tried.length);
  const results: Result[] = [];
  for (const door of tried) {
    const result = await tryDoor(door, values.seed, only ?? 0, only === null ? each : only + 1);
    results.push(result);
    const { inputs, processes, seconds, failures } = result;
    process.stdout.write(
      `${door.padEnd(12)} ${String(inputs).padStart(7)} inputs, ${String(processes).padStart(5)} of them as processes, ` +
        `${seconds.toFixed(0)} s, ${String(failures.length)} failed\n`,
    );
  }
  const sum = (of: (result: Result) => number): number => results.reduce((total, result) => total + of(result), 0);
  const failed = sum(({ failures }) => failures.length);
  process.stdout.write(
    `Seed ${values.seed}: ${String(sum(({ inputs }) => inputs))} inputs, ${String(sum(({ processes }) => processes))} as processes, ${String(failed)} failed.\n`,
  );
  return failed === 0 ? 0 : 1;
}

if (process.argv[2] === '--work') {
  const [, , , root = '', door = '', seed = '', from = '0', to = '0'] = process.argv;
  await work({ root, door, seed, from: Number(from), to: Number(to) }, (message) => process.send?.(message));
  process.disconnect();
} else process.exitCode = await main();
