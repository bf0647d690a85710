import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { verifyBooks } from '../../src/reconciliation/verify.js';
import { runDay } from '../support/day.js';
import { foreignPlace, type ForeignPlace } from '../support/sources.js';

// Each fault in a day that was settled from a table of others, on the two places that differ most.

describe.each([
  ['t_order', 'server', 'amount', 'merchant_id'],
  ['transactions', 'sqlite', 'cents', 'seller'],
] as const)('verify of orders in %s [%s]', (name, kind, amount, account) => {
  let place: ForeignPlace;
  beforeEach(async () => {
    place = await foreignPlace(name, kind);
    const orders = Array.from({ length: 20 }, (_, at) => ({ no: `P${String(at)}`, account: '100', minor: 10 + at }));
    await place.insert([...orders, { no: 'R1', account: '100', minor: 3, type: 'REFUND', reverses: 'P4' }]);
    await runDay(place.database, { calendar: place.config.calendar });
  });
  afterEach(async () => {
    await place.test.drop();
  });

  const set = (what: string, no = 'P7'): string => `update ${name} set ${what} where ${place.table.no} = '${no}'`;
  test.each<[string, () => string, RegExp]>([
    ['another amount', () => set(`${amount} = ${amount} + 1`), /^net /m],
    ['another account', () => set(`${account} = '105'`), /^net /m],
    ['a settled order that is gone', () => `delete from ${name} where ${place.table.no} = 'P7'`, /^chunk /m],
    [
      'a settled order that is cancelled',
      () => set(`${place.table.state} = ${place.table.states.CANCELED}`),
      /is CANCELED, but chunk [0-9]+ has claimed it/,
    ],
    [
      'a claim that is gone',
      () =>
        `delete from claimed_order where order_id = (select ${place.table.id} from ${name} where ${place.table.no} = 'P7')`,
      /^chunk /m,
    ],
    ['a reversal of more than there was', () => set(`${amount} = ${amount} * 100`, 'R1'), /^reversal /m],
  ])('finds %s', async (_what, fault, found) => {
    const contradictions = async (): Promise<string> =>
      (await verifyBooks(place.database))
        .flatMap((check) =>
          check.contradictions.map(({ table, key, problem }) => `${check.name} ${table} ${key} ${problem}`),
        )
        .join('\n');
    expect(await contradictions()).toBe('');
    await place.test.database.transact({
      name: 'fault',
      work: (trx) => trx.change(fault()),
      landed: () => Promise.resolve(undefined),
    });
    expect(await contradictions()).toMatch(found);
  });
});
