import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { exitCodes } from '../../src/kernel/errors.js';
import { FileChannel, fileRules } from '../../src/payouts/channels/file.js';
import { PaymentFolder } from '../../src/payouts/channels/paymentFolder.js';
import { fileWith } from '../../src/payouts/paymentFiles.js';
import { reviewPayout } from '../../src/payouts/review.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { readPaymentFile } from '../support/pain001Rules.js';
import { alerts, check, payoutBalances, payoutLines, plan, submit } from '../support/payouts.js';

type Moment = 'before it is prepared' | 'when it is prepared' | 'before it is published' | 'when it is published';

/** A folder whose writer dies at a moment, once. */
class MortalFolder extends PaymentFolder {
  diesAt: Moment | null = null;
  override async prepare(...given: Parameters<PaymentFolder['prepare']>): Promise<void> {
    this.die('before it is prepared');
    await super.prepare(...given);
    this.die('when it is prepared');
  }
  override async publish(...given: Parameters<PaymentFolder['publish']>): Promise<void> {
    this.die('before it is published');
    await super.publish(...given);
    this.die('when it is published');
  }
  private die(moment: Moment): void {
    if (this.diesAt !== moment) return;
    this.diesAt = null;
    throw new Error('killed');
  }
}

describe.each(databaseKinds)('payouts in files [%s]', (kind) => {
  let place: TestDatabase;
  let dir: string;
  let folder: MortalFolder;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'settle-files-'));
    folder = new MortalFolder(dir);
    place = await createTestDatabase(kind);
    await givenOrders(
      place.database,
      ['A1', 'A2', 'A3', 'A4', 'A5'].map((accountNo, at) => ({
        orderNo: `O${accountNo}`,
        accountNo,
        minor: 100 + at,
        currency: 'EUR',
      })),
    );
    expect((await runDay(place.database)).exitCode).toBe(exitCodes.OK);
  });
  afterEach(async () => {
    await place.drop();
    rmSync(dir, { recursive: true });
  });

  const bank = (paymentsPerFile = 10): FileChannel =>
    new FileChannel(
      'bank',
      { ...fileRules, checkAfterMs: [0], checks: 3, currencies: null, maximum: new Map() },
      {
        debtor: { name: 'Payment Company', iban: 'DE89370400440532013000', bic: null },
        paymentsPerFile,
        namespace: 'test',
        executionDay: () => '2026-11-30',
      },
      folder,
      (key) => place.database.read((session) => fileWith(session, 'bank', key)),
    );
  const planned = (destinations: Record<string, string> = {}): Promise<unknown> =>
    plan(place.database, {
      routesOf: () =>
        Promise.resolve((accountNo) => ({
          channel: 'bank',
          destination: destinations[accountNo] ?? 'GB82 WEST 1234 5698 7654 32',
          holder: 'Anna Ott',
          maximumMinor: null,
        })),
    });
  const files = (): string[] => readdirSync(dir).sort();
  /** The bank fetches what is there, and takes it away; as a poller does, it passes over names with a dot. */
  const fetched = (into: string[]): void => {
    for (const name of files().filter((one) => !one.startsWith('.'))) {
      into.push(readFileSync(join(dir, name), 'utf8'));
      rmSync(join(dir, name));
    }
  };
  const keysOf = (xml: string): string[] =>
    readPaymentFile(xml)
      .texts.filter(({ path }) => path.endsWith('/EndToEndId'))
      .map(({ text }) => text);
  const keys = async (): Promise<string[]> =>
    (await place.database.read((session) => session.tuples('select idempotency_key from payout order by id'))).map(
      ([key]) => String(key),
    );
  /** The leases of dead processes are over. */
  const timePasses = async (): Promise<void> => {
    await place.database.transact(
      repeatable('time passes', async (trx) => {
        await trx.change('update payment_file set lease_ms = 0');
        await trx.change(`update payout set next_ms = 0 where state = 'PROCESSING'`);
      }),
    );
  };

  test('what is due is one file, for its owner only, and its payouts are UNKNOWN until the bank says more', async () => {
    await planned();
    expect(await submit(place.database, bank())).toMatchObject({ asked: 5, held: 0 });
    const [name = '', ...more] = files();
    expect(more).toEqual([]);
    expect(name).toMatch(/^P20261130-000001-[0-9a-f]{8}\.xml$/);
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    const xml = readFileSync(join(dir, name), 'utf8');
    expect(readPaymentFile(xml).faults).toEqual([]);
    expect(keysOf(xml)).toEqual(await keys());
    expect(await payoutLines(place.database)).toEqual(
      [0, 1, 2, 3, 4].map((at) => `A${String(at + 1)} EUR ${String(100 + at)} UNKNOWN`),
    );
    expect(await payoutBalances(place.database)).toContain('PAYOUT_IN_TRANSIT A5 -104');
    expect(await submit(place.database, bank())).toMatchObject({ asked: 0 });
    expect(files()).toEqual([name]);
  });

  test('files hold as many payments as the bank takes, and have numbers of their own', async () => {
    await planned();
    await submit(place.database, bank(2));
    const written = files().map((name) => readFileSync(join(dir, name), 'utf8'));
    expect(files().map((name) => name.slice(10, 16))).toEqual(['000001', '000002', '000003']);
    expect(written.flatMap(keysOf)).toEqual(await keys());
  });

  test('several that write at once put each payout into one file', async () => {
    await planned();
    await Promise.all([
      submit(place.database, bank(1)),
      submit(place.database, bank(1)),
      submit(place.database, bank(1)),
    ]);
    const written = files().map((name) => readFileSync(join(dir, name), 'utf8'));
    expect(written.flatMap(keysOf).sort()).toEqual((await keys()).sort());
    expect(files().filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('a payout that no file can carry is refused, and payable again', async () => {
    await planned({ A2: 'wallet-7' });
    expect(await submit(place.database, bank())).toMatchObject({ asked: 5 });
    expect(await payoutLines(place.database)).toContain('A2 EUR 101 FAILED');
    expect((await payoutBalances(place.database)).filter((line) => line.includes(' A2 '))).toEqual([]);
    expect(keysOf(readFileSync(join(dir, files()[0] ?? ''), 'utf8'))).toHaveLength(4);
  });

  describe.each<Moment>([
    'before it is prepared',
    'when it is prepared',
    'before it is published',
    'when it is published',
  ])('a writer that dies %s', (moment) => {
    test.each(['settle payout run', 'settle payout check'])(
      'leaves the file to %s: once, and the same',
      async (next) => {
        await planned();
        folder.diesAt = moment;
        await expect(submit(place.database, bank())).rejects.toThrow('killed');
        const taken: string[] = [];
        fetched(taken);
        // Until its lease is over, the file is its writer's.
        await submit(place.database, bank());
        fetched(taken);
        expect(taken).toHaveLength(moment === 'when it is published' ? 1 : 0);
        await timePasses();
        await (next === 'settle payout run' ? submit : check)(place.database, bank());
        fetched(taken);
        await timePasses();
        await submit(place.database, bank());
        fetched(taken);
        expect(taken).toHaveLength(1);
        expect(taken.flatMap(keysOf)).toEqual(await keys());
        expect((await payoutLines(place.database)).every((line) => line.endsWith(' UNKNOWN'))).toBe(true);
        const state = 'select turn, written_at from payment_file';
        const [row] = await place.database.read((session) => session.tuples(state));
        expect(row?.[1]).not.toBeNull();
      },
    );
  });

  test('a writer that was overtaken publishes nothing', async () => {
    await planned();
    const slow = bank();
    const taken: string[] = [];
    const prepare = folder.prepare.bind(folder);
    folder.prepare = async (...given) => {
      folder.prepare = prepare;
      await timePasses();
      await submit(place.database, bank());
      fetched(taken);
      await prepare(...given);
    };
    await submit(place.database, slow);
    fetched(taken);
    expect(taken).toHaveLength(1);
    expect(files()).toEqual([]);
  });

  test('another file under its name is left alone, and said', async () => {
    await planned();
    folder.diesAt = 'before it is published';
    await expect(submit(place.database, bank())).rejects.toThrow('killed');
    const name = (files()[0] ?? '').slice(1, -2);
    writeFileSync(join(dir, name), 'not ours');
    await timePasses();
    await expect(submit(place.database, bank())).rejects.toMatchObject({ code: 'PAYMENT_FILE_DIFFERS', exitCode: 4 });
    expect(readFileSync(join(dir, name), 'utf8')).toBe('not ours');
    rmSync(join(dir, name));
    await timePasses();
    await submit(place.database, bank());
    expect(keysOf(readFileSync(join(dir, name), 'utf8'))).toEqual(await keys());
  });

  test('a folder that cannot be written to is said, and the file written once it can be', async () => {
    await planned();
    writeFileSync(join(dir, 'no-folder'), '');
    folder = new MortalFolder(join(dir, 'no-folder'));
    await expect(submit(place.database, bank())).rejects.toMatchObject({ code: 'FILE_NOT_WRITABLE' });
    rmSync(join(dir, 'no-folder'));
    await timePasses();
    await submit(place.database, bank());
    expect(readdirSync(join(dir, 'no-folder'))).toHaveLength(1);
  });

  test('without a word of the bank a person decides; what was in a file never goes into another', async () => {
    await planned();
    await submit(place.database, bank());
    for (let round = 0; round < 3; round += 1) await check(place.database, bank());
    expect((await payoutLines(place.database)).every((line) => line.endsWith(' MANUAL'))).toBe(true);
    expect(await alerts(place.database)).toHaveLength(5);
    expect((await alerts(place.database)).join()).not.toContain('GB82');
    const said = { by: 'alice', reason: 'the bank lost it', at: '2026-12-08T09:00:00.000Z' };
    const rules = { secondPersonAbove: new Map<string, bigint>(), rulesOf: () => fileRules };
    await expect(reviewPayout(place.database, 1n, 'RETRY', said, rules)).rejects.toMatchObject({
      code: 'PAYOUT_KEY_EXPIRED',
    });
    await reviewPayout(place.database, 1n, 'REJECT', said, rules);
    await submit(place.database, bank());
    expect(files()).toHaveLength(1);
  });
});
