import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { configSchema, loadConfig } from '../src/config.js';
import { settingsTemplate, shownSettings } from '../src/configShow.js';
import { settleInside as settle } from './support/inside.js';
import { settle as settleProcess, settleBin } from './support/program.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});
const file = (text: string, name = 'settle.yaml'): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe('settle config show', () => {
  test('tells of each setting where it comes from: environment before file before default', async () => {
    file('batch: { lanes: 3, lookBackDays: 9 }\ncalendar: { timeZone: Asia/Shanghai }\n');
    const { code, stdout } = await settle(['config', 'show', '--json'], {
      cwd: folder,
      env: { SETTLE_BATCH_LANES: '5' },
    });
    expect(code).toBe(0);
    const { schema, settings } = JSON.parse(stdout) as { schema: string; settings: { setting: string }[] };
    expect(schema).toBe('settle.config');
    const byName = new Map(settings.map((setting) => [setting.setting, setting]));
    expect([...byName.values()]).toHaveLength(settings.length);
    expect(byName.get('batch.lanes')).toMatchObject({
      ...{ value: 5, source: 'environment', variable: 'SETTLE_BATCH_LANES' },
    });
    expect(byName.get('batch.lookBackDays')).toMatchObject({ value: 9, source: 'file' });
    expect(byName.get('calendar.timeZone')).toMatchObject({ value: 'Asia/Shanghai', source: 'file' });
    expect(byName.get('calendar.cutOff')).toMatchObject({ value: '00:00', source: 'default' });
    expect(byName.get('report.dir')).toMatchObject({ value: null, source: 'default' });
  });

  test.each([['--config'], ['SETTLE_CONFIG']])('reads the file named by %s', async (way) => {
    const path = file('batch: { lanes: 7 }\n', 'other.yaml');
    const named = way === '--config' ? [way, path] : [];
    const env = way === '--config' ? {} : { [way]: path };
    const { stdout } = await settle(['config', 'show', ...named], { cwd: folder, env });
    expect(stdout).toMatch(/^batch\.lanes +7 {2}\(file\)$/m);
  });

  test('shows no password, and nothing that a command is given', async () => {
    file(`channels:
  bank: { kind: http, url: https://bank.example/pay, secret: { command: [vault, read, cAnAry1] } }
`);
    const { code, stdout } = await settle(['config', 'show'], {
      cwd: folder,
      env: { SETTLE_DATABASE_URL: 'mysql://settle:cAnAry2@:x@db.example:3306/pay' },
    });
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/cAnAry|@:x/);
    expect(stdout).toContain('"mysql://settle:***@db.example:3306/pay"  (SETTLE_DATABASE_URL)');
    expect(stdout).toMatch(/^channels\.bank\.secret\.command +\["vault","\*\*\*","\*\*\*"\] {2}\(file\)$/m);
  });
});

describe('settle config check', () => {
  test('says that the settings are valid', async () => {
    file('batch: { lanes: 3 }\n');
    expect(await settle(['config', 'check'], { cwd: folder })).toMatchObject({
      ...{ code: 0, stdout: 'The settings are valid.\n', stderr: '' },
    });
  });

  test('ends with 2 and the place of what is wrong', async () => {
    file('batch: { lane: 3 }\n');
    const { code, stdout, stderr } = await settle(['config', 'check'], { cwd: folder });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Unknown setting "batch.lane" in settle.yaml; did you mean "batch.lanes"?');
  });
});

test.each([
  ['mysql://settle:cAnAry@db/settle', 'mysql://settle:***@db/settle'],
  ['mysql://settle:c@nAry:x@db/settle', 'mysql://settle:***@db/settle'],
  ['mysql://db:3306/settle', 'mysql://db:3306/settle'],
  ['mysql://settle@db/settle', 'mysql://settle@db/settle'],
  ['sqlite:a@b:c.db', 'sqlite:a@b:c.db'],
  ['mysql ://settle:cAnAry@db/settle', '***'],
  ['settle:cAnAry@db', '***'],
  ['//settle:cAnAry@db', '***'],
  ['mysql:/settle:cAnAry@db', '***'],
])('a database of %j is shown as %j', (url, shown) => {
  const settings = shownSettings({ file: file('', 'empty.yaml'), environment: { SETTLE_DATABASE_URL: url } });
  expect(settings.find(({ setting }) => setting === 'database.url')?.value).toBe(shown);
});

