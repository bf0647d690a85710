import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { init } from '../src/commands/init.js';
import { loadConfig } from '../src/config.js';
import { commandContext } from './support/commandContext.js';
import { onServer, serverUrl } from './support/databases.js';
import { settleBin } from './support/program.js';

let folder: string;
const home = process.cwd();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-init-'));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(home);
  rmSync(folder, { recursive: true, force: true });
});

const written = (name: string): string => readFileSync(join(folder, name), 'utf8');
const modeOf = (name: string): number => statSync(join(folder, name)).mode & 0o777;

describe('settle init --yes', () => {
  test('writes what the flags say, everything else commented out, and names the next command', async () => {
    const { context, printed } = commandContext({}, { yes: true });
    const options = { database: 'sqlite:books.db', timeZone: 'Asia/Shanghai', cutOff: '22:30' };
    expect(await init(context, options)).toBe(0);
    expect(parse(written('settle.yaml'))).toEqual({
      database: { url: 'sqlite:books.db' },
      calendar: { timeZone: 'Asia/Shanghai', cutOff: '22:30' },
    });
    expect(loadConfig({ environment: {} }).calendar).toMatchObject({ timeZone: 'Asia/Shanghai', cutOff: '22:30' });
    expect(written('settle.yaml')).toMatch(/^# +pageSize: /m);
    expect(modeOf('settle.yaml')).toBe(0o600);
    expect(printed()).toMatch(/Wrote settle\.yaml\.\nNext: settle migrate up$/);
    expect(existsSync('books.db')).toBe(false);
  });

  test('overwrites nothing', async () => {
    writeFileSync('settle.yaml', '# mine\n');
    await expect(init(commandContext({}, { yes: true }).context, {})).rejects.toMatchObject({
      code: 'FILE_NOT_WRITABLE',
      next: 'settle config show',
    });
    expect(written('settle.yaml')).toBe('# mine\n');
  });

  test.each<[string, object, string]>([
    ['a password on the command line', { database: 'mysql://u:secret@127.0.0.1/d' }, 'USAGE'],
    ['a time zone that is none', { timeZone: 'Mars/Olympus' }, 'USAGE'],
    ['a time that is none', { cutOff: '24:00' }, 'USAGE'],
    ['a folder that is not there', { database: 'sqlite:none/settle.db' }, 'DATABASE_NOT_WRITABLE'],
    ['a file that is no database', { database: 'sqlite:letter' }, 'DATABASE_NOT_A_DATABASE'],
    ['another kind of database', { database: 'postgres://u@h/d' }, 'DATABASE_URL_INVALID'],
  ])('refuses %s, and writes nothing', async (_what, options, code) => {
    writeFileSync('letter', 'Dear reader, this is no database at all. '.repeat(40));
    const thrown = await init(commandContext({}, { yes: true }).context, options).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code, next: expect.any(String) });
    expect(String((thrown as Error).message)).not.toContain('secret');
    expect(existsSync('settle.yaml')).toBe(false);
  });

  test('without a terminal and without --yes says what to type', async () => {
    await expect(init(commandContext({}).context, {})).rejects.toMatchObject({
      code: 'CONFIRMATION_NEEDED',
      next: expect.stringMatching(/^settle init --yes --database /),
    });
  });
});

describe('settle init at a terminal', () => {
  test('asks, asks again what it cannot read, and takes the default of an empty answer', async () => {
    const answers = ['oracle:x', '', 'Shanghai', 'Asia/Shanghai', '25:00', ''];
    const { context, asked, said, document } = commandContext({}, { answers, json: true });
    expect(await init(context, {})).toBe(0);
    expect(asked.map(({ question }) => question.split(/[,[]/)[0]?.trim())).toEqual([
      ...['Database', 'Database', 'Time zone of the cut-off', 'Time zone of the cut-off'],
      ...['Local time that ends a batch day', 'Local time that ends a batch day'],
    ]);
    expect(said()).toContain('"Shanghai" is not a time zone of the IANA list');
    expect(document()).toMatchObject({
      ...{ schema: 'settle.init', files: ['settle.yaml'], database: 'sqlite:settle.db', environment: null },
      next: 'settle migrate up',
    });
  });

  test('keeps a password out of settle.yaml, in a file that only its owner may read, once it has let us in', async () => {
    await onServer(`create database if not exists settle_init`);
    await onServer(`create or replace user 'asked'@'%' identified by 'p@ss/w:rd'`);
    await onServer(`grant select on settle_init.* to 'asked'@'%'`);
    try {
      const url = new URL(`${serverUrl()}settle_init`);
      [url.username, url.password] = ['asked', ''];
      const wrong = commandContext({}, { answers: [url.href, 'wrong', '', ''] });
      await expect(init(wrong.context, {})).rejects.toMatchObject({ code: 'DATABASE_ACCESS_DENIED' });
      expect(existsSync('settle.yaml') || existsSync('database-url')).toBe(false);

      const { context, asked, printed } = commandContext({}, { answers: [url.href, 'p@ss/w:rd', '', ''] });
      expect(await init(context, {})).toBe(0);
      expect(asked[1]).toMatchObject({ hidden: true });
      expect(written('settle.yaml')).not.toContain('p@ss');
      expect([modeOf('settle.yaml'), modeOf('database-url')]).toEqual([0o600, 0o600]);
      expect(printed()).not.toMatch(/p@ss|p%40ss/);
      expect(printed()).toContain(`export SETTLE_DATABASE_URL_FILE=${join(process.cwd(), 'database-url')}`);
      const { database } = loadConfig({ environment: { SETTLE_DATABASE_URL_FILE: 'database-url' } });
      expect(decodeURIComponent(new URL(database.url).password)).toBe('p@ss/w:rd');
    } finally {
      await onServer('drop database settle_init');
      await onServer(`drop user 'asked'@'%'`);
    }
  });

  test('a real one: what is typed is asked for, a password is not echoed, Ctrl-C ends it with 130 and no file', async () => {
    // A pseudo-terminal, as ssh makes one.
    const started = (): ReturnType<typeof spawn> =>
      spawn('script', ['-qec', `"${process.execPath}" "${settleBin}" init`, '/dev/null'], {
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm' },
      });
    const type = async (child: ReturnType<typeof spawn>, lines: readonly [RegExp, string][]): Promise<string> => {
      let shown = '';
      const left = [...lines];
      child.stdout?.on('data', (text: Buffer) => {
        shown += text.toString().replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
        const [next] = left;
        if (next?.[0].test(shown) !== true) return;
        left.shift();
        child.stdin?.write(next[1]);
      });
      const code = await new Promise((resolve) => child.on('close', resolve));
      return `${shown}\nexit code ${String(code)}`;
    };
    const stopped = await type(started(), [[/Database.*: $/s, '\u0003']]);
    expect(stopped).toMatch(/exit code 130$/);
    expect(existsSync('settle.yaml')).toBe(false);

    const answered = await type(started(), [
      [/Database.*: $/s, 'mysql://nobody@127.0.0.1:1/d\r'],
      [/Password of nobody.*: $/s, 'hunter2\r'],
      [/Time zone.*: $/s, '\r'],
      [/Local time.*: $/s, '\u0004'],
    ]);
    expect(answered).not.toContain('hunter2');
    expect(answered).toMatch(/There was no answer\.[^]*exit code 2$/);
  }, 30_000);
});
