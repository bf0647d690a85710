import { expect, test } from '@jest/globals';
import { maskedReason, maskedReference } from '../../src/payouts/masked.js';

const key = '20261129-00000000000000000000000000';
const iban = 'DE89370400440532013000';

test.each`
  destination     | said                                       | kept
  ${iban}         | ${`no such account ${iban}`}               | ${'no such account …3000'}
  ${iban}         | ${'de89 3704 0044 0532 0130 00 is closed'} | ${'…0 00 is closed'}
  ${iban}         | ${'card 4111-1111 1111 1111'}              | ${'card …1111'}
  ${iban}         | ${`${key} was refused on 2026-11-29`}      | ${`${key} was refused on 2026-11-29`}
  ${'acct.+1'}    | ${'acct.+1 is closed'}                     | ${'acct.+1 is closed'}
  ${'w.(llet+$x'} | ${'W.(LLET+$X is closed'}                  | ${'…T+$X is closed'}
  ${'1'}          | ${'code 1'}                                | ${'code 1'}
`('the reason "$said" is kept as "$kept"', ({ destination, said, kept }) => {
  const masked = maskedReason(said as string, { destination: destination as string, idempotencyKey: key });
  expect(masked).toBe(kept);
});

test('a reference keeps its numbers, and loses where the payout goes', () => {
  const payout = { destination: iban, idempotencyKey: key };
  expect(maskedReference('202611290000000017', payout)).toBe('202611290000000017');
  expect(maskedReference(`R ${iban}`, payout)).toBe('R …3000');
  expect(maskedReference(null, payout)).toBeNull();
});
