import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { configuredSource } from '../../src/commands/orderSource.js';
import { checkSource } from '../../src/orders/sourceCheck.js';
import type { Finding } from '../../src/kernel/finding.js';
import { useSource } from '../../src/orders/useSource.js';
import { day, everyRow } from '../support/day.js';
import { foreignPlace, placesOfSources, sourceConfig, type ForeignPlace } from '../support/sources.js';

const window = { from: '2026-11-27', upTo: day };
const placeOf = (setting: readonly string[]): string => `settle.yaml, ${setting.join('/')}`;

type Columns = Record<string, Record<string, unknown> & string>;

describe.each(placesOfSources)('settle source check of %s [%s]', (name, kind) => {
  let place: ForeignPlace;
  beforeAll(async () => {
    place = await foreignPlace(name, kind);
    await place.insert(
      Array.from({ length: 30 }, (_, at) => ({ no: `P${String(at)}`, account: String(at), minor: at })),
    );
  });
  afterAll(async () => {
    await place.test.drop();
  });

  const check = (
    change: (source: { columns: Columns; where?: unknown[] }) => void = () => undefined,
  ): Promise<Finding[]> => {
    const source = configuredSource(sourceConfig(name, change));
    if (source === null) throw new Error('No source.');
    return checkSource(place.database, source, window, placeOf);
  };
  const bad = (findings: readonly Finding[]): string[] =>
    findings.flatMap(({ name: what, status, found }) => (status === 'fail' ? [`${what}: ${found}`] : []));
  const said = (findings: readonly Finding[], what: string): string =>
    findings
      .flatMap(({ name: own, status, found, fix }) => (own === what ? [`${status} ${found} ${fix ?? ''}`] : []))
      .join('\n');

  test('finds the fixture fit, names what it costs, and changes nothing', async () => {
    const before = await everyRow(place.database);
    const findings = await check();
    expect(bad(findings)).toEqual([]);
    expect(said(findings, 'rows per day')).toMatch(/^ok 2026-11-29: 30 rows, 30 to settle/);
    expect(said(findings, 'index of the day')).toMatch(/^ok /);
    expect(said(findings, 'index of the state')).toMatch(/^warn .*CREATE INDEX .settle_state. ON /);
    for (const plan of ['plan of a page', 'plan of a claim', 'plan of finishing'])
      expect(said(findings, plan)).toMatch(/^ok /);
    if (kind === 'server') {
      expect(said(findings, 'grants')).toMatch(
        /GRANT SELECT \(.*\), UPDATE \(.*\) ON .* TO 'root'@'localhost';|GRANT SELECT/,
      );
      expect(said(findings, 'collations')).toMatch(/^warn /);
    }
    expect(await everyRow(place.database)).toBe(before);
    expect(Object.keys(await place.states())).toEqual([place.table.states.INIT.replaceAll(`'`, '')]);
  });

  test('counts states that are not in the mapping, rows that cannot be settled, and ids that fold', async () => {
    await place.insert([
      { no: 'U1', account: '7', minor: 1 },
      { no: 'S1', account: '7', minor: -1 },
      { no: 'X1', account: name === 't_order' ? '8' : 'ab', minor: 1 },
      { no: 'X2', account: name === 't_order' ? '8' : 'AB', minor: 1 },
    ]);
    const { table } = place;
    await place.change(`update ${table.name} set ${table.state} = ${table.states.UNKNOWN} where ${table.no} = 'U1'`);
    const findings = await check();
    expect(said(findings, 'states')).toContain(
      `not in the mapping: ${table.states.UNKNOWN.replaceAll(`'`, '')} (1 rows)`,
    );
    expect(said(findings, 'amounts and types')).toMatch(/^fail 1 rows to settle, the first with id 32: has an amount/);
    if (kind === 'server' && name !== 't_order') expect(said(findings, 'ids that fold')).toMatch(/^warn 1 account/);
    await place.change(`delete from ${table.name} where ${table.id} > 30`);
  });

  test.each<[string, (source: { columns: Columns; table?: string }) => void, string]>([
    [
      'a column that is not there',
      ({ columns }) => Object.assign(columns, { accountNo: 'nobody' }),
      'source.columns.accountNo: names nobody',
    ],
    [
      'a table that is not there',
      (source) => Object.assign(source, { table: 'nothing' }),
      'source.table: names a table that is not there',
    ],
    [
      'an amount in a text',
      ({ columns }) => Object.assign(columns, { amount: { column: place.table.no, unit: 'minor' } }),
      'source.columns.amount: names',
    ],
    [
      'an id that is a text',
      ({ columns }) => Object.assign(columns, { id: place.table.no }),
      'source.columns.id: names',
    ],
  ])('refuses %s, before anything is read, with the place of the setting', async (_what, change, problem) => {
    const findings = await check(change as never);
    expect(bad(findings).join('\n')).toContain(problem);
    const source = configuredSource(sourceConfig(name, change as never));
    if (source === null) throw new Error('No source.');
    const refusal = useSource(place.database, source, placeOf);
    await expect(refusal).rejects.toMatchObject({ code: 'SOURCE_INVALID' });
    await expect(refusal).rejects.toThrow(`(settle.yaml, ${problem.split(':')[0]?.replaceAll('.', '/') ?? ''})`);
  });

  test('refuses a view, and states in values of another kind', async () => {
    await place.change(`create view a_view as select * from ${name}`);
    expect(bad(await check((source) => Object.assign(source, { table: 'a_view' }))).join()).toContain('names a view');
    const other = place.table.states.INIT.startsWith(`'`) ? 17 : 'seventeen';
    const mapped = await check(({ columns }) => {
      Object.assign((columns['state'] as unknown as { values: object }).values, { FAILED: other });
    });
    expect(bad(mapped).join()).toContain(`maps ${JSON.stringify(other)} in `);
  });
});

