import { parse as parseCsv } from 'csv-parse/sync';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { CsvReader } from '../src/orders/csvRecords.js';
import { CsvStructure } from '../src/orders/csvStructure.js';
import type { FileRefusal } from '../src/orders/importProblems.js';
import { NdjsonReader } from '../src/orders/ndjsonRecords.js';
import type { FileRecord, RecordReader } from '../src/orders/fileRecord.js';

const columns = { required: ['a', 'b'], optional: ['c'] };

/** Cuts bytes at the given places, as reads of a file would. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((x, y) => x - y);
  return [0, ...ends]
    .map((start, at) => bytes.subarray(start, ends[at] ?? bytes.length))
    .filter((part) => part.length > 0);
}

async function recordsOf(reader: RecordReader, chunks: readonly Buffer[]): Promise<FileRecord[]> {
  const records: FileRecord[] = [];
  for (const chunk of chunks) records.push(...(await reader.read(chunk)));
  return [...records, ...(await reader.end())];
}

const csvReader = () => new CsvReader({ width: 2, positions: [0, 1, -1], extra: [] });

// What breaks CSV readers, far more often than chance would have it.
const csvText = fc
  .array(fc.constantFrom('"', '""', ',', '\n', '\r\n', '\r', 'x', 'é', '😀', ' ', '\u0000'), { maxLength: 24 })
  .map((parts) => parts.join(''));
const places = fc.array(fc.nat(60), { maxLength: 4 });

describe('the structure of a CSV file', () => {
  test('is proven wherever the CSV library reads the file, and nowhere else but behind a NUL', () => {
    fc.assert(
      fc.property(csvText, places, (text, where) => {
        const structure = new CsvStructure();
        let starts: number[] | null = [];
        try {
          for (const chunk of cut(Buffer.from(text), where)) structure.scan(chunk);
          structure.end();
          starts = structure.takeStartLines();
        } catch (error) {
          expect((error as FileRefusal).code).toBe('BROKEN_QUOTE');
          starts = null;
        }
        let records: string[][] | null;
        try {
          records = parseCsv(text, {
            record_delimiter: ['\r\n', '\n', '\r'],
            relax_column_count: true,
            skip_empty_lines: true,
          });
        } catch {
          records = null;
        }
        if (starts === null && records !== null) expect(text).toContain('"\u0000');
        else expect(starts?.length).toBe(records?.length);
      }),
      { numRuns: 5_000 },
    );
  });

  test('gives each record the line on which it starts, wherever the reads are cut', async () => {
    const field = fc.constantFrom('x', '"a\nb"', '"a\r\nb"', '"a\rb"', '"say ""so"""', 'é😀', '');
    const row = fc.record({
      first: fc.constantFrom('x', '"\n\n"', '"y"'),
      second: field,
      end: fc.constantFrom('\n', '\r\n', '\r', '\n\n\n', '\r\n\r\n', '\n \n'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), places, async (rows, where) => {
        let text = 'a,b\n';
        const lines: number[] = [];
        for (const { first, second, end } of rows) {
          lines.push(text.split(/\r\n|\n|\r/).length); // counted the slow way
          text += `${first},${second}${end}`;
          if (end === '\r') text += '\u00201,2\n'; // so that "\r" never meets a "\n" by chance
          if (end === '\r') lines.push(text.split(/\r\n|\n|\r/).length - 1);
        }
        const records = await recordsOf(csvReader(), cut(Buffer.from(text), where));
        expect(records.map((record) => record.line)).toEqual(lines);
      }),
      { numRuns: 300 },
    );
  });

  test('quotes round-trip: any values come back as they were', async () => {
    const value = fc.string({ unit: 'grapheme', minLength: 1 });
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(value, value), { minLength: 1 }), places, async (rows, where) => {
        const text = `a,b\r\n${rows.map((row) => row.map(quoted).join(',')).join('\r\n')}`;
        const records = await recordsOf(csvReader(), cut(Buffer.from(text), where));
        expect(records.map(({ values }) => values?.slice(0, 2))).toEqual(rows);
      }),
    );
  });

  test.each([
    ['a,b\nx,"y\n1,2\n', 'line 2, column 3', 'an opened quote that never closes'],
    ['a,b\n1,2\nx,"y"z\n', 'line 3, column 6', 'text behind a closing quote'],
    ['a,b\nx,y"z"\n', 'line 2, column 4', 'a quote inside a bare field'],
    ['a,b\r\n"x\r\n",y"\r\n', 'line 3, column 4', 'columns count from their own line'],
  ])('%j names the place: %s', (text, place) => {
    const structure = new CsvStructure();
    expect(() => {
      structure.scan(Buffer.from(text));
      structure.end();
    }).toThrow(expect.objectContaining({ code: 'BROKEN_QUOTE', message: expect.stringContaining(place) }));
  });
});

describe('lines of NDJSON', () => {
  const read = (text: string) => recordsOf(new NdjsonReader(columns), [Buffer.from(text)]);

  test.each([
    ['{"a":"1","b":"2"}', ['1', '2', null]],
    ['{"b":"2","a":"1","c":null}', ['1', '2', null]],
    ['{"a":"1","b":"2","c":"3","x":{"a":"9","a":"8"}}', ['1', '2', '3']],
    ['{"a":"{\\"a\\":1","b":":"}', ['{"a":1', ':', null]],
    ['{"a":"1","b":"2","__proto__":{"c":"9"}}', ['1', '2', null]],
  ])('%s gives %j', async (text, values) => {
    expect(await read(text)).toEqual([{ line: 1, values }]);
  });

  test.each([
    ['{"a":"1","b":12.5}', 'NOT_TEXT'],
    ['{"a":"1","b":null}', 'NOT_TEXT'],
    ['{"a":"1","b":["2"]}', 'NOT_TEXT'],
    ['{"a":"1","b":"2","a":"3"}', 'DUPLICATE_KEY'],
    ['{"a":"1","b":"2","\\u0061":"3"}', 'DUPLICATE_KEY'],
    ['{"a":"1"}', 'BAD_FIELD_COUNT'],
    ['{"a":"1","b":"2"', 'BAD_JSON'],
    ['["1","2"]', 'BAD_JSON'],
    ['{"a":"1","b":"2"}{"a":"3","b":"4"}', 'BAD_JSON'],
    ['{"a":"1","b":"2"}\r{"a":"3","b":"4"}', 'BAD_JSON'],
  ])('%s is refused as %s', async (text, code) => {
    expect((await read(text)).map(({ fault }) => fault?.code)).toEqual([code]);
  });

  test('are numbered as in the file, through blank lines, CRLF and every cut', async () => {
    await fc.assert(
      fc.asyncProperty(places, async (where) => {
        const bytes = Buffer.from('\n{"a":"é","b":"2"}\r\n\r\n  \n{"a":"😀","b":"4"}\n{"a":"5","b":"6"}');
        const records = await recordsOf(new NdjsonReader(columns), cut(bytes, where));
        expect(records.map(({ line, values }) => [line, values?.[0]])).toEqual([
          [2, 'é'],
          [5, '😀'],
          [6, '5'],
        ]);
      }),
    );
  });

  test('keys that are not ours are noted, at most twenty', async () => {
    const reader = new NdjsonReader(columns);
    const extra = Array.from({ length: 50 }, (_, at) => `"x${String(at)}":1`).join(',');
    await reader.read(Buffer.from(`{"a":"1","b":"2",${extra}}\n`));
    expect(reader.extra.size).toBe(20);
  });
});
