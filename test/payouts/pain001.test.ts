import { spawnSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { isBic, readIban } from '../../src/kernel/iban.js';
import { fileFault, paymentFile, type FilePayment, type PaymentFileHeader } from '../../src/payouts/pain001.js';
import { readPaymentFile } from '../support/pain001Rules.js';

const header: PaymentFileHeader = {
  messageId: 'P20261130-000001-5f0c1b2a',
  createdAt: '2026-11-30T02:00:00.123Z',
  executionDay: '2026-11-30',
  debtor: { name: 'Pay + Go', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' },
};
const payment = (number: number, amountMinor: bigint, currency = 'EUR'): FilePayment => ({
  idempotencyKey: `20261129-${String(number).padStart(26, '0')}`,
  instructionId: `P${String(number)}`,
  amountMinor,
  currency,
  destination: 'FR14 2004 1010 0505 0001 3M02 606',
  holder: "Cafe d'Or",
  batchDay: '2026-11-29',
});

describe('an IBAN', () => {
  test.each`
    text                                 | iban
    ${'DE89370400440532013000'}          | ${'DE89370400440532013000'}
    ${'GB82 WEST 1234 5698 7654 32'}     | ${'GB82WEST12345698765432'}
    ${'NO9386011117947'}                 | ${'NO9386011117947'}
    ${'MT84MALT011000012345MTLCAST001S'} | ${'MT84MALT011000012345MTLCAST001S'}
    ${'DE89370400440532013001'}          | ${null}
    ${'DE89370400440523013000'}          | ${null}
    ${'de89370400440532013000'}          | ${null}
    ${'DE893704'}                        | ${null}
    ${'wallet-1'}                        | ${null}
    ${''}                                | ${null}
  `('"$text" is $iban', ({ text, iban }) => {
    expect(readIban(text as string)).toBe(iban);
  });
  test('goes with a BIC of 8 or 11 characters', () => {
    expect(['COBADEFF', 'COBADEFFXXX', 'COBADEFFX', 'cobadeff', ''].map(isBic)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

test.each`
  holder              | fits
  ${'Anna-Maria Ott'} | ${true}
  ${"O'Neill (2) +1"} | ${true}
  ${'Jürgen'}         | ${false}
  ${'A & B'}          | ${false}
  ${'<b>'}            | ${false}
  ${'a//b'}           | ${false}
  ${'/a'}             | ${false}
  ${''}               | ${false}
  ${'x'.repeat(70)}   | ${true}
  ${'x'.repeat(71)}   | ${false}
`('the holder "$holder" can stand in a payment file: $fits', ({ holder, fits }) => {
  expect(fileFault({ destination: 'DE89370400440532013000', holder: holder as string }) === null).toBe(fits);
});

describe('a payment file', () => {
  const mixed = [payment(1, 1_250n), payment(2, 500n, 'JPY'), payment(3, 5n), payment(4, 1_234n, 'KWD')];
  const textsOf = (xml: string, ending: string): string[] =>
    readPaymentFile(xml)
      .texts.filter(({ path }) => path.endsWith(ending))
      .map(({ text }) => text);

  test('keeps the rules of the schema', () => {
    expect(readPaymentFile(paymentFile(header, mixed)).faults).toEqual([]);
    const withoutBic = { ...header, debtor: { ...header.debtor, bic: null } };
    expect(readPaymentFile(paymentFile(withoutBic, [payment(1, 1n)])).faults).toEqual([]);
  });

  test('the rules find what breaks them', () => {
    const good = paymentFile(header, mixed);
    for (const [from, to] of [
      ['<MsgId>P', '<MsgId>PPPPPPPPPPPPPPPPPPP'],
      ['<PmtMtd>TRF</PmtMtd>\n', ''],
      ['<CtrlSum>', '<CtrlSum>x'],
      ['Ccy="JPY"', ''],
      ['<EndToEndId>', '<EndToEndId><x/>'],
      ['</Document>', ''],
      ['001.09"', '001.03"'],
    ] as const) {
      expect(good).toContain(from);
      expect(readPaymentFile(good.replace(from, to)).faults).not.toEqual([]);
    }
  });

  test('states counts and sums exactly, for each currency and for all', () => {
    const xml = paymentFile(header, mixed);
    expect(textsOf(xml, 'NbOfTxs')).toEqual(['4', '2', '1', '1']);
    expect(textsOf(xml, 'CtrlSum')).toEqual(['513.784', '12.55', '500', '1.234']);
    expect(textsOf(xml, 'InstdAmt')).toEqual(['12.50', '0.05', '500', '1.234']);
    const large = [payment(1, 2n ** 62n), payment(2, 1n)];
    expect(textsOf(paymentFile(header, large), 'CtrlSum')[0]).toBe('46116860184273879.05');
  });

  test('names each payment by its key, by currency and in the order given', () => {
    expect(textsOf(paymentFile(header, mixed), 'EndToEndId').map((key) => key.slice(-1))).toEqual(['1', '3', '2', '4']);
    expect(textsOf(paymentFile(header, mixed), 'EndToEndId')[0]).toBe(mixed[0]?.idempotencyKey);
  });

  test('is the same whenever it is written', () => {
    expect(paymentFile(header, mixed)).toBe(paymentFile(header, mixed));
  });

  // The schema is not ours to hand on; with a copy of it, xmllint has the last word.
  const schema = process.env['SETTLE_TEST_PAIN001_XSD'];
  if (schema !== undefined) {
    test('is valid by the published schema', () => {
      const xml = paymentFile(header, [payment(1, 1_250n), payment(3, 5n)]);
      const linted = spawnSync('xmllint', ['--noout', '--schema', schema, '-'], { input: xml, encoding: 'utf8' });
      expect(linted.stderr).toContain('validates');
      expect(linted.status).toBe(0);
    });
  }
});
