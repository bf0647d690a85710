import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createConnection, type Connection } from 'mysql2/promise';
import { repeatable } from '../src/db/transaction.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { createTestDatabase, onEachDatabase } from './support/databases.js';
import { everyRow, givenVariedDay, runDay } from './support/day.js';
import { withoutTriggers } from './support/plants.js';
import { settleInside as settle } from './support/inside.js';
import { startServer, type Server } from './support/server.js';

onEachDatabase('the ledger', (current) => {
  beforeAll(async () => {
    await givenVariedDay(current().database, 40);
    await runDay(current().database);
  });

  test.each([
    'update journal_entry set batch_day = batch_day',
    `update journal_entry set type = 'OTHER' where id = 1`,
    'update ledger_entry set amount_minor = amount_minor + 1',
    'delete from journal_entry where id = 1',
    'delete from ledger_entry where line_no = 2',
  ])('refuses: %s', async (sql) => {
    const before = await everyRow(current().database);
    const deed = repeatable('deed', (trx) => trx.change(sql));
    await expect(current().database.transact(deed)).rejects.toThrow(
      /_entry is append-only: (update|delete) is refused/,
    );
    expect(await everyRow(current().database)).toBe(before);
  });

  test.each([
    ['journal_entry_no_delete', /create trigger [^;]*(; end)?/],
    ['journal_entry_closed_day', /create trigger .*; end/],
  ])('that lacks %s is told so by verify and by doctor, with the statement that puts it back', async (name, form) => {
    const { database, drop, url } = await createTestDatabase(
      current().database.target.dialect === 'sqlite' ? 'sqlite' : 'server',
    );
    try {
      await database.read((session) => session.change(`drop trigger ${name}`));
      const wrong = (await verifyBooks(database)).filter(({ ok }) => !ok);
      expect(wrong).toMatchObject([{ name: 'append-only', contradictions: [{ key: name }] }]);
      const ended = await settle(['doctor', '--json'], { url });
      const { findings } = JSON.parse(ended.stdout) as { findings: { name: string; status: string; fix: string }[] };
      const finding = findings.find((one) => one.name === 'append-only');
      expect(finding?.status).toBe('fail');
      const [statement] = form.exec(finding?.fix ?? '') ?? [''];
      await database.read((session) => session.change(statement));
      expect((await verifyBooks(database)).filter(({ ok }) => !ok)).toEqual([]);
    } finally {
      await drop();
    }
  });

  test('whose trigger was hollowed out is named too', async () => {
    const { database, drop } = await createTestDatabase(
      current().database.target.dialect === 'sqlite' ? 'sqlite' : 'server',
    );
    try {
      await withoutTriggers(database);
      const body = database.target.dialect === 'sqlite' ? 'begin select 1; end' : 'set @nothing = 1';
      await database.read((session) =>
        session.change(`create trigger ledger_entry_no_update before update on ledger_entry for each row ${body}`),
      );
      const [check] = (await verifyBooks(database)).filter(({ ok }) => !ok);
      expect(check?.contradictions.map(({ key }) => key)).toContain('ledger_entry_no_update');
    } finally {
      await drop();
    }
  });
});

describe('a server with a binary log', () => {
  let server: Server;
  let administrator: Connection;
  beforeAll(async () => {
    server = await startServer(['--log-bin=books', '--server-id=1', '--innodb-flush-log-at-trx-commit=2']);
    administrator = await createConnection({ uri: server.url, multipleStatements: true });
    await administrator.query(`set global log_bin_trust_function_creators = 0; create database settle;
      create user 'mover'@'%' identified by 'secret'; grant all on settle.* to 'mover'@'%'`);
  }, 60_000);
  afterAll(async () => {
    await administrator.end();
    await server.stop();
  });

  test('tells a user who may not create triggers there what to have done, and goes on from there', async () => {
    const url = `${server.url.replace('root@', 'mover:secret@')}settle`;
    const refused = await settle(['migrate', 'up'], { url });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('DATABASE_TRIGGERS_DENIED');
    expect(refused.stderr).toContain('set global log_bin_trust_function_creators = 1');
    await administrator.query('set global log_bin_trust_function_creators = 1');
    expect((await settle(['migrate', 'up'], { url })).stdout).toMatch(/^Applied: 0003_books/);
    await administrator.query('set global log_bin_trust_function_creators = 0');
    const verified = await settle(['verify'], { url });
    expect(verified).toMatchObject({ code: 0 });
  });
});
