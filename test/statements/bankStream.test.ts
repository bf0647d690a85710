import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { bankFormats } from '../../src/statements/bank/index.js';
import type { StatementSource } from '../../src/statements/statement.js';
import { bai2, camt053, mt940, nachaReturn, type BankDay, type Writer } from '../support/bankWriters.js';

const lineCount = 16_000;
const keptMiBMax = 4;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapMiB(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

/** A large file in the pieces of a disk, made as it is read: itself it is not in memory. */
function largeFile(write: Writer): StatementSource & { pulled: number } {
  const block: BankDay = {
    currency: 'USD',
    openingMinor: 0n,
    lines: Array.from({ length: 1000 }, (_, index) => ({
      isCredit: index % 2 === 0,
      minor: BigInt(index - (index % 2)) * 7n,
      our: `0910000${String(index + 1).padStart(8, '0')}`,
      bank: `0910000${String(index + 2).padStart(8, '0')}`,
    })),
  };
  // Each block moves nothing in all, so the closing balance is the same for any number of them.
  const text = write(block);
  const [start, end] = [text.indexOf(lineStart(text)), text.lastIndexOf(lineEnd(text))];
  const source = {
    name: 'large',
    pulled: 0,
    async *chunks() {
      source.pulled = 0;
      yield await Promise.resolve(Buffer.from(text.slice(0, start)));
      const lines = Buffer.from(text.slice(start, end));
      for (let at = 0; at < lineCount; at += block.lines.length) {
        source.pulled += block.lines.length;
        yield lines;
      }
      yield Buffer.from(text.slice(end));
    },
  };
  return source;
}

const lineStart = (text: string): string => ['<Ntry>', ':61:', '16,', '\n6'].find((mark) => text.includes(mark)) ?? '';
const lineEnd = (text: string): string => ['</Stmt>', ':62F:', '49,', '\n8'].find((mark) => text.includes(mark)) ?? '';

test.each([
  ['camt.053', camt053(8)],
  ['mt940', mt940],
  ['bai2', bai2],
  ['nacha-return', nachaReturn],
])(`%s: ${String(lineCount)} lines are read as they come, and none is kept`, async (name, write) => {
  const format = bankFormats.find((one) => one.name === name);
  if (format === undefined) throw new Error(name);
  const source = largeFile(write);
  let [lines, early, most] = [0, 0, 0];
  for await (const event of format.read(source, { timeZone: null, currency: null })) {
    if (event.kind !== 'line') continue;
    lines += 1;
    most = Math.max(most, source.pulled - lines);
    if (lines === lineCount / 8) early = heapMiB();
    if (lines === lineCount) expect(heapMiB() - early).toBeLessThan(keptMiBMax);
  }
  expect(lines).toBe(lineCount);
  expect(most).toBeLessThanOrEqual(2000);
});
