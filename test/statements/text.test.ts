import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { headText, textBlocks, type Encoding } from '../../src/statements/encoding.js';
import { placeOf, RecordReader, type Dialect, type TextRecord } from '../../src/statements/records.js';
import { StatementRefusal } from '../../src/statements/refusal.js';
import { atOffset, inZone } from '../../src/statements/times.js';
import { sourceOf } from '../support/statements.js';

async function textOf(bytes: Buffer, own: Encoding, chunk = 3): Promise<string> {
  let text = '';
  try {
    for await (const block of textBlocks(sourceOf(bytes, chunk), own)) {
      expect(block.line).toBe(text.split('\n').length);
      text += block.text;
    }
    return text;
  } catch (error) {
    if (error instanceof StatementRefusal) return `${error.code} ${String(error.line)}:${String(error.column)}`;
    throw error;
  }
}

const utf16 = (text: string, isBig = false): Buffer => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return isBig ? bytes.swap16() : bytes;
};

describe('the encoding of a file', () => {
  const text = 'é,ü\n支付宝,1\n😀\n';
  test.each([
    ['UTF-8', Buffer.from(text), 'utf-8', text],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${text}`), 'gb18030', text],
    ['UTF-8 where GB18030 is usual', Buffer.from(text), 'gb18030', text],
    ['UTF-16LE with a mark', utf16(text), 'utf-8', text],
    ['UTF-16BE with a mark', utf16(text, true), 'gb18030', text],
    ['a line feed as half of a character of UTF-16', utf16('\u0a0a\u000a\u010a'), 'utf-8', '\u0a0a\u000a\u010a'],
    ['GB18030', Buffer.from([0xd6, 0xa7, 0xb8, 0xb6, 10, 0x81, 0x30, 0x81, 0x30]), 'gb18030', '支付\n\u0080'],
    ['windows-1252', Buffer.from([0x80, 0x31, 10, 0xe9, 0x9f]), 'windows-1252', '€1\néŸ'],
    ['windows-1250', Buffer.from([0xe8, 0xf8, 0x80]), 'windows-1250', 'čř€'],
    ['an unassigned byte of windows-1252', Buffer.from([0x41, 10, 0x41, 0x81]), 'windows-1252', 'BAD_ENCODING 2:2'],
    ['half a character of UTF-8', Buffer.from([0x41, 10, 0xe6, 0x94]), 'utf-8', 'BAD_ENCODING 2:1'],
    ['a long form of UTF-8', Buffer.from([0x41, 0xc0, 0xaf]), 'utf-8', 'BAD_ENCODING 1:2'],
    ['half of a pair in UTF-16', Buffer.concat([utf16('a\n'), Buffer.from([0x00, 0xd8])]), 'utf-8', 'BAD_ENCODING 2:1'],
    ['an odd byte in UTF-16', Buffer.concat([utf16('a\n'), Buffer.from([0x41])]), 'utf-8', 'BAD_ENCODING 2:1'],
    ['a replacement character', Buffer.from('a\nb\ufffd'), 'utf-8', 'BAD_ENCODING 2:2'],
    ['a NUL', Buffer.from('a\0'), 'utf-8', 'BAD_ENCODING 1:2'],
    ['a mark and nothing more', Buffer.from('\ufeff'), 'utf-8', 'EMPTY_FILE null:null'],
    ['nothing', Buffer.alloc(0), 'utf-8', 'EMPTY_FILE null:null'],
    ['two bytes of a mark', Buffer.from([0xef, 0xbb]), 'utf-8', 'BAD_ENCODING 1:1'],
  ] as const)('%s', async (_what, bytes, own, expected) => {
    for (const chunk of [1, 2, 3, 100]) expect(await textOf(bytes, own, chunk)).toBe(expected);
  });

  test('is that of the start, of which the last character may be cut', () => {
    expect(headText(Buffer.from('支付').subarray(0, 5))).toBe('支');
    expect(headText(Buffer.from([0xd6, 0xa7, 0xb8]), 'gb18030')).toBe('支');
    expect(headText(Buffer.from([0xff, 0x41]))).toBe(null);
  });

  test('text comes out as it went in, however the file is cut into chunks', async () => {
    const line = fc.string({ unit: 'binary' }).filter((one) => !/[\0\uFFFD]/.test(one) && !/^\ufeff/.test(one));
    await fc.assert(
      fc.asyncProperty(line, fc.integer({ min: 1, max: 9 }), fc.boolean(), async (written, chunk, isWide) => {
        fc.pre(written !== '');
        expect(await textOf(isWide ? utf16(written) : Buffer.from(written), 'utf-8', chunk)).toBe(written);
      }),
      { numRuns: 200 },
    );
  });
});

const comma: Dialect = { separator: ',', quotes: 'strict' };

function recordsOf(text: string, dialect: Dialect, cuts: readonly number[] = []): TextRecord[] {
  const reader = new RecordReader(dialect);
  const records: TextRecord[] = [];
  const lines = text.split(/(?<=\n)/);
  let line = 1;
  for (let at = 0; at < lines.length;) {
    const take = 1 + (cuts[at % (cuts.length || 1)] ?? 0);
    const block = lines.slice(at, at + take);
    records.push(...reader.read({ text: block.join(''), line }));
    line += block.length;
    at += take;
  }
  records.push(...reader.end());
  return records;
}

describe('records', () => {
  const cell = fc.oneof(
    fc.constantFrom('', '"', '""', ',', '\n', '\r\n', 'a', ' b ', '支'),
    fc.string({ maxLength: 5 }),
  );
  const tidy = (value: string): string => value.replaceAll(/\r(?!\n)/g, '');
  const quoted = (value: string): string => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

  test('are those that the CSV library finds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(cell.map(tidy), { minLength: 1, maxLength: 4 }), { maxLength: 6 }),
        fc.constantFrom('\n', '\r\n'),
        fc.array(fc.nat(3), { maxLength: 4 }),
        (rows, end, cuts) => {
          const text = rows.map((row) => row.map(quoted).join(',') + end).join('');
          const expected = parse(text, { relax_column_count: true, record_delimiter: ['\r\n', '\n'] });
          const isBlank = (row: string[]): boolean => row.map(quoted).join(',').trim() === '';
          const found = recordsOf(text, comma, cuts).map(({ fields }) => fields);
          expect(found).toEqual(expected.filter((row) => !isBlank(row)));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('know the line and column of each field', () => {
    const records = recordsOf('a,"b\nc",d\n\n"e""",f\n', comma);
    const placesIn = (at: number, fields: readonly number[]): unknown[] =>
      fields.map((field) => placeOf(records[at] ?? { line: 0, raw: '', fields: [] }, field, comma));
    expect(placesIn(0, [0, 1, 2])).toEqual([
      [1, 1],
      [1, 3],
      [2, 4],
    ]);
    expect(placesIn(1, [0, 1])).toEqual([
      [4, 1],
      [4, 7],
    ]);
    expect(records[1]?.fields).toEqual(['e"', 'f']);
  });

  test.each([
    ['a,"b\nc', 'BROKEN_QUOTE 1:3'],
    ['x\na,"b"c\n', 'BROKEN_QUOTE 2:6'],
    ['a,b"c"\n', 'BROKEN_QUOTE 1:4'],
    ['a\rb\n', 'BAD_RECORD 1:2'],
  ])('%j is refused', (text, expected) => {
    expect(() => recordsOf(text, comma)).toThrow(StatementRefusal);
    try {
      recordsOf(text, comma);
    } catch (error) {
      const { code, line, column } = error as StatementRefusal;
      expect(`${code} ${String(line)}:${String(column)}`).toBe(expected);
    }
  });

  test('a quote that is never closed is refused soon, and quickly', () => {
    const reader = new RecordReader(comma);
    const block = '\n'.repeat(64 * 1024);
    const started = Date.now();
    expect(() => {
      [...reader.read({ text: `a,"${block}`, line: 1 })].length.toString();
      for (let line = 65_537; ; line += 65_536) [...reader.read({ text: block, line })].length.toString();
    }).toThrow('longer than 1 MiB');
    expect(Date.now() - started).toBeLessThan(5_000);
  });
});

