import fc from 'fast-check';
import { describe, expect, jest, test } from '@jest/globals';
import { formatMinor } from '../../src/kernel/money.js';
import { providerFormats } from '../../src/statements/providers/index.js';
import { StatementRefusal } from '../../src/statements/refusal.js';
import type { StatementFormat, StatementSource } from '../../src/statements/statement.js';
import { noSettings, readAll, sample, sumsOf } from '../support/statements.js';

const settings = { ...noSettings, currency: 'USD' };

function formatOf(name: string): StatementFormat {
  const found = providerFormats.find((format) => format.name === name);
  if (found === undefined) throw new Error(`No format ${name}`);
  return found;
}

/** What a damaged file says: refused, flagged, or sums by currency and way. */
async function outcomeOf(format: StatementFormat, bytes: Buffer): Promise<string> {
  try {
    const { lines, problems } = await readAll(format, bytes, settings);
    // The totals of Alipay's business bill leave the service fee out, so that nothing in the file speaks for it.
    const proven = format.name === 'alipay-trade' ? lines.map((line) => ({ ...line, feeMinor: null })) : lines;
    return problems.length > 0 ? 'flagged' : `${String(lines.length)} lines: ${sumsOf(proven)}`;
  } catch (error) {
    if (error instanceof StatementRefusal) return 'refused';
    throw error;
  }
}

const files: readonly [file: string, format: string][] = [
  ['wechat-all.csv', 'wechat-trade'],
  ['wechat-fund.csv', 'wechat-fund'],
  ['alipay-trade.csv', 'alipay-trade'],
  ['alipay-account.csv', 'alipay-account'],
  ['stripe-payout.csv', 'stripe-payout-reconciliation'],
  ['stripe-activity.csv', 'stripe-balance-activity'],
  ['paypal-stl.csv', 'paypal-stl'],
  ['paypal-stl-utf16.txt', 'paypal-stl'],
  ['paypal-trr.csv', 'paypal-trr'],
  ['adyen.csv', 'adyen-settlement-detail'],
  ['square.csv', 'square-transactions'],
];

/** Files that end with their rows: one that is cut between two rows can only be known by what others say of it. */
const withoutFooter = new Set(['stripe-balance-activity', 'stripe-payout-reconciliation', 'square-transactions']);
/** Every cut, and long runs: npm run test:statements. */
const all = process.env['SETTLE_TEST_STATEMENTS'] === 'every';
if (all) jest.setTimeout(1_800_000);

describe.each(files)('%s', (file, name) => {
  const format = formatOf(name);
  const whole = sample(file);

  test('cut anywhere is refused, flagged, or says the same', async () => {
    const expected = await outcomeOf(format, whole);
    const refused: number[] = [];
    for (let length = 0; length < whole.length; length += all || whole.length - length < 64 ? 1 : 29) {
      const outcome = await outcomeOf(format, whole.subarray(0, length));
      if (outcome === 'refused') refused.push(length);
      const isBetweenRows = withoutFooter.has(name) && whole[length - 1] === 10;
      if (!isBetweenRows && outcome !== 'flagged' && outcome !== 'refused')
        expect([length, outcome]).toEqual([length, expected]);
    }
    expect(refused.length).toBeGreaterThan(20);
  });

  test('with a byte changed is refused, flagged, or says the same', async () => {
    const expected = await outcomeOf(format, whole);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        const damaged = Buffer.from(whole);
        damaged[at] = (damaged[at] ?? 0) ^ mask;
        const outcome = await outcomeOf(format, damaged);
        if (outcome !== 'refused' && outcome !== 'flagged') expect([at, mask, outcome]).toEqual([at, mask, expected]);
      }),
      { numRuns: all ? 5_000 : 80 },
    );
  });
});

const cents = fc.bigInt({ min: 0n, max: 10n ** 15n });
const cny = (minor: bigint): string => formatMinor(minor, 'CNY');
const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);

