import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { emptied, givenPayouts, keyOf, statementText, type TestLine } from '../support/matching.js';
import { withoutTriggers } from '../support/plants.js';
import { settleInside } from '../support/inside.js';
import { settle, type Ended } from '../support/program.js';

// Processes of the program, killed at a statement: typed again they end with the rows of an undisturbed run, each once.

describe.each(databaseKinds)('killed at a statement [%s]', (kind) => {
  let place: TestDatabase;
  let folder: string;
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
    folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
    const lines = Array.from({ length: 12 }, (_, at): TestLine => ({ minor: 100 + at, our: keyOf(`A${String(at)}`) }));
    const all = [
      ...lines.slice(1),
      { ...lines[2], minor: 102 },
      { minor: 5, our: 'strange' },
      { kind: 'FEE', minor: 1 },
    ];
    const today = new Date().toISOString().slice(0, 10);
    writeFileSync(
      join(folder, 'bank.ndjson'),
      statementText({ from: '2026-11-29', to: later('2026-11-29', today), lines: all }),
    );
    writeFileSync(
      join(folder, 'settle.yaml'),
      'statements: { channels: { bank: { matches: [payouts], crossDayDays: 0 } } }\n',
    );
  });
  afterAll(async () => {
    await place.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const later = (a: string, b: string): string => (a > b ? a : b);
  const type = (args: string[], point?: object): Promise<Ended> => {
    if (point === undefined) return settleInside(args, { url: place.url, cwd: folder });
    const env = {
      NODE_OPTIONS: `--import ${join(process.cwd(), 'test/support/crashPoint.mjs')}`,
      CRASH_POINT: JSON.stringify({ trace: join(folder, 'trace'), ...point }),
    };
    return settle(args, { url: place.url, cwd: folder, env });
  };
  const commands = { import: ['statement', 'import', 'bank.ndjson', '--channel', 'bank'], reconcile: ['reconcile'] };

  /** What there is, without ids and moments of their own. */
  const dump = async (): Promise<string[]> => {
    const rows = async (sql: string): Promise<string[]> =>
      (await place.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));
    return [
      ...(await rows('select state, staged_lines, lines_new, matched_to from statement_file')),
      ...(await rows('select line_key, seq from statement_line order by line_key')),
      ...(await rows(`select l.line_key, p.account_no, m.role, m.verdict from statement_match m
        join statement_line l on l.file_id = m.file_id and l.seq = m.seq join payout p on p.id = m.ours_id order by l.line_key`)),
      ...(await rows('select o.seq, o.why from statement_loose o order by o.seq')),
      ...(await rows(`select d.class, d.item_key, d.state, count(*) from discrepancy d
        join discrepancy_move v on v.discrepancy_id = d.id group by d.class, d.item_key, d.state order by d.class, d.item_key`)),
      ...(await rows('select account_no, state, version from payout order by account_no')),
      ...(await rows(`select count(*) from outbox where topic = 'ALERT'`)),
    ];
  };
  const given = async (): Promise<void> => {
    await emptied(place.database);
    const states = ['SUCCESS', 'UNKNOWN', 'SUCCESS'];
    await givenPayouts(
      place.database,
      Array.from({ length: 12 }, (_, at) => ({
        accountNo: `A${String(at)}`,
        minor: 100 + at,
        state: at === 4 ? 'FAILED' : (states[at % 3] ?? ''),
      })),
    );
  };

  test.each(['import', 'reconcile'] as const)(
    'of %s',
    async (what) => {
      const finish = async (): Promise<string[]> => {
        expect((await type(commands.import)).code).toBe(0);
        expect((await type(commands.reconcile)).code).toBe(3);
        return dump();
      };
      await given();
      if (what === 'reconcile') await type(commands.import);
      rmSync(join(folder, 'trace'), { force: true });
      await type(commands[what], {});
      const statements = readFileSync(join(folder, 'trace'), 'utf8').trim().split('\n').length - 1;
      const undisturbed = await finish();
      expect(undisturbed.filter((line) => line.includes(' OPEN '))).toHaveLength(4);
      const every = process.env['SETTLE_TEST_FAULTS'] === 'every';
      const points = every ? statements : 1;
      let killed = 0;
      for (let point = 1; point <= points; point += 1) {
        for (const side of every ? ['before', 'after'] : [point % 2 === 0 ? 'before' : 'after']) {
          await given();
          if (what === 'reconcile') await type(commands.import);
          const at = every ? point : Math.round((statements * (point + 1)) / (points + 2));
          if ((await type(commands[what], { at, side })).signal === 'SIGKILL') killed += 1;
          expect(await finish()).toEqual(undisturbed);
        }
      }
      expect(killed).toBeGreaterThan(points / 2);
    },
    600_000,
  );
});
