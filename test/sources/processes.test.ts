import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseDocument } from 'yaml';
import { createTestDatabase, onServer, type TestDatabase } from '../support/databases.js';
import { settle, type Ended } from '../support/program.js';
import { foreignTables } from '../support/sources.js';

// Whole processes on a table in another schema, by a user who has the rights that `settle source check` asks for and no
// others, killed on their way.

const name = `settle_shop_${randomBytes(4).toString('hex')}`;
const user = `'${name}'@'%'`;
const size = 600;
let ours: TestDatabase;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  ours = await createTestDatabase('server');
  folder = mkdtempSync(join(tmpdir(), 'settle-sources-'));
  await onServer(`create database ${name}`);
  const table = readFileSync('fixtures/sources/t_order.sql', 'utf8').replace('create table ', `create table ${name}.`);
  await onServer(table.replaceAll(/^--.*$/gm, ''));
  const { columns, row } = foreignTables.t_order;
  const orders = Array.from({ length: size }, (_, at) =>
    row({ no: `P${String(at)}`, account: String(at % 41), minor: 100 + at }),
  );
  const tuples = orders.map(
    (values) => `(${values.map((value) => (value === null ? 'null' : `'${String(value)}'`)).join()})`,
  );
  await onServer(`insert into ${name}.t_order (${columns.join()}) values ${tuples.join()}`);
  await onServer(`create user ${user} identified by 'secret'`);
  const yaml = parseDocument(readFileSync('fixtures/sources/t_order.yaml', 'utf8'));
  yaml.setIn(['source', 'schema'], name);
  writeFileSync(join(folder, 'settle.yaml'), String(yaml));
  const url = new URL(ours.url);
  url.username = name;
  url.password = 'secret';
  env = { SETTLE_CONFIG: join(folder, 'settle.yaml'), SETTLE_DATABASE_URL: url.href };
}, 60_000);
afterAll(async () => {
  await ours.drop();
  await onServer(`drop database ${name}`);
  await onServer(`drop user ${user}`);
  rmSync(folder, { recursive: true });
});

const type = (...args: string[]): ReturnType<typeof settle> =>
  settle(args, { cwd: folder, url: env['SETTLE_DATABASE_URL'] ?? '', env });
const findings = ({ stdout }: Ended): { name: string; status: string; found: string; fix: string | null }[] =>
  (JSON.parse(stdout) as { findings: ReturnType<typeof findings> }).findings;
const column = async (sql: string): Promise<string[]> =>
  (await ours.database.read((session) => session.tuples(sql))).map((row) => row.map(String).join(' '));

test('the rights that the check asks for suffice, and killed runs are finished by the next', async () => {
  await onServer(`grant select, insert, update, delete on ${new URL(ours.url).pathname.slice(1)}.* to ${user}`);
  const refused = await type('source', 'check', '--json');
  expect(refused.code).toBe(5);
  const asked = findings(refused).flatMap(({ fix }) => /GRANT SELECT \([^;]*;/.exec(fix ?? '')?.[0] ?? []);
  expect(asked.length).toBeGreaterThan(0);
  for (const grant of new Set(asked)) await onServer(grant.replace(/TO '.*'@'.*';/, `TO ${user}`));
  const checked = await type('source', 'check', '--json');
  expect(findings(checked).filter(({ status }) => status === 'fail')).toEqual([]);
  expect(checked.code).toBe(0);

  for (const ms of [900, 1_300]) {
    const run = type('run', '--batch-day', '2026-11-29', '--chunk-size', '7', '--page-size', '50');
    const timer = setTimeout(() => {
      run.kill('SIGKILL');
    }, ms);
    await run;
    clearTimeout(timer);
    await ours.database.transact({
      name: 'free the lease',
      work: (trx) => trx.change('update lease set expires_ms = 0'),
      landed: () => Promise.resolve(undefined),
    });
  }
  const last = await type('run', '--batch-day', '2026-11-29');
  expect(last.code).toBe(0);
  expect(await column(`select status, count(*) from ${name}.t_order group by status`)).toEqual([`3 ${String(size)}`]);
  expect(
    await column(
      'select count(*), sum(orders) from claimed_order, (select sum(orders) as orders from net) n group by orders',
    ),
  ).toEqual([`${String(size)} ${String(size * size)}`]);
  expect(await column('select sum(amount_minor) from net')).toEqual([String(size * 100 + (size * (size - 1)) / 2)]);
  const verified = await settle(['verify'], {
    cwd: folder,
    url: ours.url,
    env: { SETTLE_CONFIG: join(folder, 'settle.yaml') },
  });
  expect(verified.code).toBe(0);
}, 120_000);

test('nothing is imported into a table of others, and the refusal says what to do', async () => {
  writeFileSync(
    join(folder, 'o.csv'),
    'order_no,account_no,batch_day,type,amount,currency,channel,occurred_at\nX,1,2026-11-29,PAYMENT,1.00,CNY,C,2026-11-29T00:00:00Z\n',
  );
  const { code, stderr } = await type('import', 'orders', 'o.csv');
  expect([code, stderr]).toEqual([2, expect.stringContaining('SOURCE_NOT_OURS')]);
});
