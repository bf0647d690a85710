import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exitCodes } from '../src/kernel/errors.js';

// The other recipes of fixtures/deploy, each checked by what would read it as far as that is at hand: the command lines by the
// program's own parser, the crontab by its grammar, the DAG by Python, the Dockerfile by what it copies and runs.

const deploy = join(process.cwd(), 'fixtures', 'deploy');
const fixture = (name: string): string => readFileSync(join(deploy, name), 'utf8');

/** The built one, which finds its package.json. */
type CommandLine = typeof import('../src/commandLine.js');
let buildProgram: CommandLine['buildProgram'];
let folder: string;
beforeAll(async () => {
  const built = pathToFileURL(join(process.cwd(), 'dist', 'src', 'commandLine.js')).href;
  ({ buildProgram } = (await import(built)) as CommandLine);
  folder = mkdtempSync(join(tmpdir(), 'settle-recipes-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What the command line says of words, without carrying them out; null when it takes them. */
async function refusalOf(words: readonly string[]): Promise<string | null> {
  let invoked = false;
  const program = buildProgram(
    () => {
      invoked = true;
      return Promise.resolve(0);
    },
    { silentErrors: true },
  );
  try {
    await program.parseAsync(['node', 'settle', ...words]);
    return invoked ? null : 'no command';
  } catch (error) {
    return (error as Error).message;
  }
}

/** Every `settle …` in a line of shell, as words. */
function settleCommands(line: string): string[][] {
  return [...line.matchAll(/(?:^|&& |\|\| )settle ((?:[^>&|"#]|\\.)+)/g)].map(([, words = '']) =>
    words.trim().split(/\s+/),
  );
}

describe('the crontab', () => {
  const lines = fixture('crontab')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const jobs = lines.filter((line) => !/^[A-Z_]+=/.test(line));

  /** What is wrong with the five fields of a line, as crontab(5) has them. */
  function complaints(line: string): string[] {
    const limits = [
      [0, 59],
      [0, 23],
      [1, 31],
      [1, 12],
      [0, 7],
    ] as const;
    const fields = line.split(/\s+/);
    return limits.flatMap(([low, high], at) => {
      const field = fields[at] ?? '';
      const isRight = field.split(',').every((part) => {
        const [, from, to = from] = /^(?:\*|([0-9]+)(?:-([0-9]+))?)(?:\/[1-9][0-9]*)?$/.exec(part) ?? ['', 'x'];
        if (part.startsWith('*')) return /^\*(\/[1-9][0-9]*)?$/.test(part);
        return Number(from) >= low && Number(to) <= high && Number(from) <= Number(to);
      });
      return isRight ? [] : [`field ${String(at + 1)} is ${field}`];
    });
  }

  test('has five good fields a line and only then a command; % would end it', () => {
    expect(jobs.length).toBeGreaterThan(3);
    expect(jobs.flatMap(complaints)).toEqual([]);
    expect(jobs.filter((line) => line.includes('%'))).toEqual([]);
    expect(complaints('61 0 * * * x')).toEqual(['field 1 is 61']);
    expect(complaints('10 0-25 * mon * x')).toEqual(['field 2 is 0-25', 'field 4 is mon']);
  });

  test('types commands that the program takes', async () => {
    const typed = jobs.flatMap(settleCommands);
    expect(typed.length).toBe(jobs.length);
    for (const words of typed) expect([words, await refusalOf(words)]).toEqual([words, null]);
    expect(await refusalOf(['run', '--report-folder', 'x'])).toContain('unknown option');
    expect(typed.map(([name]) => name)).toEqual(expect.arrayContaining(['run', 'status', 'doctor', 'verify']));
  });

  test('is one that crontab takes, where there is one', () => {
    const found = spawnSync('crontab', ['-T', join(deploy, 'crontab')], { encoding: 'utf8' });
    // Not every cron can check a file; the test above reads it in any case.
    if (found.error === undefined && !/invalid option|usage/i.test(found.stderr)) expect(found.status).toBe(0);
  });
});

describe('the Airflow DAG', () => {
  const file = join(deploy, 'airflow_settle.py');

  /** Python with stand-ins for the parts of Airflow that the file uses, and a `settle` that ends as it is told. */
  function python(script: string): { status: number | null; stdout: string; stderr: string } {
    const stubs = join(folder, 'stubs');
    mkdirSync(join(stubs, 'airflow', 'operators'), { recursive: true });
    const dag =
      'class DAG:\n  def __init__(self, **k): self.k = k\n  def __enter__(self): return self\n  def __exit__(self, *a): return None\n';
    const exceptions =
      'class AirflowException(Exception): pass\nclass AirflowFailException(AirflowException): pass\nclass AirflowSkipException(AirflowException): pass\n';
    const operator = 'made = []\nclass PythonOperator:\n  def __init__(self, **k): made.append(k)\n';
    writeFileSync(join(stubs, 'airflow', '__init__.py'), dag);
    writeFileSync(join(stubs, 'airflow', 'exceptions.py'), exceptions);
    writeFileSync(join(stubs, 'airflow', 'operators', '__init__.py'), '');
    writeFileSync(join(stubs, 'airflow', 'operators', 'python.py'), operator);
    writeFileSync(join(stubs, 'pendulum.py'), 'def datetime(*a, **k): return (a, k)\n');
    writeFileSync(join(stubs, 'settle'), '#!/bin/sh\necho "$@" > "$SEEN"\nexit "$CODE"\n', { mode: 0o755 });
    const { error, status, stdout, stderr } = spawnSync('python3', ['-c', script], {
      encoding: 'utf8',
      env: {
        PATH: `${stubs}:${process.env['PATH'] ?? ''}`,
        HOME: process.env['HOME'] ?? '',
        PYTHONPATH: `${stubs}:${deploy}`,
        PYTHONDONTWRITEBYTECODE: '1',
        SEEN: join(folder, 'seen'),
      },
    });
    if (error !== undefined) throw new Error('There is no python3. Type: apt-get install python3', { cause: error });
    return { status, stdout, stderr };
  }

  test('compiles', () => {
    const compiled = join(folder, 'dag.pyc');
    expect(
      python(
        `import py_compile; py_compile.compile(${JSON.stringify(file)}, ${JSON.stringify(compiled)}, doraise=True)`,
      ),
    ).toEqual({
      ...{ status: 0, stdout: '', stderr: '' },
    });
  });

  test('knows every exit code of the program, and ends the task as each of them asks', () => {
    const { status, stdout, stderr } = python(`
import json, os, airflow_settle as dag
from airflow.operators.python import made
ends = {}
for code in [*dag.EXIT_CODES, -9, 99]:
    if code < 0: end = lambda: dag.decide(code)
    else:
        os.environ["CODE"] = str(code)
        end = dag.settle_run
    try:
        end(); ends[code] = "done"
    except Exception as error: ends[code] = type(error).__name__
print(json.dumps({"ends": ends, "retries": made[0]["retries"], "command": dag.COMMAND}))`);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const told = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
      ends: Record<string, string>;
      retries: number;
      command: string[];
    };
    const codes = Object.values(exitCodes).map(String);
    expect(
      Object.keys(told.ends)
        .filter((code) => Number(code) >= 0 && code !== '99')
        .sort(),
    ).toEqual(codes.sort());
    expect(told.ends).toEqual({
      ...{ 0: 'done', 10: 'AirflowSkipException' },
      ...{ 2: 'AirflowFailException', 3: 'AirflowFailException', 4: 'AirflowFailException' },
      ...{ 5: 'AirflowFailException', 130: 'AirflowFailException' },
      ...{ 1: 'AirflowException', 11: 'AirflowException', 12: 'AirflowException', 75: 'AirflowException' },
      ...{ 143: 'AirflowException', '-9': 'AirflowException', 99: 'AirflowException' },
    });
    expect(told.retries).toBeGreaterThan(0);
    expect(readFileSync(join(folder, 'seen'), 'utf8').trim()).toBe(told.command.slice(1).join(' '));
  });

  test('types a command that the program takes', async () => {
    const list = /^COMMAND = (\[.*\])$/m.exec(fixture('airflow_settle.py'))?.[1] ?? '[]';
    const [program, ...words] = JSON.parse(list) as string[];
    expect([program, await refusalOf(words)]).toEqual(['settle', null]);
  });
});

describe('the Dockerfile', () => {
  interface Instruction {
    name: string;
    args: string;
  }
  const instructions = fixture('Dockerfile')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line): Instruction => {
      const [, name = '', args = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      return { name, args };
    });
  const stages: Instruction[][] = [];
  for (const instruction of instructions) {
    if (instruction.name === 'FROM') stages.push([]);
    stages.at(-1)?.push(instruction);
  }
  const [build = [], last = []] = stages;
  const of = (stage: readonly Instruction[], name: string): string[] =>
    stage.filter((one) => one.name === name).map(({ args }) => args);

  test('has only instructions that Docker knows, and two stages on the oldest Node that is supported', () => {
    const known = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'ENTRYPOINT', 'CMD'];
    expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([]);
    expect(stages).toHaveLength(2);
    expect([...of(build, 'FROM'), ...of(last, 'FROM')]).toEqual(['node:20-bookworm AS build', 'node:20-bookworm-slim']);
  });

  test('copies what is there: files of the project, and what the first stage has made', () => {
    for (const line of of(build, 'COPY')) {
      for (const source of line.split(' ').slice(0, -1)) expect([source, existsSync(source)]).toEqual([source, true]);
    }
    const made = of(last, 'COPY').map((line) => line.split(' ').filter((word) => !word.startsWith('--'))[0] ?? '');
    const built = ['/opt/bin', '/opt/data', '/opt/settle/dist', '/opt/settle/node_modules'];
    const copied = of(build, 'COPY').flatMap((line) => line.split(' ').slice(0, -1));
    expect(made.filter((path) => !built.includes(path) && !copied.includes(path.replace('/opt/settle/', '')))).toEqual(
      [],
    );
    expect(of(build, 'WORKDIR')).toEqual(['/opt/settle']);
  });

  test('builds by scripts that there are, and from everything that they read', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const commands = of(build, 'RUN').flatMap((line) => line.split(' && '));
    for (const [, name = ''] of commands.map((one) => /^npm run (\S+)/.exec(one) ?? [])) {
      if (name !== '') expect(scripts).toHaveProperty([name]);
    }
    expect(commands).toEqual(expect.arrayContaining(['npm ci --ignore-scripts', 'npm run build']));
    const sources = of(build, 'COPY').join(' ');
    for (const needed of ['package-lock.json', 'tsconfig.build.json', 'tsconfig.json', 'bin', 'migrations', 'src'])
      expect(sources).toContain(needed);
  });

  test('leaves nothing behind to build with, and runs as nobody in particular, in a folder of its own', () => {
    expect(of(last, 'RUN')).toEqual([]);
    expect(of(last, 'FROM')[0]).toMatch(/-slim$/);
    const [user = ''] = of(last, 'USER');
    expect(user).toMatch(/^[1-9][0-9]{3,}:[1-9][0-9]{3,}$/);
    const [home] = of(last, 'WORKDIR');
    expect(of(last, 'COPY')).toContain(`--from=build --chown=${user} /opt/data ${home ?? ''}`);
    expect(of(build, 'RUN').join(' ')).toContain('npm prune --omit=dev');
  });

  test('starts the program itself, by a link to the file that package.json names', async () => {
    expect(of(last, 'ENTRYPOINT')).toEqual(['["settle"]']);
    const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: Record<string, string> };
    expect(of(build, 'RUN').join(' ')).toContain(`ln -s /opt/settle/${bin['settle'] ?? ''} /opt/bin/settle`);
    expect(of(last, 'ENV')[0]).toMatch(/PATH=\/opt\/bin:/);
    const [, words = '[]'] = /(\[.*\])/.exec(of(last, 'CMD')[0] ?? '') ?? [];
    expect(JSON.parse(words)).toEqual(['--help']);
    // The manifests ask for the user that the image has.
    expect(fixture('kubernetes.yaml')).toContain(`runAsUser: ${of(last, 'USER')[0]?.split(':')[0] ?? ''}\n`);
    expect(await refusalOf(['doctor'])).toBeNull();
  });
});
