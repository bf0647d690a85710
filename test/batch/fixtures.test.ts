import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { toBigInt } from '../../src/db/values.js';
import type { Database } from '../../src/db/database.js';
import { createTestDatabase, databaseKinds } from '../support/databases.js';
import { settleInside as settle } from '../support/inside.js';

interface Expected {
  batchDay: string;
  exitCode: number;
  nets: Record<string, string>;
  ledger: Record<string, string>;
  quarantine?: Record<string, string>;
  earlier?: Record<string, Record<string, string>>;
}

const root = 'fixtures/days';

async function summed(database: Database, sql: string): Promise<Record<string, string>> {
  const sums = new Map<string, bigint>();
  for (const row of await database.read((session) => session.tuples(sql))) {
    const [amount, ...key] = row;
    const name = key.map(String).join(' ');
    sums.set(name, (sums.get(name) ?? 0n) + toBigInt(amount));
  }
  return Object.fromEntries([...sums].map(([key, sum]) => [key, sum.toString()]));
}

function netsOf(database: Database, day: string): Promise<Record<string, string>> {
  return summed(
    database,
    `select n.amount_minor, n.account_no, n.currency
       from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no where c.batch_day = '${day}'`,
  );
}

async function ledgerOf(database: Database, day: string): Promise<Record<string, string>> {
  const sums = await summed(
    database,
    `select l.amount_minor, l.ledger_account, l.sub_account, l.side, l.currency
       from journal_entry j join ledger_entry l on l.journal_entry_id = j.id where j.batch_day = '${day}'`,
  );
  return Object.fromEntries(Object.entries(sums).map(([key, sum]) => [key.replace(' ', '/'), sum]));
}

describe.each(databaseKinds)('whole days from file to books [%s]', (kind) => {
  test.each(readdirSync(root))('%s', async (name) => {
    const expected = JSON.parse(readFileSync(join(root, name, 'expected.json'), 'utf8')) as Expected;
    const { url, database, drop } = await createTestDatabase(kind);
    try {
      const accounts = join(root, name, 'accounts.csv');
      if (existsSync(accounts)) expect((await settle(['import', 'accounts', accounts], { url })).code).toBe(0);
      expect((await settle(['import', 'orders', join(root, name, 'orders.csv')], { url })).code).toBe(0);
      const run = await settle(['run', '--batch-day', expected.batchDay, '--json'], { url });
      expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code: expected.exitCode });
      expect(await netsOf(database, expected.batchDay)).toEqual(expected.nets);
      expect(await ledgerOf(database, expected.batchDay)).toEqual(expected.ledger);
      for (const [day, nets] of Object.entries(expected.earlier ?? {}))
        expect(await netsOf(database, day)).toEqual(nets);
      const setAside = await database.read((session) =>
        session.tuples('select account_no, code, orders from quarantine where active = 1'),
      );
      expect(
        Object.fromEntries(
          setAside.map(([accountNo, code, orders]) => [accountNo, `${String(code)} ${String(orders)}`]),
        ),
      ).toEqual(expected.quarantine ?? {});
      expect((await settle(['verify', '--batch-day', expected.batchDay], { url })).code).toBe(0);
    } finally {
      await drop();
    }
  });
});
