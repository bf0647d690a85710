import type { Connection } from 'mysql2';
import type BetterSqlite3 from 'better-sqlite3';
import { throwIfCancelled } from '../kernel/cancellation.js';
import type { OrderSource } from '../kernel/orderSource.js';
import { statementTooLarge } from './failure.js';
import { queryWithin } from './query.js';
import type { ServerFacts } from './settings.js';

export type Dialect = 'sqlite' | 'mysql';

/** What may be bound: never an object or undefined, which drivers turn into SQL of their own making. */
export type Binding = string | number | bigint | null;
/** A row as the driver gives it: integers arrive as bigint (SQLite) or text (mysql2); read them with `db/values`. */
export type Row = Record<string, unknown>;

/** One connection, for as long as its owner holds it. SQL uses `?`; each dialect difference is spelt by `db/dialect`. */
export interface Session {
  readonly dialect: Dialect;
  /** On a node of a Galera cluster, which compares with other nodes' commits only the rows that a unit has written. */
  readonly clustered: boolean;
  /** Which table of this database holds the orders. */
  readonly source: OrderSource;
  /** Rows as objects. */
  rows(sql: string, bindings?: readonly Binding[]): Promise<Row[]>;
  /** Rows as arrays, in the order of the select list: for pages of many rows. */
  tuples(sql: string, bindings?: readonly Binding[]): Promise<unknown[][]>;
  /** Number of rows that the WHERE matched (never "changed": a CAS moves the guarded column, so both agree). */
  change(sql: string, bindings?: readonly Binding[]): Promise<number>;
  /** Inserts one row and gives its database-made id. */
  insert(sql: string, bindings?: readonly Binding[]): Promise<bigint>;
  /**
   * Inserts many rows of equal width with as few statements as the server's limits allow. Returns rows inserted. Rows
   * are taken one at a time, so that a generator's need not exist all at once.
   */
  insertMany(table: string, columns: readonly string[], rows: Iterable<readonly Binding[]>): Promise<number>;
}

/** A session as its lender sees it. */
export interface LentSession extends Session {
  /** Until told otherwise, an abort of the signal ends the statement at hand and each later one, with its reason. */
  obey(signal: AbortSignal | null): void;
}

/** What knows the table of orders of a database: all of its sessions follow it. */
export interface Sourced {
  readonly source: OrderSource;
}

/** The part of a transaction's session that stage code sees. Only `db/transaction` begins and ends one. */
export type Transaction = Session & { readonly inTransaction: true };

function assertScalars(bindings: readonly unknown[]): void {
  for (const value of bindings) {
    const kind = typeof value;
    if (value !== null && kind !== 'string' && kind !== 'number' && kind !== 'bigint') {
      throw new TypeError(`A ${value === undefined ? 'missing value' : kind} cannot be bound to a statement.`);
    }
    if (kind === 'number' && !Number.isSafeInteger(value))
      throw new TypeError('Only whole, exact numbers can be bound.');
  }
}

// Measured on MariaDB 10.11: 1,000 rows a statement insert as fast as any size or faster; 5,000 double the client's work.
const insertRowsMax = 1_000;

export class MysqlSession implements LentSession {
  readonly dialect = 'mysql';
  readonly clustered: boolean;
  /** The server's max_allowed_packet. It answers a larger statement by closing the connection. */
  private readonly packetBytesMax: number;
  private signal: AbortSignal | null = null;

  constructor(
    private readonly connection: Connection,
    facts: Pick<ServerFacts, 'clustered' | 'packetBytesMax'>,
    private readonly statementMsMax: number,
    /** Ends every wait at once; see `Database.abandon`. */
    private readonly abandonment: AbortSignal,
    private readonly sourced: Sourced,
  ) {
    this.clustered = facts.clustered;
    this.packetBytesMax = facts.packetBytesMax;
  }

  get source(): OrderSource {
    return this.sourced.source;
  }

  async rows(sql: string, bindings: readonly Binding[] = []): Promise<Row[]> {
    return (await this.query(sql, bindings, false)) as Row[];
  }

  async tuples(sql: string, bindings: readonly Binding[] = []): Promise<unknown[][]> {
    return (await this.query(sql, bindings, true)) as unknown[][];
  }

  async change(sql: string, bindings: readonly Binding[] = []): Promise<number> {
    return ((await this.query(sql, bindings, false)) as { affectedRows: number }).affectedRows;
  }

  async insert(sql: string, bindings: readonly Binding[] = []): Promise<bigint> {
    return BigInt(((await this.query(sql, bindings, false)) as { insertId: number | string }).insertId);
  }