describe('settle config init', () => {
  test('prints every section; what it shows of a setting is the default', () => {
    const text = settingsTemplate();
    for (const section of Object.keys(configSchema.shape)) expect(text).toMatch(new RegExp(`^# ${section}:`, 'm'));
    const inUse = text
      .split('\n')
      .slice(2)
      .map((line) => line.replace(/^# /, ''))
      .filter((line) => !/^ +[A-Za-z]+: +#/.test(line));
    expect(inUse.filter((line) => line.includes('lookBackDays'))).toHaveLength(1);
    // A section of which nothing is set is left out, as its user would.
    const yaml = inUse.filter((line, at) => !/^[a-z]+:$/.test(line) || /^ /.test(inUse[at + 1] ?? '')).join('\n');
    const path = file(yaml);
    expect(loadConfig({ file: path, environment: {} })).toEqual(
      loadConfig({ file: file('', 'empty.yaml'), environment: {} }),
    );
  });

  test('prints what a run takes as it is: nothing is set', async () => {
    const { stdout } = await settle(['config', 'init'], { cwd: folder });
    expect(loadConfig({ file: file(stdout), environment: {} })).toEqual(
      loadConfig({ file: file('', 'empty.yaml'), environment: {} }),
    );
  });
});

test('settle config schema prints a JSON Schema that names every section and allows no other', async () => {
  const { stdout } = await settle(['config', 'schema'], { cwd: folder });
  const schema = JSON.parse(stdout) as { properties: object; additionalProperties: unknown };
  expect(Object.keys(schema.properties)).toEqual(Object.keys(configSchema.shape));
  expect(schema.additionalProperties).toBe(false);
});

test.each([
  ['init', 'settle.configTemplate', 'text'],
  ['schema', 'settle.configSchema', 'jsonSchema'],
])('settle config %s --json is one document of ours', async (command, schema, key) => {
  const { stdout } = await settle(['config', command, '--json'], { cwd: folder });
  expect(JSON.parse(stdout)).toMatchObject({ schema, schemaVersion: 1, [key]: expect.anything() as unknown });
});

// By processes: the library writes to the console itself.
describe('completion', () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    file('this is no valid setting\n');
    const { code, stdout } = await settleProcess(['complete', '--', ...words], { cwd: folder });
    expect(code).toBe(0);
    return stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
  };

  test.each<[string[], string[], string[]]>([
    [['re'], ['resume', 'rerun', 'report', 'reconcile'], ['run']],
    [['payout', ''], ['run', 'check', 'review'], ['migrate']],
    [['report', '--f'], ['--format'], ['--out']],
    [['report', '--format', ''], ['text', 'html', 'csv', 'json'], []],
    [['completion', ''], ['bash', 'zsh', 'fish'], []],
  ])('after %j offers what can follow, whatever the settings are', async (words, offered, not) => {
    const lines = await complete(...words);
    expect(lines).toEqual(expect.arrayContaining(offered));
    expect(lines.filter((line) => not.includes(line))).toEqual([]);
  });

  test('works in bash', () => {
    const ask = `
      # Both belong to bash-completion and to a shell at work.
      _get_comp_words_by_ref() { words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD cur="\${words[cword]}" prev="\${words[cword-1]}"; }
      compopt() { :; }
      settle() { "${process.execPath}" "${settleBin}" "$@"; }
      source <(settle completion bash)
      COMP_WORDS=(settle out); COMP_CWORD=1; COMP_LINE='settle out'; COMP_POINT=\${#COMP_LINE}; COMPREPLY=()
      __settle_complete
      printf '%s\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', ask], { cwd: folder, encoding: 'utf8' });
    expect({ stdout: stdout.trim().split(/\s/)[0], stderr }).toEqual({ stdout: 'outbox', stderr: '' });
  });

  test('is a script, so that a JSON document is refused', async () => {
    const { code, stdout, stderr } = await settleProcess(['completion', 'bash', '--json'], { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('settle completion bash');
  });

  test.each(['zsh', 'fish'])('prints a script for %s', async (shell) => {
    const { code, stdout } = await settleProcess(['completion', shell], { cwd: folder });
    expect([code, stdout.includes('settle')]).toEqual([0, true]);
  });
});
