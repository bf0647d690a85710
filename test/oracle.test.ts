import { expect, test } from '@jest/globals';
import { createTestDatabase, databaseKinds, type DatabaseKind, type TestDatabase } from './support/databases.js';
import { givenVariedDay, moneyDump, runDay } from './support/day.js';
import { contradictions, soundAfter } from './support/oracle.js';
import { plant } from './support/plants.js';

// The oracle that follows every fault is itself tried: silent on a sound day, and never silent about a row that is off.

async function settledDay(kind: DatabaseKind): Promise<TestDatabase> {
  const current = await createTestDatabase(kind);
  await givenVariedDay(current.database, 60);
  await runDay(current.database);
  return current;
}

test.each(databaseKinds)('is silent on a sound day [%s]', async (kind) => {
  const { database, drop } = await settledDay(kind);
  try {
    await soundAfter(database, await moneyDump(database));
  } finally {
    await drop();
  }
});

test.each([
  `update settlement_order set amount_minor = amount_minor + 1 where order_no = 'V0007'`,
  `update settlement_order set state = 'PROCESSING', finished_at = null where order_no = 'V0007'`,
  `update settlement_order set version = version + 1 where order_no = 'V0007'`,
  `update net set orders = orders + 1 where net_no = 1 and chunk_no = 1`,
  `delete from net where net_no = 1 and chunk_no = 1`,
  `update ledger_entry set amount_minor = amount_minor + 1 where journal_entry_id = 1 and line_no = 1`,
  `delete from ledger_entry where journal_entry_id = 1`,
  `delete from journal_entry where id = 1`,
  `delete from outbox where id = 1`,
  `update outbox set state = 'NEW', sent_at = null where id = 1`,
  `update run set state = 'RUNNING', finished_at = null`,
  `update run set exit_code = 0`,
  `update lease set owner = '{"host":"h","pid":1,"realm":"r"}'`,
  `update batch set state = 'RECONCILING', closed_at = null, orders_at_close = null`,
])('speaks up after: %s', async (deed) => {
  const { database, drop } = await settledDay('sqlite');
  try {
    const undisturbed = await moneyDump(database);
    await plant(database, deed);
    expect(await contradictions(database, undisturbed, { rerun: null })).not.toEqual([]);
  } finally {
    await drop();
  }
});
