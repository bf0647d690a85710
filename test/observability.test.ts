import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { metrics, oldestUnsettledMs } from '../src/commands/metrics.js';
import { repeatable } from '../src/db/transaction.js';
import { answerOf } from './support/command.js';
import { createTestDatabase, databaseKinds, type DatabaseKind, type TestDatabase } from './support/databases.js';
import { day, everyRow, givenOrders, givenVariedDay, runDay } from './support/day.js';
import { lost, plan, ScriptedChannel, submit } from './support/payouts.js';

// What Prometheus and Grafana are given: read by promtool, and by a dashboard that asks for nothing that is not printed.

const deploy = join(process.cwd(), 'fixtures', 'deploy');
const samplesIn = (text: string): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

function promtool(args: readonly string[], input?: string): { code: number | null; output: string } {
  const ended = spawnSync('promtool', [...args], { cwd: deploy, input, encoding: 'utf8' });
  if (ended.error !== undefined)
    throw new Error('promtool is needed: apt-get install prometheus', { cause: ended.error });
  return { code: ended.status, output: ended.stdout + ended.stderr };
}

const printed = new Map<DatabaseKind, string>();

describe.each(databaseKinds)('settle metrics [%s]', (kind) => {
  let current: TestDatabase;
  let folder: string;
  beforeAll(async () => {
    current = await createTestDatabase(kind);
    folder = mkdtempSync(join(tmpdir(), 'settle-metrics-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await current.drop();
  });
  const asked = (now = '2026-11-30T01:00:00.000Z') => ({ url: current.url, now });
  const sheet = async (now?: string): Promise<Map<string, number>> =>
    samplesIn((await answerOf(metrics, {}, asked(now))).stdout);

  test('of books without a day is well-formed and raises nothing', async () => {
    const { stdout } = await answerOf(metrics, {}, asked());
    expect(promtool(['check', 'metrics'], `${stdout}\n`)).toEqual({ code: 0, output: '' });
    expect(samplesIn(stdout).get('settle_oldest_unsettled_seconds')).toBe(0);
    expect([...samplesIn(stdout).keys()].filter((name) => /last_|payouts|outbox|delivery/.test(name))).toEqual([]);
  });

  test('says what the tables hold, in the words of Prometheus, without an account, and writes nothing', async () => {
    await givenVariedDay(current.database, 40);
    const document = await runDay(current.database);
    await givenOrders(current.database, [{ orderNo: 'NEXT', accountNo: 'A1', minor: 5, batchDay: '2026-11-30' }]);
    await plan(current.database);
    await submit(current.database, Object.assign(new ScriptedChannel(), { submits: [lost] }));
    await current.database.transact(
      repeatable('what is left lying', async (trx) => {
        await trx.change(
          `update outbox set state = 'PARKED', sent_at = null, last_error = 'x', attempts = 3 where id = 1`,
        );
      }),
    );
    const before = await everyRow(current.database);
    const { stdout } = await answerOf(metrics, {}, asked());
    expect(await everyRow(current.database)).toBe(before);
    expect(promtool(['check', 'metrics'], `${stdout}\n`)).toEqual({ code: 0, output: '' });
    const samples = samplesIn(stdout);
    const usd = document.totals.source.find(({ currency }) => currency === 'USD')?.orders;
    expect(Object.fromEntries(samples)).toMatchObject({
      'settle_last_run_outcome{outcome="PARTIAL"}': 1,
      'settle_last_run_outcome{outcome="OK"}': 0,
      settle_last_run_exit_code: 3,
      'settle_last_run_orders{stage="source",currency="USD"}': usd,
      'settle_last_run_accounts{state="quarantined"}': 2,
      settle_quarantined_accounts: 2,
      'settle_outbox_messages{topic="LEDGER",state="PARKED"}': 1,
      'settle_outbox_retries{topic="LEDGER"}': 3,
      'settle_payouts{channel="bank",currency="USD",state="MANUAL"}': 0,
      'settle_open_discrepancies{class="AMOUNT"}': 0,
      'settle_deposits{state="pending"}': 0,
      settle_leases: 0,
      settle_last_success_timestamp_seconds: Date.parse('2026-11-30T01:00:00.000Z') / 1_000,
      settle_oldest_unsettled_seconds: 0,
    });
    const unknown = [...samples].filter(([name, value]) => /settle_payouts.*UNKNOWN/.test(name) && value > 0);
    expect(unknown.map(([, value]) => value)).toEqual([1]);
    expect(samples.has('settle_last_run_stage_duration_seconds{stage="SETTLING"}')).toBe(true);
    expect(stdout).not.toMatch(/ELEPHANT|FROZEN|NEGATIVE|nodejs_|process_/);
    expect(stdout.split('\n').filter((line) => !/^# (HELP|TYPE) |^\S+ \S+$/.test(line) && line !== '')).toEqual([]);
    printed.set(kind, stdout);
  });

  test('counts from the cut-off of the first day that is over and not closed, begun or not', async () => {
    expect((await sheet('2026-12-01T03:00:00.000Z')).get('settle_oldest_unsettled_seconds')).toBe(3 * 3_600);
  });

  test('--textfile replaces a file whole, for the exporter to read, and leaves nothing beside it', async () => {
    const file = join(folder, 'settle.prom');
    writeFileSync(file, 'old');
    const { code, stdout } = await answerOf(metrics, { textfile: file }, asked());
    expect([code, stdout]).toEqual([0, '']);
    expect(samplesIn(readFileSync(file, 'utf8'))).toEqual(await sheet());
    expect([readdirSync(folder), statSync(file).mode & 0o777]).toEqual([['settle.prom'], 0o644]);
    await expect(answerOf(metrics, { textfile: join(folder, 'x.txt') }, asked())).rejects.toMatchObject({
      exitCode: 2,
    });
    const nowhere = join(folder, 'nowhere', 'settle.prom');
    await expect(answerOf(metrics, { textfile: nowhere }, asked())).rejects.toMatchObject({
      code: 'FILE_NOT_WRITABLE',
    });
  });
});

test('a day that is open counts from its own cut-off, and the one after the newest from when it was over', () => {
  const calendar = { timeZone: 'UTC', cutOff: '00:00' };
  const now = new Date('2026-12-02T00:00:00Z');
  const open = { oldestOpenCutOff: '2026-11-29T00:00:00.000Z', newestDay: '2026-12-01' };
  expect(oldestUnsettledMs(open, now, calendar)).toBe(3 * 86_400_000);
  expect(oldestUnsettledMs({ oldestOpenCutOff: null, newestDay: '2026-11-30' }, now, calendar)).toBe(0);
  expect(oldestUnsettledMs({ oldestOpenCutOff: null, newestDay: null }, now, calendar)).toBe(0);
});

describe('what is shipped for Prometheus and Grafana', () => {
  const rulesFile = readFileSync(join(deploy, 'prometheus-alerts.yaml'), 'utf8');
  const { groups } = parse(rulesFile) as { groups: { rules: { alert: string; expr: string }[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana-dashboard.json'), 'utf8')) as {
    panels: { id: number; title: string; gridPos: { x: number; w: number }; targets: { expr: string }[] }[];
  };
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
  /** "name" and "name label" of all that is printed. */
  const known = (): Set<string> => {
    const names = new Set<string>();
    for (const text of printed.values()) {
      for (const line of text.split('\n')) {
        const [, typed] = /^# TYPE (\S+)/.exec(line) ?? [];
        const [, name, labels] = /^([a-z_]+)\{(.*)\} /.exec(line) ?? [];
        if (typed !== undefined) names.add(typed);
        for (const [, label] of (labels ?? '').matchAll(/([a-z_]+)="/g)) names.add(`${String(name)} ${String(label)}`);
      }
    }
    return names;
  };

  test('the rules are well-formed, and raise what they should and nothing else', () => {
    expect(promtool(['check', 'rules', 'prometheus-alerts.yaml']).code).toBe(0);
    expect(promtool(['test', 'rules', 'prometheus-alerts.test.yaml'])).toMatchObject({ code: 0 });
  });

  test('every rule has a test in which it is raised', () => {
    const { tests } = parse(readFileSync(join(deploy, 'prometheus-alerts.test.yaml'), 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
    };
    const raised = tests.flatMap((one) => one.alert_rule_test.filter(({ exp_alerts }) => exp_alerts.length > 0));
    expect(
      rules.map(({ alert }) => alert).filter((name) => !raised.some(({ alertname }) => alertname === name)),
    ).toEqual([]);
  });

  test('rules and dashboard ask for metrics and labels that are printed, and the dashboard for all of them', () => {
    const names = known();
    const asked = new Set(expressions.flatMap((expr) => expr.match(/\bsettle_[a-z_]+/g) ?? []));
    expect([...asked].filter((name) => !names.has(name))).toEqual([]);
    const onBoard = new Set(
      dashboard.panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/\bsettle_[a-z_]+/g) ?? [])),
    );
    expect([...names].filter((name) => !name.includes(' ') && !onBoard.has(name))).toEqual([]);
    const selectors = expressions.flatMap((expr) => [...expr.matchAll(/(settle_[a-z_]+)\{([^}]*)\}/g)]);
    const labels = selectors.flatMap(([, name, inner]) =>
      [...String(inner).matchAll(/([a-z_]+)[!=~]+"/g)].map(([, label]) => `${String(name)} ${String(label)}`),
    );
    // Sinks are there once one is configured, and these books have none.
    expect(labels.filter((label) => !label.startsWith('settle_delivery') && !names.has(label))).toEqual([]);
  });

  test('the panels of the dashboard have their own numbers and fit side by side', () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(dashboard.panels.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
    expect(day).toBe('2026-11-29');
  });
});