describe('on a server', () => {
  let place: ForeignPlace;
  beforeAll(async () => {
    place = await foreignPlace('t_order', 'server');
  });
  afterAll(async () => {
    await place.test.drop();
  });
  const check = (change: (source: never) => void = () => undefined): Promise<Finding[]> => {
    const source = configuredSource(sourceConfig('t_order', change));
    if (source === null) throw new Error('No source.');
    return checkSource(place.database, source, window, placeOf);
  };

  test('floats, decimals that would be lost, triggers, missing indexes and another engine are told', async () => {
    const findingsAfter = async (sql: string): Promise<string> => {
      await place.change(sql);
      return (await check())
        .map(({ name, status, found, fix }) => `${status} ${name}: ${found} ${fix ?? ''}`)
        .join('\n');
    };
    expect(await findingsAfter('alter table t_order modify amount decimal(18,4) not null')).toContain(
      'CNY has at most 2 decimals, so that digits would be lost',
    );
    expect(await findingsAfter('alter table t_order modify amount double not null')).toContain(
      'fail source.columns.amount',
    );
    await place.change('alter table t_order modify amount decimal(18,2) not null');
    const indexless = await findingsAfter('alter table t_order drop key idx_settle_date, drop key uk_order_no');
    expect(indexless).toContain('CREATE INDEX `settle_day` ON `t_order` (`settle_date`, `id`);');
    expect(indexless).toContain('CREATE UNIQUE INDEX `settle_order_no` ON `t_order` (`order_no`);');
    await place.change('CREATE INDEX `settle_day` ON `t_order` (`settle_date`, `id`)');
    expect(
      await findingsAfter('create trigger told before update on t_order for each row set new.update_time = now()'),
    ).toContain('warn triggers: told');
    await place.change('drop trigger told');
    expect(await findingsAfter('alter table t_order engine = MyISAM')).toContain('which knows no transactions');
  });
});
