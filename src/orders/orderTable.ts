import { among, literal, quoted } from '../db/identifiers.js';
import type { Binding, Dialect, Session } from '../db/session.js';
import { fromInstant, toText, unindexed } from '../db/values.js';
import type { BatchDay } from '../kernel/batchDay.js';
import type { OrderSource, SourceColumns, SourceValue } from '../kernel/orderSource.js';
import type { OrderState } from '../kernel/states.js';
import { claimExpressions, orderExpressions, rowProblem, type Expression } from './orderExpressions.js';

// The one place that knows how the table of orders is called and spelt. Statements read rows of concepts from it: id,
// order_no, account_no, batch_day (to be read with `dayOf`), type, amount_minor, currency, channel, state, reversal_of,
// and for claims run_id and chunk_no. Where the table has all of them under these names, it is read as it is.

export interface Condition {
  sql: string;
  bindings: Binding[];
}

/** The table of orders of a database, as statements name it. Made once for each mapping; see `ordersIn`. */
export class OrderTable {
  /** For UPDATE: the table, and its key. */
  readonly target: string;
  readonly id: string;
  /** Which chunk has claimed an order stands in its row; otherwise in `claimed_order`. */
  readonly keepsClaims: boolean;
  /** A column of concepts to look reversals up by, which an index may know. */
  readonly reversalKey: string;
  /** Tells, in a row of concepts, why the order cannot be settled; null where constraints make that impossible. */
  readonly problem: string | null;
  private readonly rows: Record<'plain' | 'byId' | 'claims', string>;
  private readonly isPlain: boolean;

  constructor(
    readonly source: OrderSource,
    private readonly dialect: Dialect,
  ) {
    const { schema, table, columns } = source;
    this.target = source.own ? table : quoted(dialect, ...(schema === null ? [table] : [schema, table]));
    this.id = this.name(columns.id);
    this.keepsClaims = columns.runId !== null && columns.chunkNo !== null;
    const inRow = (column: string): string => this.name(column, 't');
    const concepts = orderExpressions(source, dialect, inRow);
    const claims = claimExpressions(source, inRow);
    const problem = source.own ? null : rowProblem(source, dialect, inRow);
    this.isPlain = problem === null && [...concepts, ...claims].every(([name, sql]) => sql === `t.${name}`);
    this.problem = problem === null ? null : 'problem';
    this.reversalKey = this.isPlain ? 'reversal_of' : 'reversal_key';
    if (problem !== null) {
      concepts.push(['reversal_key', columns.reversalOf === null ? 'null' : inRow(columns.reversalOf)]);
      concepts.push(['state_key', inRow(columns.state)], ['problem', problem]);
    }
    const byKey = dialect === 'sqlite' ? '' : ' force index (primary)';
    const joined = this.keepsClaims ? '' : ` left join claimed_order m on m.order_id = ${inRow(columns.id)}`;
    this.rows = this.isPlain
      ? { plain: table, byId: table, claims: table }
      : {
          plain: this.select(concepts, ''),
          byId: this.select(concepts, byKey),
          claims: this.select([...concepts, ...claims], joined),
        };
  }

  private select(columns: readonly Expression[], behind: string): string {
    const list = columns.map(([name, sql]) => `${sql} as ${name}`).join(', ');
    const only = this.only('t');
    return `(select ${list} from ${this.target} t${behind}${only === '' ? '' : ` where ${only}`})`;
  }

  /** Behind FROM or JOIN: rows of concepts. */
  from(alias = ''): string {
    return this.aliased('plain', alias);
  }

  /** The same, gone through in the order of ids, and not by an index that would have to be sorted. */
  fromById(alias = ''): string {
    return this.aliased(this.source.instants === null ? 'plain' : 'byId', alias);
  }

  /** The same with run_id and chunk_no. */
  fromClaims(alias = ''): string {
    return this.aliased('claims', alias);
  }

  private aliased(kind: 'plain' | 'byId' | 'claims', alias: string): string {
    const rows = this.rows[kind];
    if (alias !== '') return `${rows} ${alias}`;
    return this.isPlain ? rows : `${rows} placed`;
  }

  /** Condition on rows of concepts that are of a day. `byIndex` false: other conditions name the rows better. */
  isOn(day: BatchDay, { alias = '', byIndex = true } = {}): Condition {
    return this.onDay(alias === '' ? 'batch_day' : `${alias}.batch_day`, day, byIndex);
  }

  /** Condition on rows of concepts in INIT, which an index on the state may serve. */
  waits(alias = ''): string {
    const prefix = alias === '' ? '' : `${alias}.`;
    if (this.isPlain) return `${prefix}state = 'INIT'`;
    const waits = among(`${prefix}state_key`, this.source.states.INIT);
    return this.source.columns.runId === null ? waits : `${waits} and ${prefix}state = 'INIT'`;
  }

  /** Condition on claims that a run of ours has made: in a table of others, their programs may use the same states. */
  isClaimed(alias = ''): string {
    const prefix = alias === '' ? '' : `${alias}.`;
    const states = `${prefix}state in ('PROCESSING', 'SUCCESS')`;
    return this.source.own ? states : `${states} and ${prefix}run_id is not null`;
  }

  /** Condition on claims that are posted. */
  posted(alias: string): string {
    const isSuccess = `${alias}.state = 'SUCCESS'`;
    return this.source.own ? isSuccess : `${isSuccess} and ${alias}.run_id is not null`;
  }

