import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Cancellation } from '../src/kernel/cancellation.js';
import type { SettleError } from '../src/kernel/errors.js';
import { compareBytes } from '../src/kernel/ids.js';
import { count, importFiles, type FileOutcome } from '../src/orders/importFiles.js';
import { orderImport } from '../src/orders/importOrders.js';
import type { Database } from '../src/db/database.js';
import type { Transaction } from '../src/db/session.js';
import { repeatable, type Unit } from '../src/db/transaction.js';
import { createTestDatabase, onEachDatabase } from './support/databases.js';
import {
  forgetEverything,
  header,
  importAccounts,
  importOrders,
  orderLine,
  storedNets,
  storedOrders,
  withFile,
} from './support/importing.js';

interface Expected {
  file: string;
  shows: string;
  accepted: number;
  repeated: number;
  rejected: { line: number; code: string }[];
  netByAccountCurrency: Record<string, string>;
  totalByCurrency: Record<string, string>;
  netByDay?: Record<string, Record<string, string>>;
}

const folder = join(process.cwd(), 'fixtures', 'import');
const wholeFiles = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Expected[];
const csv = (...lines: string[]) => `${[header, ...lines].join('\n')}\n`;

onEachDatabase('importing orders', (given) => {
  const database = () => given().database;
  beforeEach(() => forgetEverything(database()));

  test.each(wholeFiles)('$file: $shows', async (expected) => {
    const outcome = await importOrders(database(), readFileSync(join(folder, expected.file)));
    expect(outcome).toMatchObject({ accepted: expected.accepted, repeated: expected.repeated, refused: null });
    expect(outcome.rejected.map(({ line, code }) => ({ line, code }))).toEqual(expected.rejected);
    expect(await storedNets(database(), ['account_no', 'currency'])).toEqual(expected.netByAccountCurrency);
    expect(await storedNets(database(), ['currency'])).toEqual(expected.totalByCurrency);
    if (expected.netByDay !== undefined) {
      const byDay = Object.entries(expected.netByDay).flatMap(([day, nets]) =>
        Object.entries(nets).map(([key, net]) => [`${day}|${key}`, net]),
      );
      expect(await storedNets(database(), ['batch_day', 'account_no', 'currency'])).toEqual(Object.fromEntries(byDay));
    }
  });

  test('a row arrives in its table as it was written, digit by digit', async () => {
    await importOrders(
      database(),
      csv(
        orderLine({ order_no: 'Ö-😀', amount: '90071992547409.93', occurred_at: '2026-11-29T23:59:59.1234567-08:00' }),
        orderLine({ order_no: 'R-1', type: 'ADJUSTMENT', amount: '-92233720368547758.07', account_no: '0042' }),
      ),
    );
    expect(await storedOrders(database())).toEqual([
      'Ö-😀|M1|2026-11-29|PAYMENT|9007199254740993|USD|CARD|2026-11-30T07:59:59.123456Z|null|INIT',
      'R-1|0042|2026-11-29|ADJUSTMENT|-9223372036854775807|USD|CARD|2026-11-29T10:00:00.000000Z|null|INIT',
    ]);
  });

  test('CSV and NDJSON of the same orders store the same, and one repeats the other', async () => {
    const keys = [...header.split(','), 'reversal_of'];
    const lines = [orderLine({ reversal_of: 'O-0' }), orderLine({ order_no: '"O,2"', reversal_of: '' })];
    const asCsv = `${keys.join(',')}\n${lines.join('\n')}\n`;
    const asNdjson = [orderLine({ reversal_of: 'O-0' }).split(','), ['O,2', ...orderLine().split(',').slice(1)]]
      .map((values) => JSON.stringify(Object.fromEntries(values.map((value, at) => [keys[at], value]))))
      .join('\n');
    const givenSettled = async (): Promise<void> => {
      await importOrders(database(), csv(orderLine({ order_no: 'O-0' })));
      await database().transact(
        repeatable('settled', (trx) =>
          trx.change(
            `update settlement_order set state = 'SUCCESS', run_id = 1, chunk_no = 1, finished_at = '2026-11-29 11:00:00.000'`,
          ),
        ),
      );
    };
    await givenSettled();
    expect(await importOrders(database(), asCsv)).toMatchObject({ accepted: 2 });
    const stored = await storedOrders(database());
    expect(await importOrders(database(), asNdjson)).toMatchObject({ accepted: 0, repeated: 2, rejectedCount: 0 });
    await forgetEverything(database());
    await givenSettled();
    expect(await importOrders(database(), asNdjson)).toMatchObject({ accepted: 2 });
    expect(await storedOrders(database())).toEqual(stored);
  });

  test('ids ascend in the order of the file, over many transactions', async () => {
    const lines = Array.from({ length: 4_500 }, (_, at) =>
      orderLine({ order_no: `O-${String((at * 7_919) % 4_500)}` }),
    );
    const units: number[] = [];
    const outcome = await importOrders(database(), csv(...lines), { afterUnit: (rows) => units.push(rows) });
    expect(outcome.accepted).toBe(4_500);
    expect(units).toEqual([2_000, 4_000, 4_500]);
    expect((await storedOrders(database())).map((row) => row.split('|')[0])).toEqual(
      lines.map((line) => line.split(',')[0]),
    );
  });

  test('the same file again changes nothing: every row is a repeat', async () => {
    const file = csv(...Array.from({ length: 50 }, (_, at) => orderLine({ order_no: `O-${String(at)}` })));
    await importOrders(database(), file);
    const stored = await storedOrders(database());
    expect(await importOrders(database(), file)).toMatchObject({ accepted: 0, repeated: 50, rejectedCount: 0 });
    expect(await storedOrders(database())).toEqual(stored);
  });

  test('half of the ids sent again, half of those with one changed field: the changed field is named, the first copy kept', async () => {
    const changes = {
      account_no: 'M9',
      batch_day: '2026-11-28',
      type: 'FEE',
      amount: '12.51',
      currency: 'EUR',
      channel: 'BANK',
      occurred_at: '2026-11-29T10:00:01Z',
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('absent', 'same', ...Object.keys(changes)), { minLength: 1, maxLength: 30 }),
        async (fates) => {
          await forgetEverything(database());
          await importOrders(database(), csv(...fates.map((_, at) => orderLine({ order_no: `O-${String(at)}` }))));
          const stored = await storedOrders(database());
          const again = fates.flatMap((fate, at) =>
            fate === 'absent'
              ? []
              : [
                  orderLine({
                    order_no: `O-${String(at)}`,
                    ...(fate === 'same' ? {} : { [fate]: changes[fate as 'amount'] }),
                  }),
                ],
          );
          const outcome = await importOrders(database(), csv(...again));
          const changed = fates.filter((fate) => fate in changes);
          expect(outcome).toMatchObject({ accepted: 0, repeated: fates.filter((fate) => fate === 'same').length });
          expect(outcome.rejected.map(({ code, message }) => [code, / with another (.*);/.exec(message)?.[1]])).toEqual(
            changed.map((field) => ['DUPLICATE_CONFLICT', field]),
          );
          expect(await storedOrders(database())).toEqual(stored);
        },
      ),
      { numRuns: 15 },
    );
  });

  test('a conflict names the line of the first copy, or the id under which it is stored', async () => {
    const inFile = await importOrders(database(), csv(orderLine(), '', orderLine({ amount: '1.00' })));
    expect(inFile.rejected[0]).toMatchObject({ line: 4, message: expect.stringContaining('in line 2') });
    const later = await importOrders(database(), csv(orderLine({ amount: '1.00' })));
    expect(later.rejected[0]?.message).toMatch(/stored with id \d+/);
  });

  test('ids that differ in case, accents, composition or digits are different orders and accounts', async () => {
    const ids = ['ACME-1', 'acme-1', 'Acmé-1', 'Acme\u0301-1', 'äbc', 'abc', '0', '00', '0.0', 'ß', 'ss', '１'];
    const outcome = await importOrders(
      database(),
      csv(...ids.map((id) => orderLine({ order_no: id, account_no: id }))),
    );
    expect(outcome).toMatchObject({ accepted: ids.length, rejectedCount: 0 });
    expect(Object.keys(await storedNets(database(), ['account_no'])).sort(compareBytes)).toEqual(
      [...ids].sort(compareBytes),
    );
  });

  test('ids with outer blanks or over 64 bytes are refused, never cut to another order', async () => {
    const long = 'x'.repeat(64);
    const outcome = await importOrders(
      database(),
      csv(...[long, `${long}1`, `${long}2`, ' a', 'a ', 'a\u00a0'].map((id) => orderLine({ order_no: id }))),
    );
    expect(outcome.accepted).toBe(1);
    expect(outcome.rejected.map(({ line, code }) => [line, code])).toEqual(
      [3, 4, 5, 6, 7].map((line) => [line, 'BAD_ORDER_NO']),
    );
  });

  test('refused rows keep their physical lines through quoted line ends, blank lines and CRLF; the good ones are stored', async () => {
    const outcome = await importOrders(
      database(),
      `\ufeff${header},note\r\n` +
        `${orderLine()},"one\r\ntwo"\r\n` + // lines 2 and 3
        '\r\n' +
        `${orderLine({ order_no: 'O-2', amount: '1.005' })},"a\n\nb"\n` + // lines 5 to 7
        `${orderLine({ order_no: 'O-3' })}\n` + // line 8: no note
        `${orderLine({ order_no: 'O-4', currency: 'usd' })},\r\n` +
        `${orderLine({ order_no: 'O-5' })},`,
    );
    expect(outcome.accepted).toBe(2);
    expect(outcome.rejected.map(({ line, code }) => [line, code])).toEqual([
      [5, 'TOO_MANY_DECIMALS'],
      [8, 'BAD_FIELD_COUNT'],
      [9, 'UNKNOWN_CURRENCY'],
    ]);
  });

  test('rows that a lone CR separates are rows of their own', async () => {
    const outcome = await importOrders(database(), [header, orderLine(), orderLine({ order_no: 'O-2' })].join('\r'));
    expect(outcome).toMatchObject({ accepted: 2, rejectedCount: 0 });
    const torn = await importOrders(database(), csv(orderLine({ order_no: 'O-3' }).replace('CARD', 'CA\rRD')));
    expect(torn.rejected.map(({ line, code }) => [line, code])).toEqual([
      [2, 'BAD_FIELD_COUNT'],
      [3, 'BAD_FIELD_COUNT'],
    ]);
  });

  test('columns go by name in any order; those not used are named once', async () => {
    const said: string[] = [];
    const names = [...header.split(',').reverse(), '__proto__', 'note'];
    const values = [...orderLine().split(',').reverse(), 'x', '=cmd()'];
    const outcome = await importOrders(database(), `${names.join(',')}\n${values.join(',')}\n`, { said });
    expect(outcome.accepted).toBe(1);
    expect(said).toEqual([expect.stringMatching(/columns that are not used: __proto__, note$/)]);
    expect(await storedNets(database(), ['account_no'])).toEqual({ M1: '1250' });
  });

  test('a file of nothing but faults is counted to the last row and listed up to a bound', async () => {
    const outcome = await importOrders(
      database(),
      csv(...Array.from({ length: 10_050 }, () => orderLine({ type: '?' }))),
    );
    expect([outcome.rejectedCount, outcome.rejected.length]).toEqual([10_050, 10_000]);
  });

  test('an unknown account is registered as ACTIVE with its first order; a known one is left as it is', async () => {
    await importAccounts(database(), 'account_no,status\nM2,FROZEN\n');
    await importOrders(database(), csv(orderLine(), orderLine({ order_no: 'O-2', account_no: 'M2' })));
    expect(await accounts()).toEqual({ M1: 'ACTIVE', M2: 'FROZEN' });
  });

  test('without automatic registration only the order is stored', async () => {
    expect(await importOrders(database(), csv(orderLine()), { autoRegister: false })).toMatchObject({ accepted: 1 });
    expect(await accounts()).toEqual({});
  });

  test('a refused row registers no account', async () => {
    await importOrders(database(), csv(orderLine({ amount: 'x' })));
    expect(await accounts()).toEqual({});
  });

  test('account files register, repeat and change; the later row of a file holds', async () => {
    const first = 'status,account_no\nACTIVE,M1\nFROZEN,M2\nASLEEP,M3\n';
    expect(await importAccounts(database(), first)).toMatchObject({
      accepted: 2,
      updated: 0,
      repeated: 0,
      rejected: [{ line: 4, code: 'BAD_STATUS' }],
    });
    const second =
      '{"account_no":"M1","status":"CLOSED"}\n{"account_no":"M2","status":"FROZEN"}\n{"account_no":"M4","status":"ACTIVE"}\n{"account_no":"M4","status":"FROZEN"}\n';
    expect(await importAccounts(database(), second)).toMatchObject({ accepted: 3, updated: 2, repeated: 1 });
    expect(await accounts()).toEqual({ M1: 'CLOSED', M2: 'FROZEN', M4: 'FROZEN' });
  });

  describe('a file whose structure is broken is refused whole', () => {
    const good = csv(orderLine());
    const late = (bytes: string | Buffer) =>
      Buffer.concat([
        Buffer.from(csv(...Array.from({ length: 3_000 }, (_, at) => orderLine({ order_no: `O-${String(at)}` })))),
        Buffer.from(bytes),
      ]);
    test.each<[string, string | Buffer, string, RegExp]>([
      ['no bytes', '', 'EMPTY_FILE', /no content/],
      ['only blank lines', '\n \r\n\n', 'EMPTY_FILE', /no content/],
      ['only a byte-order mark', '\ufeff', 'EMPTY_FILE', /no content/],
      ['a missing column', good.replace('amount,', ''), 'MISSING_COLUMN', /amount/],
      ['semicolons', good.replaceAll(',', ';'), 'MISSING_COLUMN', /comma-separated/],
      ['a column in other letters', good.replace('amount', 'Amount'), 'MISSING_COLUMN', /amount/],
      ['no header', orderLine(), 'MISSING_COLUMN', /order_no/],
      ['a doubled column', good.replace('channel', 'amount,channel'), 'DUPLICATE_COLUMN', /"amount"/],
      ['a doubled column of others', good.replace('channel', 'x,x,channel'), 'DUPLICATE_COLUMN', /"x"/],
      ['a JSON array', '[{"order_no":"1"}]', 'BROKEN_QUOTE', /line 1, column 3/],
      ['UTF-16 with its mark', Buffer.from(`\ufeff${good}`, 'utf16le'), 'NOT_UTF8', /line 1.*UTF-16/i],
      ['UTF-16 without a mark', Buffer.from(good, 'utf16le'), 'NOT_UTF8', /NUL/],
      ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0]), 'NOT_UTF8', /compressed/],
      ['Latin-1 in the last of 3,000 rows', late(Buffer.from('Caf\u00e9,\n', 'latin1')), 'NOT_UTF8', /Line 3002/],
      ['a cut character at the very end', late(Buffer.from([0x41, 0xe2, 0x82])), 'NOT_UTF8', /Line 3002/],
      ['an open quote in the last of 3,000 rows', late('"O-x,M1\n'), 'BROKEN_QUOTE', /line 3002, column 1/],
      ['a quote inside a field', late('O-x,M"1\n'), 'BROKEN_QUOTE', /line 3002, column 6/],
      ['a cell of 5 MB', late(`${'x'.repeat(5_000_000)},\n`), 'RECORD_TOO_LONG', /line 3002/],
      ['a line of 10 MB', Buffer.alloc(10_000_000, 'x'), 'RECORD_TOO_LONG', /line 1/],
      ['an NDJSON line of 10 MB', `{"a":1}\n{"order_no":"${'x'.repeat(10_000_000)}"}`, 'RECORD_TOO_LONG', /Line 2/],
      ['NDJSON that is not UTF-8', Buffer.from('{"a":1}\n{"order_no":"é"}', 'latin1'), 'NOT_UTF8', /Line 2/],
    ])('%s', async (_title, bytes, code, message) => {
      const outcome = await importOrders(database(), bytes);
      expect(outcome).toMatchObject({ accepted: 0, repeated: 0, rejectedCount: 0, refused: { code } });
      expect(outcome.refused?.message).toMatch(message);
      expect(await storedOrders(database())).toEqual([]);
      expect(await accounts()).toEqual({});
    });
  });

  test('a file that grows between its two passes is refused from there on', async () => {
    const rows = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => orderLine({ order_no: `O-${String(from + at)}` })).join('\n');
    await withFile(`${header}\n${rows(0, 6_000)}\n`, async (path) => {
      const [outcome] = await importFiles(orderImport(true), [path], {
        ...surroundings(),
        onProgress: (_file, done) => {
          if (done === 2_000) appendFileSync(path, `${rows(6_000, 6_010)}\n`);
        },
      });
      expect(outcome?.refused?.code).toBe('FILE_CHANGED');
      expect(outcome?.accepted).toBe((await storedOrders(database())).length);
      expect(await importFiles(orderImport(true), [path], surroundings())).toMatchObject([
        { refused: null, rejectedCount: 0 },
      ]);
      expect((await storedOrders(database())).length).toBe(6_010);
    });
  });

  test('a stop is obeyed between two transactions, says what is stored, and the same command continues', async () => {
    const file = csv(...Array.from({ length: 5_000 }, (_, at) => orderLine({ order_no: `O-${String(at)}` })));
    await withFile(file, async (path) => {
      const stop = new AbortController();
      const reason = new Cancellation('SIGTERM', 'The process received SIGTERM.');
      const said: string[] = [];
      const stopped = importFiles(orderImport(true), [path], {
        ...surroundings(),
        signal: stop.signal,
        say: (text) => said.push(text),
        onProgress: () => {
          stop.abort(reason);
        },
      });
      await expect(stopped).rejects.toBe(reason);
      expect(said.join()).toMatch(/2,000 rows .* are stored .*same command continues/);
      expect((await storedOrders(database())).length).toBe(2_000);
      expect(await importFiles(orderImport(true), [path], surroundings())).toMatchObject([
        { accepted: 3_000, repeated: 2_000 },
      ]);
    });
  });

  test('two imports of one file at the same time store each row once, and count it once', async () => {
    const file = csv(
      ...Array.from({ length: 6_000 }, (_, at) =>
        orderLine({ order_no: `O-${String(at)}`, account_no: `M${String(at % 700)}` }),
      ),
    );
    const outcomes = await Promise.all([importOrders(database(), file), importOrders(database(), file)]);
    expect(outcomes.map(({ accepted, repeated }) => accepted + repeated)).toEqual([6_000, 6_000]);
    expect(outcomes.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(6_000);
    expect((await storedOrders(database())).length).toBe(6_000);
    expect(Object.keys(await accounts()).length).toBe(700);
  });

  test('a unit whose COMMIT took effect, though the answer was lost, counts its rows as accepted', async () => {
    const answerLost = {
      transact: async <T>(unit: Unit<T>): Promise<T> => {
        await database().transact(unit);
        const outcome = await database().read((session) => unit.landed(session, false));
        if (outcome === undefined) throw new Error('not found again');
        return outcome;
      },
    } as Database;
    expect(await importOrders(answerLost, csv(orderLine(), orderLine()))).toMatchObject({ accepted: 1, repeated: 1 });
  });

  test('a unit whose COMMIT did not take effect is not taken for done when somebody stored a part of it', async () => {
    let found: unknown = 'not asked';
    const commitLost = {
      transact: async <T>(unit: Unit<T>): Promise<T> => {
        const undone = new Error('rolled back');
        await database()
          .transact({ ...unit, work: async (trx) => Promise.reject(await unit.work(trx).then(() => undone)) })
          .catch((error: unknown) => {
            if (error !== undone) throw error;
          });
        await importOrders(database(), csv(orderLine()));
        found = await database().read((session) => unit.landed(session, false));
        return database().transact(unit);
      },
    } as Database;
    const outcome = await importOrders(commitLost, csv(orderLine(), orderLine({ order_no: 'O-2' })));
    expect(found).toBeUndefined();
    expect(outcome).toMatchObject({ accepted: 1, repeated: 1 });
  });

  function surroundings() {
    return {
      database: database(),
      clock: { now: () => new Date('2026-11-30T01:00:00Z') },
      standardInput: Readable.from([]),
      signal: new AbortController().signal,
      say: () => undefined,
      onProgress: () => undefined,
    };
  }

  async function accounts(): Promise<Record<string, string>> {
    const tuples = await database().read((session) => session.tuples('select account_no, state from account'));
    return Object.fromEntries(tuples.map(([accountNo, state]) => [String(accountNo), String(state)]));
  }
});

