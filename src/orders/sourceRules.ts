import type { Dialect } from '../db/session.js';
import { currencyScales, scaleOf } from '../kernel/money.js';
import { ownOrders, type OrderSource, type SourceColumns, type SourceValue } from '../kernel/orderSource.js';
import type { ColumnDefinition, TableDefinition } from './sourceDefinition.js';

/** Why a mapping cannot be worked with: which setting under `source`, and what is wrong with it. */
export interface SourceProblem {
  setting: string[];
  problem: string;
}

/** How the settings spell where each column is named. */
export const settingOf: Record<keyof SourceColumns, readonly string[]> = {
  id: ['id'],
  orderNo: ['orderNo'],
  accountNo: ['accountNo'],
  day: ['batchDay'],
  type: ['type'],
  amount: ['amount'],
  currency: ['currency'],
  channel: ['channel'],
  state: ['state'],
  version: ['version'],
  reversalOf: ['reversalOf'],
  finishedAt: ['finishedAt'],
  cancelCode: ['cancelCode'],
  runId: ['runId'],
  chunkNo: ['chunkNo'],
};

const integers: ReadonlySet<string> = new Set(['tinyint', 'smallint', 'mediumint', 'int', 'bigint']);
const texts: ReadonlySet<string> = new Set(['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext', 'enum']);
const floats: ReadonlySet<string> = new Set(['float', 'double', 'real']);

const is =
  (kinds: ReadonlySet<string>) =>
  ({ type }: ColumnDefinition): boolean =>
    kinds.has(type);
const isInteger = is(integers);
const isText = is(texts);

/** What keeps runs from working on the table, from its definition alone. Pure. */
export function sourceProblems(source: OrderSource, dialect: Dialect, table: TableDefinition | null): SourceProblem[] {
  const where = (problem: string): SourceProblem[] => [{ setting: ['table'], problem }];
  if (source.schema !== null && dialect === 'sqlite') {
    return [{ setting: ['schema'], problem: 'cannot be set on SQLite: the table must be in the file of our own' }];
  }
  if (table === null) return where('names a table that is not there, or that this user may not see');
  if (table.kind === 'view') return where('names a view: orders are moved in the table itself, which has to be named');
  if (table.engine !== null && !/^innodb$/i.test(table.engine)) {
    return where(`names a table of the engine ${table.engine}, which knows no transactions; InnoDB does`);
  }
  const missing = missingColumns(source, table);
  return missing.length > 0 ? missing : new Rules(source, dialect, table).problems();
}

function missingColumns({ columns, where }: OrderSource, table: TableDefinition): SourceProblem[] {
  const named = [
    ...(Object.entries(columns) as [keyof SourceColumns, string | null][]).map(
      ([concept, column]) => [['columns', ...settingOf[concept]], column] as const,
    ),
    ...where.map(({ column }) => [['where'], column] as const),
  ];
  const known = [...table.columns.keys()].join(', ');
  return named.flatMap(([setting, column]) =>
    column === null || table.columns.has(column)
      ? []
      : [{ setting: [...setting], problem: `names ${column}, which the table does not have; it has ${known}` }],
  );
}

class Rules {
  private readonly found: SourceProblem[] = [];

  constructor(
    private readonly source: OrderSource,
    private readonly dialect: Dialect,
    private readonly table: TableDefinition,
  ) {}

  problems(): SourceProblem[] {
    this.key();
    this.day();
    this.money();
    this.values();
    this.written();
    return this.found;
  }

  private refuse(concept: keyof SourceColumns, problem: string): void {
    const setting = concept === 'day' && this.source.instants !== null ? ['instant'] : settingOf[concept];
    this.found.push({ setting: ['columns', ...setting], problem });
  }

  private at(concept: keyof SourceColumns): ColumnDefinition | undefined {
    const name = this.source.columns[concept];
    return name === null ? undefined : this.table.columns.get(name);
  }

  private key(): void {
    const id = this.at('id');
    if (id === undefined) return;
    if (!isInteger(id)) this.refuse('id', `names ${id.name}, a ${id.declared}: ids are whole numbers that grow`);
    const isKey = this.table.indexes.some(
      ({ isUnique, columns }) => isUnique && columns.length === 1 && columns[0] === id.name,
    );
    if (!isKey) this.refuse('id', `names ${id.name}, which is no key of the table by itself`);
    const isPrimary = this.table.indexes.some(({ name, columns }) => name === 'PRIMARY' && columns[0] === id.name);
    if (isKey && !isPrimary) this.refuse('id', `names ${id.name}, which is a key but not the primary one`);
    const orderNo = this.at('orderNo');
    if (orderNo !== undefined && !isText(orderNo)) {
      this.refuse('orderNo', `names ${orderNo.name}, a ${orderNo.declared}: order numbers are texts`);
    }
  }

