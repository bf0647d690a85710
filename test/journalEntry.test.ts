import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { orderTypes, type OrderType } from '../src/kernel/states.js';
import { assertBalanced, settlementEntry, type LedgerEntry } from '../src/ledger/journalEntry.js';

function booked(lines: [OrderType, bigint, string?][]): string[] {
  const signed = lines.reduce((sum, [type, minor]) => sum + (type === 'REFUND' || type === 'FEE' ? -minor : minor), 0n);
  const { entries } = settlementEntry({
    bizNo: 'S1.1.1',
    accountNo: 'M1',
    currency: 'USD',
    netMinor: signed,
    lines: lines.map(([type, amountMinor, channel = 'CARD']) => ({ type, channel, amountMinor })),
  });
  return entries.map(
    (leg) =>
      `${leg.side === 'DEBIT' ? 'Dr' : 'Cr'} ${leg.ledgerAccount}/${leg.subAccount} ${leg.amountMinor.toString()}`,
  );
}

describe('what a settlement books', () => {
  test.each([
    ['a payment', [['PAYMENT', 100n]], ['Dr CHANNEL_RECEIVABLE/CARD 100', 'Cr MERCHANT_PAYABLE/M1 100']],
    ['a refund', [['REFUND', 40n]], ['Cr CHANNEL_RECEIVABLE/CARD 40', 'Dr MERCHANT_PAYABLE/M1 40']],
    ['a fee', [['FEE', 3n]], ['Cr FEE_INCOME/ 3', 'Dr MERCHANT_PAYABLE/M1 3']],
    ['a positive adjustment', [['ADJUSTMENT', 5n]], ['Dr ADJUSTMENTS/ 5', 'Cr MERCHANT_PAYABLE/M1 5']],
    ['a negative adjustment', [['ADJUSTMENT', -5n]], ['Cr ADJUSTMENTS/ 5', 'Dr MERCHANT_PAYABLE/M1 5']],
    [
      'a day: legs of one side of one account are merged, both sides stay visible',
      [
        ['PAYMENT', 100n],
        ['PAYMENT', 50n, 'BANK'],
        ['REFUND', 40n],
        ['FEE', 3n],
      ],
      [
        'Dr CHANNEL_RECEIVABLE/CARD 100',
        'Cr MERCHANT_PAYABLE/M1 150',
        'Dr CHANNEL_RECEIVABLE/BANK 50',
        'Cr CHANNEL_RECEIVABLE/CARD 40',
        'Dr MERCHANT_PAYABLE/M1 43',
        'Cr FEE_INCOME/ 3',
      ],
    ],
    [
      'a fee and a correction in our favour: two kinds of income are never one leg',
      [
        ['FEE', 3n],
        ['ADJUSTMENT', -5n],
      ],
      ['Cr FEE_INCOME/ 3', 'Dr MERCHANT_PAYABLE/M1 8', 'Cr ADJUSTMENTS/ 5'],
    ],
    [
      'nothing but zeros',
      [
        ['PAYMENT', 0n],
        ['ADJUSTMENT', 0n],
      ],
      [],
    ],
  ] as [string, [OrderType, bigint, string?][], string[]][])('%s', (_name, lines, legs) => {
    expect(booked(lines)).toEqual(legs);
  });

  test('whatever the lines: debits equal credits, and the account is owed the net', () => {
    const line = fc.record({
      type: fc.constantFrom(...orderTypes),
      channel: fc.constantFrom('CARD', 'BANK', 'WALLET'),
      magnitude: fc.bigInt(0n, 2n ** 55n),
      negative: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 12 }), (lines) => {
        const effects = lines.map(({ type, magnitude, negative }) =>
          type === 'ADJUSTMENT' ? (negative ? -magnitude : magnitude) : type === 'PAYMENT' ? magnitude : -magnitude,
        );
        const netMinor = effects.reduce((sum, effect) => sum + effect, 0n);
        const { entries } = settlementEntry({
          bizNo: 'S1.1.1',
          accountNo: 'M1',
          currency: 'KWD',
          netMinor,
          lines: lines.map(({ type, channel, magnitude, negative }) => ({
            type,
            channel,
            amountMinor: type === 'ADJUSTMENT' && negative ? -magnitude : magnitude,
          })),
        });
        const sum = (side: string, account?: string): bigint =>
          entries
            .filter((leg) => leg.side === side && (account === undefined || leg.ledgerAccount === account))
            .reduce((total, leg) => total + leg.amountMinor, 0n);
        expect(sum('DEBIT')).toBe(sum('CREDIT'));
        expect(sum('CREDIT', 'MERCHANT_PAYABLE') - sum('DEBIT', 'MERCHANT_PAYABLE')).toBe(netMinor);
        expect(entries.every((leg) => leg.amountMinor > 0n)).toBe(true);
      }),
    );
  });

  const leg = (side: LedgerEntry['side'], amountMinor: bigint, currency = 'USD'): LedgerEntry => ({
    ledgerAccount: 'MERCHANT_PAYABLE',
    subAccount: 'M1',
    side,
    amountMinor,
    currency,
  });

  const most = 2n ** 63n - 1n;
  const refused = (code: string, message: string, details = {}): Error =>
    expect.objectContaining({ code, exitCode: 4, message, details }) as unknown as Error;

  test.each<[string, LedgerEntry[]]>([
    ['no leg', []],
    ['two legs that agree', [leg('DEBIT', 1n), leg('CREDIT', 1n)]],
    ['legs of the largest amount', [leg('DEBIT', most), leg('CREDIT', most)]],
    ['three legs', [leg('DEBIT', 3n), leg('CREDIT', 1n), leg('CREDIT', 2n)]],
    [
      'two currencies, each in balance',
      [leg('DEBIT', 1n), leg('CREDIT', 2n, 'EUR'), leg('CREDIT', 1n), leg('DEBIT', 2n, 'EUR')],
    ],
  ])('%s may be posted', (_what, entries) => {
    expect(() => {
      assertBalanced({ bizNo: 'S1.1.1', entries });
    }).not.toThrow();
  });

  test.each<[string, LedgerEntry[]]>([
    ['one leg only', [leg('DEBIT', 1n)]],
    ['a leg of 0', [leg('DEBIT', 0n), leg('CREDIT', 0n)]],
    ['a leg of -1', [leg('DEBIT', -1n), leg('CREDIT', -1n)]],
    [`a leg of ${String(most + 1n)}`, [leg('DEBIT', most + 1n), leg('CREDIT', most + 1n)]],
  ])('%s stops the run', (what, entries) => {
    const code = entries.length === 1 ? 'JOURNAL_ENTRY_TOO_SHORT' : 'LEDGER_AMOUNT_NOT_POSITIVE';
    expect(() => {
      assertBalanced({ bizNo: 'S1.1.1', entries });
    }).toThrow(refused(code, `Journal entry S1.1.1 has ${what}.`));
  });

  test.each<[string, bigint, LedgerEntry[]]>([
    ['USD', -1n, [leg('DEBIT', 1n), leg('CREDIT', 2n)]],
    ['USD', 1n, [leg('DEBIT', 1n, 'USD'), leg('CREDIT', 1n, 'EUR')]],
    ['EUR', 4n, [leg('DEBIT', 1n), leg('DEBIT', 7n, 'EUR'), leg('CREDIT', 1n), leg('CREDIT', 3n, 'EUR')]],
  ])('debits less credits in %s of %p stop the run', (currency, difference, entries) => {
    expect(() => {
      assertBalanced({ bizNo: 'S1.1.1', entries });
    }).toThrow(
      refused(
        'JOURNAL_ENTRY_UNBALANCED',
        `Journal entry S1.1.1 is out of balance by ${String(difference)} ${currency}.`,
        { bizNo: 'S1.1.1', currency, difference },
      ),
    );
  });

  test('an entry that would book another amount than its net is refused', () => {
    const lines = [{ type: 'PAYMENT' as const, channel: 'CARD', amountMinor: 100n }];
    expect(() => settlementEntry({ bizNo: 'S1.1.1', accountNo: 'M1', currency: 'USD', netMinor: 99n, lines })).toThrow(
      refused('NET_DIFFERS_FROM_ORDERS', 'Journal entry S1.1.1 does not book its net.', {
        bizNo: 'S1.1.1',
        booked: 100n,
        net: 99n,
      }),
    );
  });
});
