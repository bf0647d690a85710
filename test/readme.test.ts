import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { settle, type Ended } from './support/program.js';

const readme = readFileSync('README.md', 'utf8');
const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
const commandsIn = (block: string): string[] =>
  block
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line.startsWith('npx settle '))
    .map((line) => line.replace('npx settle ', ''));

describe('the README', () => {
  test('names files and folders that exist', () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
  });

  test.each(readdirSync('docs').filter((name) => name.endsWith('.md')))(
    'is where docs/%s is found, whose links lead somewhere',
    (name) => {
      const text = readFileSync(join('docs', name), 'utf8');
      const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? '');
      expect(links.filter((link) => !existsSync(join('docs', link)))).toEqual([]);
      // From the README in one step or two.
      const above = [
        readme,
        ...readdirSync('docs').map((page) => (/\.md$/.test(page) ? readFileSync(join('docs', page), 'utf8') : '')),
      ];
      expect(above.some((page) => page.includes(`](docs/${name})`) || page.includes(`](${name}`))).toBe(true);
    },
  );

  test('says in Chinese the same commands, exit codes and links', () => {
    const chinese = readFileSync('README.zh-CN.md', 'utf8');
    const typed = (text: string): string[] =>
      [...text.matchAll(/```(?:sh|sql)\n([\s\S]*?)```/g)].map((match) =>
        (match[1] ?? '').replace(/\s+(#|--) .*$/gm, '').trim(),
      );
    const ours = typed(readme);
    expect(typed(chinese).filter((block) => !ours.includes(block))).toEqual([]);
    expect(typed(chinese).length).toBeGreaterThan(4);
    const codes = (text: string): string[] =>
      [...text.matchAll(/^\| ([\d /]+) \| [A-Z_]+ \|/gm)].map(([, code = '']) => code);
    expect(codes(chinese)).toEqual(codes(readme));
    const links = [...chinese.matchAll(/\]\(([^)#]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.filter((link) => !existsSync(link))).toEqual([]);
  });

  test('begins with the two commands that do everything', () => {
    expect(blocks[0]?.trim()).toBe('npm ci && npx settle demo');
    expect(readme).toContain('npm ci && npm test');
  });

  test('and its page of settings shows every one with its default', async () => {
    const { configSchema } = await import('../src/config.js');
    const yaml = /```yaml\n([\s\S]*?)```/.exec(readFileSync('docs/configuration.md', 'utf8'))?.[1] ?? '';
    const { parse } = await import('yaml');
    const shown = configSchema.parse(parse(yaml));
    const defaults = configSchema.parse({});
    // What depends on the engine has no default of its own; the page shows the servers' value.
    expect(shown).toEqual({
      ...defaults,
      batch: { ...defaults.batch, lanes: 4, pageSize: 500_000, chunkSize: 10_000 },
    });
  });
});

describe('settle demo, and what the README says to type after it', () => {
  let folder: string;
  let demo: Ended;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'settle-demo-'));
    demo = await settle(['demo', '--orders', '4000'], { cwd: folder });
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('ends with the closed day, the path of the report and the next commands', () => {
    expect({ code: demo.code, stderr: demo.stderr }).toMatchObject({ code: 0 });
    expect(demo.stdout).toMatch(/Batch day \d{4}-\d\d-\d\d: PARTIAL, closed\./);
    const report = /^Report: +(.+)$/m.exec(demo.stdout)?.[1] ?? '';
    expect(readFileSync(join(folder, report), 'utf8')).toContain('<!doctype html>');
    expect(demo.stdout).toContain('export SETTLE_CONFIG=settle-demo/settle.yaml');
  });

  test('finds in the two statements exactly the differences that were put there, and the report shows them', async () => {
    const env = { SETTLE_CONFIG: 'settle-demo/settle.yaml' };
    const listed = JSON.parse((await settle(['discrepancy', 'list', '--json'], { cwd: folder, env })).stdout) as {
      discrepancies: { class: string; channel: string; key: string }[];
    };
    const found = listed.discrepancies.map((one) => `${one.channel} ${one.class}`).sort();
    expect(found).toEqual([
      ...['QR FEE', 'QR MISSING_OURS', 'QR MISSING_THEIRS', 'bank AMOUNT', 'bank CURRENCY', 'bank DUPLICATE'],
      ...['bank MISSING_OURS', 'bank MISSING_THEIRS', 'bank STATE'],
    ]);
    const report = await settle(['report', '--format', 'json', '--out', '-'], { cwd: folder, env });
    const { discrepancies } = JSON.parse(report.stdout) as { discrepancies: { key: string }[] };
    expect(discrepancies.map(({ key }) => key)).toEqual(listed.discrepancies.map(({ key }) => key));
    const again = await settle(['reconcile', '--json'], { cwd: folder, env });
    expect(again.code).toBe(3);
    const { statements } = JSON.parse(again.stdout) as { statements: { lines: number; matched: number }[] };
    expect(statements.map(({ lines, matched }) => [lines, matched])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  test('makes the same files every time, readable by their owner only', async () => {
    const made = (): Record<string, string> =>
      Object.fromEntries(
        readdirSync(join(folder, 'settle-demo'))
          .filter((name) => !name.includes('demo.db'))
          .map((name) => [name, readFileSync(join(folder, 'settle-demo', name), 'utf8')]),
      );
    const first = made();
    expect(Object.keys(first)).toEqual(expect.arrayContaining(['accounts.csv', 'channel-book.ndjson', 'settle.yaml']));
    expect(Object.keys(first)).toHaveLength(7);
    for (const name of Object.keys(first)) {
      expect(statSync(join(folder, 'settle-demo', name)).mode & 0o077).toBe(0);
    }
    expect((await settle(['demo', '--orders', '4000'], { cwd: folder })).code).toBe(0);
    const again = made();
    // The report tells of a run, and so of how long it took; what was settled is the same.
    for (const name of Object.keys(first).filter((file) => /csv|yaml/.test(file)))
      expect(again[name]).toBe(first[name]);
  });

  test.each(commandsIn(blocks[1] ?? ''))('settle %s', async (command) => {
    const ended = await settle(command.split(' '), { cwd: folder, env: { SETTLE_CONFIG: 'settle-demo/settle.yaml' } });
    // The demo day has accounts set aside, and a command that tells how the day stands says so.
    const expected = command === 'run' ? 3 : 0;
    expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code: expected, stderr: '' });
    expect(ended.stdout).not.toBe('');
  });

  test('as JSON it is one document', async () => {
    const ended = await settle(['demo', '--orders', '500', '--json', '--dir', 'other'], { cwd: folder });
    expect(ended.code).toBe(0);
    const document = JSON.parse(ended.stdout) as { schema: string; steps: { typed: string; exitCode: number }[] };
    expect(document.schema).toBe('settle.demo');
    expect(document.steps.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 3, 3, 0, 0, 0, 3, 0, 0]);
  });
});
