import { randomBytes } from 'node:crypto';
import { Database } from '../../src/db/database.js';
import { migrateUp } from '../../src/db/schema.js';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { givenVariedDay, moneyDump, runDay, smallSettings } from '../support/day.js';
import { createTestDatabase } from '../support/databases.js';
import type { Cluster, Node } from './cluster.js';

/** One database of the cluster, and ways to it through each node. */
export interface Place {
  urlOn(node: Node): string;
  open(node: Node): Promise<Database>;
  /** The canonical money tables as each of these nodes tells them. */
  moneyOn(...nodes: readonly Node[]): Promise<string[][]>;
}

export const settings = { ...smallSettings, pageSize: 300, chunkSize: 40 };
export const slowly = ['--batch-day', '2026-11-29', '--page-size', '300', '--chunk-size', '25', '--lanes', '3'];
export const orders = 2_000;

/** A migrated database with a varied day in INIT, given through the first node and there on all. */
export async function givenPlace({ nodes, agreed }: Cluster, through: Node = nodes[0]): Promise<Place> {
  const name = `settle_test_${randomBytes(6).toString('hex')}`;
  await through.sql(`create database ${name}`);
  const urlOn = (node: Node): string => `${node.url}${name}`;
  const open = (node: Node): Promise<Database> => Database.open(parseDatabaseUrl(urlOn(node)), { connections: 8 });
  await using(await open(through), async (database) => {
    await migrateUp(database);
    await givenVariedDay(database, orders);
  });
  await agreed();
  return {
    urlOn,
    open,
    moneyOn: (...some) =>
      Promise.all(some.map(async (node) => using(await open(node), (database) => moneyDump(database)))),
  };
}

/** What the same day comes to on SQLite, where nothing is shared with anybody. */
export async function undisturbedMoney(): Promise<string[]> {
  const { database, drop } = await createTestDatabase('sqlite');
  try {
    await givenVariedDay(database, orders);
    await runDay(database, { settings });
    return await moneyDump(database);
  } finally {
    await drop();
  }
}

export async function using<T>(database: Database, work: (database: Database) => Promise<T>): Promise<T> {
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Asks again and again until the answer is yes; says what was waited for when that takes too long. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 120_000;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`Waited in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