  async insertMany(table: string, columns: readonly string[], rows: Iterable<readonly Binding[]>): Promise<number> {
    const head = `insert into ${table} (${columns.join(', ')}) values `;
    let inserted = 0;
    let tuples: string[] = [];
    const statementBytesMax = this.packetBytesMax / 2;
    let bytes = head.length;
    const flush = async (): Promise<void> => {
      if (tuples.length > 0) inserted += await this.change(head + tuples.join(','));
      tuples = [];
      bytes = head.length;
    };
    for (const row of rows) {
      assertScalars(row);
      const tuple = `(${row.map((value) => this.literal(value)).join(',')})`;
      // A character takes up to 4 bytes on the wire; counting 3 per UTF-16 unit is never too few.
      if (tuples.length === insertRowsMax || bytes + tuple.length * 3 > statementBytesMax) await flush();
      tuples.push(tuple);
      bytes += tuple.length * 3;
    }
    await flush();
    return inserted;
  }

  /** Whole numbers as digits (a quoted one would be added as a double); most texts need nothing but quotes. */
  private literal(value: Binding): string {
    if (typeof value === 'string') return /['\\\0\x1a\n\r]/.test(value) ? this.connection.escape(value) : `'${value}'`;
    return value === null ? 'null' : String(value);
  }

  obey(signal: AbortSignal | null): void {
    this.signal = signal;
  }

  private async query(sql: string, bindings: readonly Binding[], rowsAsArray: boolean): Promise<unknown> {
    if (this.signal !== null) throwIfCancelled(this.signal);
    assertScalars(bindings);
    this.assertFits(sql, bindings);
    const signals = this.signal === null ? [this.abandonment] : [this.abandonment, this.signal];
    return queryWithin(this.connection, { sql, rowsAsArray }, bindings, this.statementMsMax, signals);
  }

  /** Refused here, such a statement costs its unit only; sent, it would look like a lost connection and be tried again. */
  private assertFits(sql: string, bindings: readonly Binding[]): void {
    const letters = bindings.reduce<number>((sum, value) => sum + String(value).length, sql.length);
    // Up to 3 bytes a UTF-16 unit, doubled by escaping: what is certain to fit is not measured.
    if (letters * 6 < this.packetBytesMax) return;
    const bytes = Buffer.byteLength(bindings.length === 0 ? sql : this.connection.format(sql, [...bindings]));
    if (bytes + 1 < this.packetBytesMax) return;
    throw Object.assign(
      new Error(
        `A statement of ${String(bytes)} bytes is larger than max_allowed_packet, ${String(this.packetBytesMax)}.`,
      ),
      { code: statementTooLarge },
    );
  }
}

export class SqliteSession implements LentSession {
  readonly dialect = 'sqlite';
  readonly clustered = false;
  private readonly statements = new Map<string, BetterSqlite3.Statement>();
  private signal: AbortSignal | null = null;

  constructor(
    private readonly connection: BetterSqlite3.Database,
    private readonly sourced: Sourced,
  ) {}

  get source(): OrderSource {
    return this.sourced.source;
  }

  rows(sql: string, bindings: readonly Binding[] = []): Promise<Row[]> {
    return this.run(
      () =>
        this.prepare(sql, bindings)
          .raw(false)
          .all(...bindings) as Row[],
    );
  }

  tuples(sql: string, bindings: readonly Binding[] = []): Promise<unknown[][]> {
    return this.run(
      () =>
        this.prepare(sql, bindings)
          .raw(true)
          .all(...bindings) as unknown[][],
    );
  }

  change(sql: string, bindings: readonly Binding[] = []): Promise<number> {
    return this.run(() => this.prepare(sql, bindings).run(...bindings).changes);
  }

  insert(sql: string, bindings: readonly Binding[] = []): Promise<bigint> {
    return this.run(() => BigInt(this.prepare(sql, bindings).run(...bindings).lastInsertRowid));
  }

  /** One prepared row, run for each: as fast here as many rows in one statement, and small in memory. */
  insertMany(table: string, columns: readonly string[], rows: Iterable<readonly Binding[]>): Promise<number> {
    return this.run(() => {
      const sql = `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`;
      let inserted = 0;
      const statement = this.prepare(sql, []);
      for (const row of rows) {
        assertScalars(row);
        inserted += statement.run(...row).changes;
      }
      return inserted;
    });
  }

  obey(signal: AbortSignal | null): void {
    this.signal = signal;
  }

  /** A turn of the event loop first: better-sqlite3 is synchronous, and a signal must get in between two statements. */
  private async run<T>(work: () => T): Promise<T> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.signal !== null) throwIfCancelled(this.signal);
    return work();
  }

  private prepare(sql: string, bindings: readonly unknown[]): BetterSqlite3.Statement {
    assertScalars(bindings);
    let statement = this.statements.get(sql);
    if (statement === undefined) {
      statement = this.connection.prepare(sql);
      // Statements with a list of ids written into them come once each; they must not pile up.
      if (sql.length < 2_000 && this.statements.size < 200) this.statements.set(sql, statement);
    }
    return statement;
  }
}
