import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { accountImport } from '../../src/orders/accountsImport.js';
import { importFiles, type FileOutcome, type ImportKind } from '../../src/orders/importFiles.js';
import { orderImport } from '../../src/orders/importOrders.js';
import { sumIn, exactSum, toText } from '../../src/db/values.js';
import type { Database } from '../../src/db/database.js';
import { feePlanImport } from '../../src/terms/feePlansImport.js';
import { termsImport } from '../../src/terms/termsImport.js';

export const header = 'order_no,account_no,batch_day,type,amount,currency,channel,occurred_at';

/** A valid row; what matters in a test is given. */
export function orderLine(given: Partial<Record<string, string>> = {}): string {
  const row = {
    order_no: 'O-1',
    account_no: 'M1',
    batch_day: '2026-11-29',
    type: 'PAYMENT',
    amount: '12.50',
    currency: 'USD',
    channel: 'CARD',
    occurred_at: '2026-11-29T10:00:00Z',
    ...given,
  };
  return Object.values(row).join(',');
}

/** Writes bytes to a file for as long as `work` takes. */
export async function withFile<T>(bytes: string | Uint8Array, work: (path: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'settle-import-test-'));
  try {
    const path = join(folder, 'input');
    writeFileSync(path, bytes);
    return await work(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Given {
  autoRegister?: boolean;
  /** Called after each transaction. */
  afterUnit?: (rows: number) => void;
  said?: string[];
}

export function importOrders(database: Database, bytes: string | Uint8Array, given: Given = {}): Promise<FileOutcome> {
  return importBytes(database, bytes, orderImport(given.autoRegister ?? true), given);
}

export function importAccounts(
  database: Database,
  bytes: string | Uint8Array,
  given: Given = {},
): Promise<FileOutcome> {
  return importBytes(database, bytes, accountImport, given);
}

export function importFeePlans(database: Database, bytes: string): Promise<FileOutcome> {
  return importBytes(database, bytes, feePlanImport, {});
}

export function importTerms(database: Database, bytes: string): Promise<FileOutcome> {
  return importBytes(database, bytes, termsImport, {});
}

async function importBytes<Row extends object>(
  database: Database,
  bytes: string | Uint8Array,
  kind: ImportKind<Row>,
  given: Given,
): Promise<FileOutcome> {
  return withFile(bytes, async (path) => {
    const [outcome] = await importFiles(kind, [path], {
      database,
      clock: { now: () => new Date('2026-11-30T01:00:00Z') },
      standardInput: Readable.from([]),
      signal: new AbortController().signal,
      say: (text) => given.said?.push(text),
      onProgress: (_file, rows) => given.afterUnit?.(rows),
    });
    return outcome as FileOutcome;
  });
}

/** Every stored order, in the order of ids, without the ids. */
export async function storedOrders(database: Database): Promise<string[]> {
  const tuples = await database.read((session) =>
    session.tuples(
      `select order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at, reversal_of, state
         from settlement_order order by id`,
    ),
  );
  return tuples.map((tuple) =>
    tuple
      .map((value) => String(value))
      .join('|')
      .replace(/(\d\d) (\d\d:\d\d:\d\d\.\d{6})/, '$1T$2Z'),
  );
}

export async function forgetEverything(database: Database): Promise<void> {
  for (const table of ['settlement_order', 'account']) {
    await database.read((session) => session.change(`delete from ${table}`));
  }
}

/** Signed sum of the stored orders by `by` (columns), keyed "A1|USD", computed by the database. */
export async function storedNets(database: Database, by: readonly string[]): Promise<Record<string, string>> {
  const signed = `case when type in ('REFUND', 'FEE') then -amount_minor else amount_minor end`;
  const rows = await database.read((session) =>
    session.rows(
      `select ${by.join(', ')}, ${exactSum(session.dialect, signed, 'net')}
         from settlement_order group by ${by.join(', ')}`,
    ),
  );
  return Object.fromEntries(
    rows.map((row) => [by.map((column) => toText(row[column])).join('|'), String(sumIn(row, 'net'))]),
  );
}
