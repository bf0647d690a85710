import { beforeEach, expect, test } from '@jest/globals';
import { repeatable } from '../src/db/transaction.js';
import { fromInstant } from '../src/db/values.js';
import { activeQuarantine } from '../src/settlement/quarantineViews.js';
import { releaseAccount } from '../src/settlement/releaseAccount.js';
import { onEachDatabase } from './support/databases.js';
import { settleInside as settle } from './support/inside.js';

const decision = { by: 'alice', reason: 'unfrozen by compliance', at: '2026-11-30T08:00:00.000Z' };

onEachDatabase('Quarantine', (db) => {
  const rows = async (sql: string) => db().database.read((session) => session.rows(sql));
  const change = (sql: string) => db().database.transact(repeatable('prepare', (trx) => trx.change(sql)));

  beforeEach(async () => {
    await db().database.transact(
      repeatable('accounts set aside', async (trx) => {
        for (const table of ['quarantine', 'account', 'operator_action']) await trx.change(`delete from ${table}`);
        const at = fromInstant(trx.dialect, '2026-11-30T00:00:05.000Z');
        await trx.insertMany(
          'account',
          ['account_no', 'state', 'registered_at', 'changed_at'],
          [
            ['FRO<ZEN', 'FROZEN', at, at],
            ['ODD', 'FROZEN', at, at],
          ],
        );
        await trx.insertMany(
          'quarantine',
          ['batch_day', 'account_no', 'code', 'detail', 'orders', 'run_id', 'since', 'active'],
          [
            ['2026-11-29', 'FRO<ZEN', 'ACCOUNT_FROZEN', 'The account is FROZEN.', 3, 1, at, 1],
            ['2026-11-28', 'FRO<ZEN', 'ACCOUNT_FROZEN', 'The account is FROZEN.', 1, 1, at, 1],
            ['2026-11-29', 'NOBODY', 'ACCOUNT_UNKNOWN', 'No such account.', 2, 1, at, 1],
            ['2026-11-29', 'ODD', 'DATABASE_REFUSED', 'Out of\u0007range', 1, 1, at, 1],
          ],
        );
      }),
    );
  });

  const active = async () =>
    (await db().database.read((session) => activeQuarantine(session))).map((row) => [row.batchDay, row.accountNo]);

  test('lists what is set aside now, by day and account', async () => {
    expect(await active()).toEqual([
      ['2026-11-28', 'FRO<ZEN'],
      ['2026-11-29', 'FRO<ZEN'],
      ['2026-11-29', 'NOBODY'],
      ['2026-11-29', 'ODD'],
    ]);
  });

  test.each([
    ['FRO<ZEN', 'FROZEN'],
    ['NOBODY', 'UNKNOWN'],
  ])('%s is not released while the account table still says %s', async (account, state) => {
    await expect(releaseAccount(db().database, account, undefined, decision)).rejects.toMatchObject({
      code: 'ACCOUNT_NOT_ACTIVE',
      exitCode: 5,
      details: { accountNo: account, state },
    });
    expect(await active()).toHaveLength(4);
    expect(await rows('select id from operator_action')).toHaveLength(0);
  });

  test('an account that is active again is released for all its days, and it is recorded', async () => {
    await change(`update account set state = 'ACTIVE' where account_no = 'FRO<ZEN'`);
    await releaseAccount(db().database, 'FRO<ZEN', undefined, decision);
    expect(await active()).toEqual([
      ['2026-11-29', 'NOBODY'],
      ['2026-11-29', 'ODD'],
    ]);
    expect((await rows('select action, subject, by_name, reason from operator_action'))[0]).toMatchObject({
      action: 'QUARANTINE_RELEASE',
      subject: 'account FRO<ZEN, batch day 2026-11-28, 2026-11-29',
      by_name: 'alice',
      reason: 'unfrozen by compliance',
    });
    expect((await rows(`select released_by from quarantine where active is null`))[0]).toMatchObject({
      released_by: 'alice',
    });
  });

  test('one day can be released alone', async () => {
    await change(`update account set state = 'ACTIVE'`);
    await releaseAccount(db().database, 'FRO<ZEN', '2026-11-28', decision);
    expect(await active()).toContainEqual(['2026-11-29', 'FRO<ZEN']);
    expect(await active()).not.toContainEqual(['2026-11-28', 'FRO<ZEN']);
  });

  test('orders that the database refused are released whatever the account table says', async () => {
    expect(await releaseAccount(db().database, 'ODD', undefined, decision)).toHaveLength(1);
  });

  test('an account that is not set aside is not found, and neither is its name in another case', async () => {
    for (const account of ['M1', 'fro<zen']) {
      await expect(releaseAccount(db().database, account, undefined, decision)).rejects.toMatchObject({
        code: 'NOT_FOUND',
        exitCode: 2,
      });
    }
  });

  test('settle quarantine list prints the document that scripts read, and a table without control characters', async () => {
    const json = await settle(['quarantine', 'list', '--batch-day', '2026-11-29', '--json'], { url: db().url });
    const document = JSON.parse(json.stdout) as { schema: string; accounts: Record<string, unknown>[] };
    expect(document.schema).toBe('settle.quarantine');
    expect(document.accounts[0]).toMatchObject({
      accountNo: 'FRO<ZEN',
      batchDay: '2026-11-29',
      code: 'ACCOUNT_FROZEN',
      orders: 3,
      since: '2026-11-30T00:00:05.000Z',
    });
    const text = await settle(['quarantine', 'list'], { url: db().url });
    expect(text.stdout).toContain('Out of\\u{7}range');
    expect(text.stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test('settle quarantine release ends with 5, 2 and 0, and says what to type next', async () => {
    const release = (account: string) =>
      settle(['quarantine', 'release', account, '--by', 'alice', '--reason', 'ok'], { url: db().url });
    const refused = await release('NOBODY');
    expect(refused.code).toBe(5);
    expect(refused.stderr).toContain('settle import accounts FILE');
    expect((await release('M1')).code).toBe(2);
    expect(await release('ODD')).toMatchObject({ code: 0, stdout: 'Released ODD for 2026-11-29.\nNext: settle run\n' });
  });
});