  private day(): void {
    const day = this.at('day');
    if (day === undefined) return;
    const { instants } = this.source;
    if (instants === null) {
      const fits = day.type === 'date' || (this.dialect === 'sqlite' && day.type === 'varchar');
      if (!fits)
        this.refuse(
          'day',
          `names ${day.name}, a ${day.declared}: a batch day is a DATE; an instant stands under instant`,
        );
      return;
    }
    const counts = typeof instants.bounds('2026-01-01')[0] === 'number';
    if (counts && !isInteger(day))
      this.refuse('day', `counts in ${day.name}, a ${day.declared}, which is no whole number`);
    const isMoment = /^(datetime|timestamp)$/.test(day.type) || (this.dialect === 'sqlite' && day.type === 'varchar');
    if (!counts && !isMoment)
      this.refuse('day', `names ${day.name}, a ${day.declared}, which is no DATETIME; of a number, say the unit`);
    if (day.type === 'timestamp' && instants.timeZone !== 'UTC') {
      this.refuse(
        'day',
        `names ${day.name}, a TIMESTAMP, which every session of ours reads in UTC: leave timeZone out`,
      );
    }
  }

  private money(): void {
    const { source, dialect } = this;
    const amount = this.at('amount');
    if (amount === undefined) return;
    const refuse = (problem: string): void => {
      this.refuse('amount', `names ${amount.name}, a ${amount.declared}: ${problem}`);
    };
    if (floats.has(amount.type)) return refuse('a binary fraction does not hold decimals exactly');
    if (source.amount.unit === 'MINOR') {
      const isWhole = isInteger(amount) || (amount.type === 'decimal' && amount.scale === 0);
      if (!isWhole) refuse('minor units are whole numbers; of decimals, say unit: major');
      return;
    }
    if (dialect === 'sqlite') return refuse('SQLite holds decimals as binary fractions; there amounts are minor units');
    if (amount.type !== 'decimal') return refuse('major units are a DECIMAL');
    const { currency } = source.always;
    const scale = currency === null ? Math.max(...currencyScales) : (scaleOf(currency) ?? 0);
    if ((amount.scale ?? 0) > scale) {
      refuse(`${currency ?? 'any currency'} has at most ${String(scale)} decimals, so that digits would be lost`);
    }
  }

  /** Servers compare a text with a number by turning it into one, and then 'abc' is 0. */
  private values(): void {
    const { states, types, where } = this.source;
    const check = (setting: string[], column: ColumnDefinition | undefined, values: readonly SourceValue[]): void => {
      if (column === undefined) return;
      const isKnown = isInteger(column) || isText(column);
      const wrong = values.find((value) => (typeof value === 'number') !== isInteger(column));
      const problem = !isKnown
        ? `names ${column.name}, a ${column.declared}, which is neither a whole number nor a text`
        : wrong === undefined
          ? null
          : `maps ${JSON.stringify(wrong)} in ${column.name}, which is a ${column.declared}`;
      if (problem !== null) this.found.push({ setting, problem });
    };
    check(['columns', 'state'], this.at('state'), Object.values(states).flat());
    check(['columns', 'type'], this.at('type'), Object.values(types).flat());
    for (const { column, values } of where) check(['where'], this.table.columns.get(column), values);
  }

  /** What a run writes must fit. */
  private written(): void {
    const state = this.at('state');
    for (const name of ['PROCESSING', 'SUCCESS', 'CANCELED'] as const) {
      const [value] = this.source.states[name];
      if (state === undefined || typeof value !== 'string') continue;
      const fits =
        state.type === 'enum' ? state.declared.includes(`'${value}'`) : value.length <= (state.length ?? Infinity);
      if (!fits) this.refuse('state', `has "${value}" for ${name}, which ${state.declared} does not hold`);
    }
    for (const concept of ['state', 'version', 'finishedAt', 'cancelCode', 'runId', 'chunkNo'] as const) {
      const column = this.at(concept);
      if (column?.isGenerated === true) this.refuse(concept, `names ${column.name}, which the database computes`);
    }
    for (const concept of ['version', 'runId', 'chunkNo'] as const) {
      const column = this.at(concept);
      if (column !== undefined && !isInteger(column)) {
        this.refuse(concept, `names ${column.name}, a ${column.declared}: it is a whole number`);
      }
    }
    for (const concept of ['runId', 'chunkNo'] as const) {
      if (this.at(concept)?.isNullable === false)
        this.refuse(concept, 'names a column that cannot be null before a run');
    }
    const code = this.at('cancelCode');
    if (code !== undefined && !isText(code)) this.refuse('cancelCode', `names ${code.name}, which is no text`);
  }
}

/** Columns that are as those of our own table: of its type and collation, and never null. */
export function exactColumns(source: OrderSource, table: TableDefinition, own: TableDefinition): Set<string> {
  const exact = new Set<string>();
  for (const concept of ['accountNo', 'type', 'amount', 'currency', 'channel', 'state', 'reversalOf'] as const) {
    const name = source.columns[concept];
    const [column, ours] = [table.columns.get(name ?? ''), own.columns.get(ownOrders.columns[concept] ?? '')];
    if (name === null || column === undefined || ours === undefined) continue;
    const isSame = column.type === ours.type && column.collation === ours.collation && !column.isUnsigned;
    if (isSame && (!column.isNullable || concept === 'reversalOf')) exact.add(name);
  }
  return exact;
}
