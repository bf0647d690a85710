import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection, type Connection } from 'mysql2/promise';
import { Database } from '../../src/db/database.js';
import { parseDatabaseUrl } from '../../src/db/url.js';

export const engineNames = ['sqlite', 'server'] as const;
export type EngineName = (typeof engineNames)[number];

/** Fills the database that an experiment starts from; null when it starts from none. */
export type Seed = ((database: Database) => Promise<void>) | null;

/** A database of one's own for one experiment after the other. */
export interface Place {
  readonly url: string;
  /** Brings back the state that the seed made. */
  restore(): Promise<void>;
  change(work: (database: Database) => Promise<void>): Promise<void>;
  /** Shows what is there, without changing what the next process will find. */
  look<T>(work: (database: Database) => Promise<T>): Promise<T>;
  /** Statements that the server logs while `work` goes on; null where it cannot be asked to log. */
  logged(work: () => Promise<void>): Promise<number | null>;
  remove(): Promise<void>;
}

/** What an engine's experiments run on. */
export interface Ground {
  place(): Promise<Place>;
  remove(): Promise<void>;
}

async function opened<T>(url: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await Database.open(parseDatabaseUrl(url), { connections: 8, create: true });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** SQLite: the seeded file is copied, and looked at in a copy, so that its log is left for the next process to find. */
export async function sqliteGround(seed: Seed): Promise<Ground> {
  const root = mkdtempSync(join(tmpdir(), 'settle-crash-'));
  const template = join(root, 'template.db');
  if (seed !== null) await opened(`sqlite:${template}`, seed);
  let places = 0;
  return {
    place: () => {
      const folder = join(root, String((places += 1)));
      mkdirSync(folder);
      const file = join(folder, 'day.db');
      return Promise.resolve({
        url: `sqlite:${file}`,
        restore: () => {
          removeFile(file);
          if (seed !== null) copyFileSync(template, file);
          return Promise.resolve();
        },
        change: (work) => opened(`sqlite:${file}`, work),
        look: (work) => {
          const copy = join(folder, 'look.db');
          removeFile(copy);
          for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
          return opened(`sqlite:${copy}`, work);
        },
        logged: async (work) => {
          await work();
          return null;
        },
        remove: () => Promise.resolve(),
      });
    },
    remove: () => {
      rmSync(root, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

function removeFile(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(file + end, { force: true });
}

/** Filled by migrations and never by a run. */
const steady = ['ledger_account', 'settle_migration', 'settle_migration_lock'];
const appendOnly = ['journal_entry', 'ledger_entry', 'chain_link'];

/** A server: the seeded database is copied row by row; the tables and triggers of a place are made once. */
export async function serverGround(serverUrl: string, seed: Seed, ownServer: boolean): Promise<Ground> {
  const prefix = `settle_test_crash_${randomBytes(4).toString('hex')}`;
  const admin = await connected(serverUrl);
  const template = `${prefix}_0`;
  await admin.query(`create database ${template}`);
  if (seed !== null) await opened(serverUrl + template, seed);
  let places = 0;
  return {
    place: () => {
      const name = `${prefix}_${String((places += 1))}`;
      return serverPlace(serverUrl, name, seed === null ? null : { seed, template }, ownServer);
    },
    remove: async () => {
      await admin.query(`drop database ${template}`);
      await admin.end();
    },
  };
}

async function serverPlace(
  serverUrl: string,
  name: string,
  seeded: { seed: NonNullable<Seed>; template: string } | null,
  ownServer: boolean,
): Promise<Place> {
  const admin = await connected(serverUrl);
  const url = serverUrl + name;
  await admin.query(`create database ${name}`);
  let refill = `drop database ${name}; create database ${name}`;
  if (seeded !== null) {
    await opened(url, seeded.seed);
    const [rows] = await admin.query({
      sql: `select table_name from information_schema.tables where table_schema = '${name}'`,
      rowsAsArray: true,
    });
    const tables = (rows as string[][]).map(([table]) => String(table)).filter((table) => !steady.includes(table));
    // Last of all: while it is empty, no day is closed to the journal entries.
    tables.sort((a, b) => Number(a === 'ledger_period') - Number(b === 'ledger_period'));
    // The ledger refuses DELETE; emptying a table whole is no DELETE.
    const refusing = tables.filter((table) => appendOnly.includes(table));
    // Ids that the database makes go on counting from one experiment to the next; no picture of the money holds one.
    refill = [
      ...refusing.map((table) => `truncate table ${name}.${table}`),
      'start transaction',
      ...tables.filter((table) => !refusing.includes(table)).map((table) => `delete from ${name}.${table}`),
      ...tables.map((table) => `insert into ${name}.${table} select * from ${seeded.template}.${table}`),
      'commit',
    ].join('; ');
  }
  return {
    url,
    restore: async () => {
      await admin.query(refill);
    },
    change: (work) => opened(url, work),
    look: (work) => opened(url, work),
    logged: async (work) => {
      if (!ownServer) {
        await work();
        return null;
      }
      await admin.query(`set global log_output = 'TABLE'; truncate mysql.general_log; set global general_log = 1`);
      await work();
      await admin.query('set global general_log = 0');
      // MariaDB logs what triggers do as well: refusals, and the cancellation of one order.
      const [rows] = await admin.query(
        `select count(*) as statements from mysql.general_log
          where command_type = 'Query' and thread_id <> connection_id()
            and argument not like 'signal %' and argument not like '%state = ''CANCELED'', cancel_code%'`,
      );
      return Number((rows as { statements: number }[])[0]?.statements);
    },
    remove: async () => {
      await admin.query(`drop database ${name}`);
      await admin.end();
    },
  };
}

async function connected(serverUrl: string): Promise<Connection> {
  const target = parseDatabaseUrl(`${serverUrl}mysql`);
  if (target.dialect !== 'mysql') throw new Error('The URL of a server starts with mysql://.');
  return createConnection({
    ...(target.socketPath === null ? { host: target.host, port: target.port } : { socketPath: target.socketPath }),
    user: target.user,
    password: target.password,
    multipleStatements: true,
  });
}
