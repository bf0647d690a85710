import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { archiveLimits, bytesOf, openStatementFile, type ArchiveLimits } from '../../src/statements/archive.js';
import { isCompanion, providerFormats } from '../../src/statements/providers/index.js';
import { StatementRefusal } from '../../src/statements/refusal.js';
import { noSettings } from '../support/statements.js';
import { zipOf } from '../support/zip.js';

let folder = '';
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'settle-archive-'))));
afterAll(async () => rm(folder, { recursive: true }));

/** Name and bytes of each file in it, read twice to see that it can be; or the code of the refusal. */
async function opened(bytes: Buffer, limits: ArchiveLimits = archiveLimits): Promise<[string, string][] | string> {
  const path = join(folder, 'file');
  await writeFile(path, bytes);
  const handle = await open(path);
  try {
    const { sources, close } = await openStatementFile(await bytesOf(handle), 'bills.zip', limits);
    try {
      const found: [string, string][] = [];
      for (const source of sources) {
        const chunks: Buffer[] = [];
        for await (const chunk of source.chunks()) chunks.push(chunk);
        const again: Buffer[] = [];
        for await (const chunk of source.chunks()) again.push(chunk);
        expect(Buffer.concat(again).equals(Buffer.concat(chunks))).toBe(true);
        found.push([source.name, Buffer.concat(chunks).toString()]);
      }
      return found;
    } finally {
      close();
    }
  } catch (error) {
    if (error instanceof StatementRefusal) return error.code;
    throw error;
  } finally {
    await handle.close();
  }
}

const hello = Buffer.from('hello');

test('a plain file, a gzip of several parts and a zip are told apart by their bytes', async () => {
  expect(await opened(hello)).toEqual([['bills.zip', 'hello']]);
  expect(await opened(Buffer.concat([gzipSync(hello), gzipSync('!')]))).toEqual([['bills.zip', 'hello!']]);
  const zip = zipOf([
    { name: 'a.csv', data: hello },
    { name: 'days/', data: Buffer.alloc(0), method: 0 },
    { name: 'days/b.csv', data: Buffer.from('world'), method: 0 },
  ]);
  expect(await opened(zip)).toEqual([
    ['bills.zip/a.csv', 'hello'],
    ['bills.zip/days/b.csv', 'world'],
  ]);
});

test('the zip of Alipay: names in GBK without a flag, a bill and its summary', async () => {
  const bill = await readFile('fixtures/statements/providers/alipay-trade.csv');
  const summary = await readFile('fixtures/statements/providers/alipay-trade-summary.csv');
  // 业务明细.csv and 业务明细(汇总).csv in GBK.
  const detailName = Buffer.from([0xd2, 0xb5, 0xce, 0xf1, 0xc3, 0xf7, 0xcf, 0xb8, 0x2e, 0x63, 0x73, 0x76]);
  const summaryName = Buffer.concat([detailName.subarray(0, 8), Buffer.from('(x).csv')]);
  await writeFile(
    join(folder, 'alipay.zip'),
    zipOf([
      { name: detailName, data: bill },
      { name: summaryName, data: summary },
    ]),
  );
  const handle = await open(join(folder, 'alipay.zip'));
  const { sources, close } = await openStatementFile(await bytesOf(handle), 'alipay.zip');
  expect(sources.map(({ name }) => name)).toEqual(['alipay.zip/业务明细.csv', 'alipay.zip/业务明细(x).csv']);
  const heads = [bill, summary];
  expect(heads.map((head) => isCompanion(head))).toEqual([false, true]);
  const format = providerFormats.find(({ sniff }) => sniff(bill));
  const [detail] = sources;
  if (format === undefined || detail === undefined) throw new Error('There is no bill in it.');
  let lines = 0;
  for await (const event of format.read(detail, noSettings)) if (event.kind === 'line') lines += 1;
  expect([format.name, lines]).toEqual(['alipay-trade', 3]);
  close();
  await handle.close();
});

