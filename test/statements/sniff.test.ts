import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { bankFormats } from '../../src/statements/bank/index.js';
import { providerFormats } from '../../src/statements/providers/index.js';

// By content alone, and never two formats for one file.

const formats = [...bankFormats, ...providerFormats];
const folder = 'fixtures/statements';
const samples = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.name.endsWith('.zip'))
  .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  .sort();

/** Tables of which only a profile of the user says what they mean, and a summary without lines. */
const ofNoFormat = /^providers\/(table-|alipay-trade-summary)/;

test.each(samples)('%s is of one format', (name) => {
  const head = readFileSync(join(folder, name)).subarray(0, 64 * 1024);
  const claims = formats.filter((format) => format.sniff(head)).map((format) => format.name);
  expect({ name, claims: claims.length }).toEqual({ name, claims: ofNoFormat.test(name) ? 0 : 1 });
});

test('every format has a sample', () => {
  const claimed = new Set(
    samples.flatMap((name) => {
      const head = readFileSync(join(folder, name)).subarray(0, 64 * 1024);
      return formats.filter((format) => format.sniff(head)).map((format) => format.name);
    }),
  );
  expect(formats.map(({ name }) => name).filter((name) => name !== 'csv' && !claimed.has(name))).toEqual([]);
});