describe('local times', () => {
  const formats = new Map<string, Intl.DateTimeFormat>();
  const shownIn = (timeZone: string, instant: Date): string => {
    const options = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
    const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', options);
    formats.set(timeZone, format);
    return format.format(instant);
  };

  test('at an offset and in a zone name the same instant', () => {
    const days = fc.integer({ min: Date.UTC(2010, 0, 1) / 1000, max: Date.UTC(2037, 0, 1) / 1000 });
    const zones = fc.constantFrom(
      'Europe/Berlin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Pacific/Apia',
    );
    fc.assert(
      fc.property(days, zones, (second, timeZone) => {
        const instant = new Date(second * 1000);
        const parts = shownIn(timeZone, instant);
        const [day = '', clock = ''] = parts.split(' ');
        const found = inZone({ day, clock }, timeZone);
        // Shown twice: the first of both. Else the same.
        const difference = instant.getTime() - Date.parse(found ?? '');
        expect([0, 1_800_000, 3_600_000]).toContain(difference);
        expect(shownIn(timeZone, new Date(found ?? ''))).toBe(parts);
      }),
      { numRuns: 500 },
    );
    expect(atOffset({ day: '2026-11-29', clock: '00:30:00' }, '+08:00')).toBe('2026-11-28T16:30:00.000000Z');
  });
});