test('a full disk ends it with what is stored; with space again, the same command completes it', async () => {
  const small = await createTestDatabase('sqlite');
  const { database } = small;
  try {
    const limit = (pages: string) => database.read((session) => session.rows(`pragma max_page_count = ${pages}`));
    const [size] = await database.read((session) => session.tuples('pragma page_count'));
    await limit(String(Number(size?.[0]) + 200));
    const file = csv(...Array.from({ length: 12_000 }, (_, at) => orderLine({ order_no: `O-${String(at)}` })));
    const failure: unknown = await importOrders(database, file).catch((error: unknown) => error);
    const stored = (await storedOrders(database)).length;
    expect(stored).toBeGreaterThan(0);
    expect(failure).toMatchObject({ code: 'DISK_FULL', exitCode: 75, details: { accepted: stored } });
    expect((failure as SettleError).message).toContain(`${count(stored)} rows of`);
    expect((failure as SettleError).next).toMatch(/Free space .* The same command continues/);
    await limit('1000000');
    expect(await importOrders(database, file)).toMatchObject({ accepted: 12_000 - stored, repeated: stored });
  } finally {
    await small.drop();
  }
});

test('an order and an account that another importer commits between look-up and insert are looked up again', async () => {
  const server = await createTestDatabase('server');
  try {
    let other: Promise<FileOutcome> | undefined;
    const overtaken = {
      transact: <T>(unit: Unit<T>): Promise<T> =>
        server.database.transact({
          ...unit,
          work: (trx) => {
            const insertMany = async (...rows: Parameters<Transaction['insertMany']>): Promise<number> => {
              await (other ??= importOrders(
                server.database,
                csv(orderLine(), orderLine({ order_no: 'O-2', amount: '9.99' })),
              ));
              return trx.insertMany(...rows);
            };
            return unit.work(
              new Proxy(trx, { get: (of, key) => (key === 'insertMany' ? insertMany : methodOf(of, key)) }),
            );
          },
        }),
    } as Database;
    const outcome = await importOrders(
      overtaken,
      csv(orderLine(), orderLine({ order_no: 'O-2' }), orderLine({ order_no: 'O-3' })),
    );
    expect(await other).toMatchObject({ accepted: 2 });
    expect(outcome).toMatchObject({ accepted: 1, repeated: 1, rejected: [{ line: 3, code: 'DUPLICATE_CONFLICT' }] });
    expect((await storedOrders(server.database)).length).toBe(3);
  } finally {
    await server.drop();
  }
});

function methodOf(of: Transaction, key: string | symbol): unknown {
  const member: unknown = Reflect.get(of, key);
  return typeof member === 'function' ? (...given: unknown[]): unknown => Reflect.apply(member, of, given) : member;
}
