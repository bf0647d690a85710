/** The engines that Settle runs on. MariaDB and MySQL speak one protocol but name their collations differently. */
export type Engine = 'sqlite' | 'mariadb' | 'mysql';

/**
 * Column types, spelt for each engine. Ids are compared byte by byte and trailing blanks count (a binary no-pad
 * collation); codes are ASCII; money is a 64-bit integer a row and an exact wide decimal where rows are summed;
 * days are dates without a zone and instants are UTC. SQLite tables are STRICT, so a wrong type is refused there too.
 */
export interface Vocabulary {
  engine: Engine;
  autoId: string;
  big: string;
  int: string;
  minor: string;
  /** Sum of minor units beyond 64 bits: DECIMAL on servers, decimal text on SQLite. */
  wide: string;
  id: string;
  code: string;
  currency: string;
  /** SHA-256 as 64 hexadecimal digits in lower case. */
  digest: string;
  day: string;
  /** UTC with microseconds (what other systems tell us). */
  instant: string;
  /** UTC with milliseconds (what we record). */
  moment: string;
  text: string;
  /** Ends a CREATE TABLE. */
  end: string;
  /** Ends a CREATE INDEX whose column is mostly null, where nulls need not be kept in it. */
  unlessNull(column: string): string;
}

const sqlite: Vocabulary = {
  engine: 'sqlite',
  autoId: 'integer primary key autoincrement',
  big: 'integer',
  int: 'integer',
  minor: 'integer',
  wide: 'text',
  id: 'text',
  code: 'text',
  currency: 'text',
  digest: 'text',
  day: 'text',
  instant: 'text',
  moment: 'text',
  text: 'text',
  end: 'strict',
  unlessNull: (column) => ` where ${column} is not null`,
};

function server(engine: 'mariadb' | 'mysql', collation: string): Vocabulary {
  return {
    engine,
    autoId: 'bigint not null auto_increment primary key',
    big: 'bigint',
    int: 'int',
    minor: 'bigint',
    wide: 'decimal(38,0)',
    id: `varchar(64) character set utf8mb4 collate ${collation}`,
    code: 'varchar(40) character set ascii collate ascii_bin',
    currency: 'char(3) character set ascii collate ascii_bin',
    digest: 'char(64) character set ascii collate ascii_bin',
    day: 'date',
    instant: 'datetime(6)',
    moment: 'datetime(3)',
    text: `longtext character set utf8mb4 collate ${collation}`,
    end: `engine = InnoDB default character set utf8mb4 collate ${collation}`,
    unlessNull: () => '',
  };
}

export const vocabularies: Record<Engine, Vocabulary> = {
  sqlite,
  mariadb: server('mariadb', 'utf8mb4_nopad_bin'),
  mysql: server('mysql', 'utf8mb4_0900_bin'),
};

/** `state in ('A','B')` for the CHECK that mirrors a state table. */
export function oneOf(column: string, values: readonly string[]): string {
  return `${column} in (${values.map((value) => `'${value}'`).join(', ')})`;
}

/** A trigger that refuses to change or remove rows of a table: the ledger's own are only ever added. */
export function refuse(v: Vocabulary, event: 'update' | 'delete', table: string): string {
  const message = `${table} is append-only: ${event} is refused`;
  const body =
    v.engine === 'sqlite'
      ? `begin select raise(abort, '${message}'); end`
      : `signal sqlstate '45000' set message_text = '${message}'`;
  return `create trigger ${table}_no_${event} before ${event} on ${table} for each row ${body}`;
}

/** A trigger that refuses a journal entry on a day that is closed: what comes later is booked on the open day. */
export function refuseClosedDay(v: Vocabulary): string {
  const isClosed = 'new.booking_day <= (select closed_through from ledger_period where id = 1)';
  const message = (...parts: string[]): string =>
    v.engine === 'sqlite' ? parts.join(' || ') : `concat(${parts.join(', ')})`;
  const text = message(`'journal_entry: '`, 'new.booking_day', `' is a closed day: insert is refused'`);
  const head = 'create trigger journal_entry_closed_day before insert on journal_entry for each row';
  if (v.engine === 'sqlite') return `${head} when ${isClosed} begin select raise(abort, ${text}); end`;
  return `${head} begin declare refusal varchar(80); if ${isClosed} then set refusal = ${text}; signal sqlstate '45000' set message_text = refusal; end if; end`;
}