describe('rows of any amounts are read back to the cent', () => {
  test('of WeChat', async () => {
    const rows = fc.array(fc.record({ amount: cents, fee: cents, isRefund: fc.boolean(), goods: fc.string() }), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const [header = '', , , , , totals = ''] = sample('wechat-all.csv').toString().split('\n');
        const lines = given.map(({ amount, fee, isRefund, goods }, at) => {
          const text = goods.replaceAll(/[`\r\n]/g, '').trim() || ' ';
          const refund = isRefund
            ? ['0.00', '0.00', `5${String(at)}`, `R${String(at)}`, cny(amount)]
            : [cny(amount), '0.00', '0', '0', '0.00'];
          const [settled = '', coupon = '', theirs = '', ours = '', refunded = ''] = refund;
          const order = [
            `4${String(at)}`,
            `O${String(at)}`,
            'u',
            'JSAPI',
            isRefund ? 'REFUND' : 'SUCCESS',
            'CMB',
            'CNY',
          ];
          const values = [
            '2026-11-29 08:00:01',
            'wx',
            '19',
            '0',
            '',
            ...order,
            settled,
            coupon,
            theirs,
            ours,
            refunded,
            '0.00',
          ];
          const tail = [
            '',
            isRefund ? 'SUCCESS' : '',
            text,
            '',
            `${cny(isRefund ? -fee : fee)}000`,
            '0.60%',
            settled,
            refunded,
            '',
          ];
          return [...values, ...tail].map((value) => `\`${value}`).join(',');
        });
        const [paid, back] = [false, true].map((isRefund) =>
          sum(given.filter((row) => row.isRefund === isRefund).map(({ amount }) => amount)),
        );
        const fees = sum(given.map(({ fee, isRefund }) => (isRefund ? -fee : fee)));
        const stated = [
          String(given.length),
          cny(paid ?? 0n),
          cny(back ?? 0n),
          '0.00',
          `${cny(fees)}000`,
          cny(paid ?? 0n),
          cny(back ?? 0n),
        ];
        const bill = [header, ...lines, totals, stated.map((value) => `\`${value}`).join(',')].join('\n');
        const reading = await readAll(formatOf('wechat-trade'), bill);
        expect(reading.problems).toEqual([]);
        expect(reading.lines.map(({ amountMinor, feeMinor, direction }) => [amountMinor, feeMinor, direction])).toEqual(
          given.map(({ amount, fee, isRefund }) => [amount, isRefund ? -fee : fee, isRefund ? 'DEBIT' : 'CREDIT']),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('of Stripe, in currencies of no, two and three decimals', async () => {
    const signed = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n });
    const rows = fc.array(fc.record({ gross: signed, fee: signed, code: fc.constantFrom('JPY', 'EUR', 'KWD') }), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const lines = given.map(({ gross, fee, code }, at) => {
          const amounts = [gross, fee, gross - fee].map((minor) => formatMinor(minor, code));
          return [`txn_${String(at)}`, '2026-11-29 10:00:00', code.toLowerCase(), ...amounts, 'charge'].join(',');
        });
        const report = [
          'balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category',
          ...lines,
          '',
        ].join('\n');
        const reading = await readAll(formatOf('stripe-balance-activity'), report);
        expect(reading.problems).toEqual([]);
        expect(reading.lines.map(({ feeMinor, netMinor, currency }) => [feeMinor, netMinor, currency])).toEqual(
          given.map(({ gross, fee, code }) => [fee, gross - fee, code]),
        );
        expect(reading.lines.map(({ amountMinor }) => amountMinor)).toEqual(
          given.map(({ gross }) => (gross < 0n ? -gross : gross)),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('of PayPal', async () => {
    const rows = fc.array(fc.record({ gross: cents, fee: cents, way: fc.constantFrom('CR', 'DR'), opening: cents }), {
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const [report = '', file = '', section = '', columns = ''] = sample('paypal-stl.csv').toString().split('\r\n');
        const lines = given.map(({ gross, fee, way }, at) => {
          const time = '2026/11/29 00:00:30 -0800';
          const start = [
            '"SB"',
            `"T${String(at)}"`,
            '"O"',
            '""',
            '""',
            '"T0006"',
            time,
            time,
            `"${way}"`,
            String(gross),
            '"USD"',
          ];
          return [...start, '"DR"', String(fee), '"USD"', ...Array<string>(8).fill('""')].join(',');
        });
        const of = (way: string): bigint => sum(given.filter((row) => row.way === way).map(({ gross }) => gross));
        const [credits, debits, fees, opening] = [
          of('CR'),
          of('DR'),
          sum(given.map(({ fee }) => fee)),
          given[0]?.opening ?? 0n,
        ];
        const closing = opening + credits - debits - fees;
        const balance = `"${closing < 0n ? 'DR' : 'CR'}",${String(closing < 0n ? -closing : closing)}`;
        const totals = `"USD",${String(credits)},${String(debits)},0,${String(fees)},"CR",${String(opening)},${balance}`;
        const count = String(given.length);
        const text = [
          report,
          file,
          section,
          columns,
          ...lines,
          `"SF",${totals}`,
          `"SC",${count}`,
          `"RF",${totals}`,
          `"RC",${count}`,
          `"FF",${count}`,
          '',
        ];
        const reading = await readAll(formatOf('paypal-stl'), text.join('\r\n'));
        expect(reading.problems).toEqual([]);
        expect(reading.balances.map(({ minor }) => minor)).toEqual([opening, closing]);
        expect(reading.lines.map(({ amountMinor, feeMinor, direction }) => [amountMinor, feeMinor, direction])).toEqual(
          given.map(({ gross, fee, way }) => [gross, fee, way === 'CR' ? 'CREDIT' : 'DEBIT']),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('of Square, with thousands', async () => {
    const signed = fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }).filter((minor) => minor !== 0n);
    const dollars = (minor: bigint): string => {
      const text = formatMinor(minor < 0n ? -minor : minor, 'USD').replace(/\B(?=(\d{3})+\.)/g, ',');
      return `"${minor < 0n ? '-' : ''}$${text}"`;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(signed, signed), { minLength: 1 }), async (given) => {
        const lines = given.map(([amount, fee], at) => {
          const [total, fees, net] = [amount, -fee, amount - fee].map(dollars);
          return [
            '2026-11-29,10:00:00,London',
            total,
            total,
            '$0.00,$0.00,$0.00',
            fees,
            net,
            `T${String(at)},P${String(at)},Payment`,
          ].join(',');
        });
        const header =
          'Date,Time,Time Zone,Total Collected,Card,Cash,Square Gift Card,Other Tender,Fees,Net Total,Transaction ID,Payment ID,Event Type';
        const reading = await readAll(formatOf('square-transactions'), [header, ...lines, ''].join('\n'), settings);
        expect(reading.problems).toEqual([]);
        expect(reading.lines.map(({ feeMinor, netMinor }) => [feeMinor, netMinor])).toEqual(
          given.map(([amount, fee]) => [fee, amount - fee]),
        );
      }),
      { numRuns: 60 },
    );
  });
});

test('a long bill is read in the memory of a short one', async () => {
  const rows = all ? 500_000 : 60_000;
  const [header = '', row = '', , , , totals = ''] = sample('wechat-all.csv').toString().split('\n');
  const source: StatementSource = {
    name: 'long',
    // eslint-disable-next-line @typescript-eslint/require-await -- a file is read step by step
    async *chunks() {
      yield Buffer.from(`${header}\n`);
      const page = 500;
      for (let at = 0; at < rows; at += page) yield Buffer.from(`${row}\n`.repeat(page));
      const times = (minor: bigint): string => cny(minor * BigInt(rows));
      const stated = [String(rows), times(12_850n), '0.00', '0.00', times(77n), times(13_000n), '0.00'];
      yield Buffer.from(`${totals}\n${stated.map((value) => `\`${value}`).join(',')}\n`);
    },
  };
  let [lines, peak] = [0, 0];
  const before = process.memoryUsage().heapUsed;
  for await (const event of formatOf('wechat-trade').read(source, noSettings)) {
    if (event.kind === 'problem') throw new Error(event.problem.message);
    if (event.kind === 'line' && (lines += 1) % 5_000 === 0)
      peak = Math.max(peak, process.memoryUsage().heapUsed - before);
  }
  expect(lines).toBe(rows);
  // Lines that are kept take a kilobyte each: 60 MB, or 500 MB. What lies about between two collections is less.
  expect(peak).toBeLessThan((all ? 256 : 48) * 1024 * 1024);
});