  /** Condition on claims that are still to be claimed or posted. */
  isOwed(alias: string): string {
    if (this.source.own) return `${alias}.state in ('INIT', 'PROCESSING')`;
    return `(${alias}.state = 'INIT' or (${alias}.state = 'PROCESSING' and ${alias}.run_id is not null))`;
  }

  /** Condition on claims that are ours to settle, or that we have settled. */
  isAsked(): string {
    return this.source.own ? `state in ('INIT', 'PROCESSING', 'SUCCESS')` : `state = 'INIT' or (${this.isClaimed()})`;
  }

  /** The same for UPDATE, where the id names the rows. */
  isStillOn(day: BatchDay): Condition {
    return this.onDay(this.name(this.source.columns.day), day, false);
  }

  private onDay(column: string, day: BatchDay, byIndex: boolean): Condition {
    const named = byIndex ? column : unindexed(this.dialect, column);
    const bounds = this.source.instants?.bounds(day);
    if (bounds === undefined) return { sql: `${named} = ?`, bindings: [day] };
    return { sql: `${named} >= ? and ${named} < ?`, bindings: [...bounds] };
  }

  /** Condition on rows of concepts of days in [from, before). */
  isBetween(from: BatchDay, before: BatchDay, column = 'batch_day'): Condition {
    const { instants } = this.source;
    const [first, end] = instants === null ? [from, before] : [instants.bounds(from)[0], instants.bounds(before)[0]];
    return { sql: `${column} >= ? and ${column} < ?`, bindings: [first, end] };
  }

  /** The day that `batch_day` of a row of concepts tells. */
  readonly dayOf = (value: unknown): BatchDay => this.source.instants?.dayOf(value) ?? toText(value);

  /** For UPDATE: the state is this one, and the row is one of ours to settle. */
  is(state: OrderState): string {
    const { columns, own } = this.source;
    const parts = [among(this.name(columns.state), this.source.states[state])];
    if (state === 'INIT' && !own) {
      if (columns.runId !== null) parts.push(`${this.name(columns.runId)} is null`);
      parts.push(this.only(''));
    }
    return parts.filter((part) => part !== '').join(' and ');
  }

  /** For UPDATE: the move to a state, with the version raised where there is one. */
  to(state: OrderState): string {
    return [
      `${this.name(this.source.columns.state)} = ${literal(this.source.states[state][0] as SourceValue)}`,
      ...this.raised(),
    ].join(', ');
  }

  private raised(): string[] {
    const { version } = this.source.columns;
    return version === null ? [] : [`${this.name(version)} = ${this.name(version)} + 1`];
  }

  /** For UPDATE: `, name = ?` for each of these columns that the table has, and the values bound to them. */
  also(values: Partial<Record<'runId' | 'chunkNo' | 'finishedAt' | 'cancelCode', Binding>>): Condition {
    const set = Object.entries(values).flatMap(([concept, value]) => {
      const column = this.source.columns[concept as keyof SourceColumns];
      return column === null ? [] : [{ sql: `, ${this.name(column)} = ?`, value }];
    });
    return { sql: set.map(({ sql }) => sql).join(''), bindings: set.map(({ value }) => value) };
  }

  /** A moment of ours as the table spells it. */
  moment(instant: string): Binding {
    return this.source.moment === null ? fromInstant(this.dialect, instant) : this.source.moment(instant);
  }

  /** For UPDATE: the row was claimed for a chunk. */
  isOfChunk(runId: bigint, chunkNo: number): Condition {
    const { columns } = this.source;
    const bindings = [runId, chunkNo];
    if (columns.runId !== null && columns.chunkNo !== null) {
      return { sql: `${this.name(columns.runId)} = ? and ${this.name(columns.chunkNo)} = ?`, bindings };
    }
    const claim = `m.order_id = ${this.target}.${this.id} and m.run_id = ? and m.chunk_no = ?`;
    return { sql: `exists (select 1 from claimed_order m where ${claim})`, bindings };
  }

  /** Text of rows of concepts to group by, so that no two that differ in a byte fall together. */
  exactly(column: string, concept: keyof SourceColumns): string {
    const name = this.source.columns[concept];
    return name === null || this.dialect === 'sqlite' || this.source.exact.has(name)
      ? column
      : `cast(${column} as binary)`;
  }

  private only(alias: string): string {
    return this.source.where
      .map(({ column, values, not }) => {
        const name = this.name(column, alias);
        return not ? `(${name} is null or not ${among(name, values)})` : among(name, values);
      })
      .join(' and ');
  }

  private name(column: string, alias = ''): string {
    const name = this.source.own ? column : quoted(this.dialect, column);
    return alias === '' ? name : `${alias}.${name}`;
  }
}

const tables = new WeakMap<OrderSource, Map<Dialect, OrderTable>>();

/** The table of orders of a session's database. */
export function ordersIn({ source, dialect }: Pick<Session, 'source' | 'dialect'>): OrderTable {
  let known = tables.get(source);
  if (known === undefined) tables.set(source, (known = new Map<Dialect, OrderTable>()));
  let table = known.get(dialect);
  if (table === undefined) known.set(dialect, (table = new OrderTable(source, dialect)));
  return table;
}