describe('an archive that cannot be trusted is refused', () => {
  const one = (entry: object): Buffer => zipOf([{ name: 'a.csv', data: hello, ...entry }]);
  const zeros = Buffer.alloc(3 * 1024 * 1024);
  const small = { ...archiveLimits, bytes: 8, entries: 2 };

  test.each([
    ['an empty file', Buffer.alloc(0), 'EMPTY_FILE'],
    ['an empty zip', zipOf([]), 'EMPTY_FILE'],
    ['a name that leads up', one({ name: '../a.csv' }), 'BAD_ARCHIVE'],
    ['a name that leads up in the middle', one({ name: 'x/../../a.csv' }), 'BAD_ARCHIVE'],
    ['a name from the root', one({ name: '/etc/passwd' }), 'BAD_ARCHIVE'],
    ['a name of Windows', one({ name: 'C:\\a.csv' }), 'BAD_ARCHIVE'],
    ['a name with a backslash', one({ name: '..\\a.csv' }), 'BAD_ARCHIVE'],
    ['a name with a NUL', one({ name: 'a\0.csv' }), 'BAD_ARCHIVE'],
    ['a name that is no text', one({ name: Buffer.from([0xff, 0xff]) }), 'BAD_ARCHIVE'],
    [
      'a name twice',
      zipOf([
        { name: 'a', data: hello },
        { name: 'a', data: hello },
      ]),
      'BAD_ARCHIVE',
    ],
    ['a link', one({ mode: 0o120_777 }), 'BAD_ARCHIVE'],
    ['an encrypted file', one({ flags: 1 }), 'BAD_ARCHIVE'],
    ['an unknown packing', one({ method: 14 }), 'BAD_ARCHIVE'],
    ['a zip in a zip', one({ data: zipOf([{ name: 'b', data: hello }]) }), 'BAD_ARCHIVE'],
    ['a gzip in a zip', one({ data: gzipSync(hello) }), 'BAD_ARCHIVE'],
    ['a gzip in a gzip', gzipSync(gzipSync(hello)), 'BAD_ARCHIVE'],
    ['a wrong checksum', one({ crc: 1 }), 'BAD_ARCHIVE'],
    ['a size that is too small', one({ size: 2 }), 'BAD_ARCHIVE'],
    ['a size that is too large', one({ size: 50 }), 'BAD_ARCHIVE'],
    ['a zip that is cut', one({}).subarray(0, 40), 'BAD_ARCHIVE'],
    ['a gzip that is cut', gzipSync(hello).subarray(0, 20), 'BAD_ARCHIVE'],
    ['a zip bomb', one({ data: zeros }), 'FILE_TOO_LARGE'],
    ['a zip bomb that lies', one({ data: zeros, size: 5 }), 'BAD_ARCHIVE'],
    ['a gzip bomb', gzipSync(zeros), 'FILE_TOO_LARGE'],
    ['a workbook', zipOf([{ name: '[Content_Types].xml', data: hello }]), 'NOT_A_STATEMENT'],
    ['another packing', Buffer.from('BZh91AY'), 'BAD_ARCHIVE'],
  ])('%s', async (_what, bytes, code) => {
    expect(await opened(bytes)).toBe(code);
  });

  test('more files or bytes than are allowed', async () => {
    expect(await opened(zipOf(['a', 'b', 'c'].map((name) => ({ name, data: hello }))), small)).toBe('BAD_ARCHIVE');
    expect(await opened(zipOf(['a', 'b'].map((name) => ({ name, data: hello }))), small)).toBe('FILE_TOO_LARGE');
    expect(await opened(gzipSync('hello, world'), small)).toBe('FILE_TOO_LARGE');
  });

  test('no byte that is changed in it goes unnoticed', async () => {
    const zip = one({ data: Buffer.from('a,b\n'.repeat(40)), method: 0 });
    for (let at = 30; at < 30 + 5 + 160; at += 1) {
      const bad = Buffer.from(zip);
      bad[at] = (bad[at] ?? 0) ^ 0x01;
      const found = await opened(bad);
      // In front of the data stands the name once more, which nobody reads there.
      if (at >= 35) expect(found).toBe('BAD_ARCHIVE');
    }
  });
});
