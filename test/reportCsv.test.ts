import { expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { formatMinor } from '../src/kernel/money.js';
import type { DayReport } from '../src/reports/dayReport.js';
import { reportCsv } from '../src/reports/reportCsv.js';

// A spreadsheet takes a cell for a formula by its first character. Only our own digits may begin with a minus.

const start = fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '"', "'", ',', '"=', '\n=', '＝', '');
const accountNo = fc.tuple(start, fc.string({ maxLength: 20 })).map((parts) => parts.join(''));
const position = fc.record({
  accountNo,
  currency: fc.constantFrom('USD', 'JPY', 'KWD'),
  orders: fc.nat(),
  netMinor: fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }),
});

test('no cell of the CSV report is a formula, every amount stays a number, and every account can be read back', () => {
  fc.assert(
    fc.property(fc.array(position, { minLength: 1, maxLength: 5 }), (netPositions) => {
      const csv = reportCsv({ batchDay: '2026-11-29', netPositions } as unknown as DayReport);
      const [, ...rows] = parse(csv, { bom: true }) as string[][];
      expect(rows).toHaveLength(netPositions.length);
      for (const [at, row] of rows.entries()) {
        const { accountNo: account, currency, netMinor } = netPositions[at] as (typeof netPositions)[number];
        const [, cell = '', , , minor, net] = row;
        expect(cell).not.toMatch(/^[=+\-@\t\r]/);
        expect([account, `'${account}`]).toContain(cell);
        expect([minor, net]).toEqual([netMinor.toString(), formatMinor(netMinor, currency)]);
        expect(net).toMatch(/^-?\d+(\.\d+)?$/);
      }
    }),
    { numRuns: 300 },
  );
});
