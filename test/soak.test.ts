import { describe, expect, test } from '@jest/globals';
import { runHistory } from './soak/history.js';
import { planOf, type Plan } from './soak/plan.js';
import { quoted, type Store } from './soak/store.js';
import { serverUrl } from './support/databases.js';

// A short soak; `npm run soak` goes on for hours. The server is shared by all test files, so nobody kills it here.

const server = () => ({ url: serverUrl(), crash: null });

function planned(engine: 'sqlite' | 'server', seed: number, length: number): Plan {
  const plan = planOf(seed, engine, length);
  const operations = plan.operations.map((operation) =>
    operation.fault?.kind === 'serverCrash' || operation.fault?.kind === 'lock'
      ? { ...operation, fault: null }
      : operation,
  );
  return { ...plan, operations };
}

describe.each([
  ['sqlite', [1]],
  ['server', [7]],
] as const)('a short soak [%s]', (engine, seeds) => {
  test.each([...seeds])(
    'of seed %i leaves the tables that the model has',
    async (seed) => {
      const { violation, lines } = await runHistory(planned(engine, seed, 9), { server: server() });
      expect({ violation, lines }).toEqual({ violation: null, lines });
    },
    300_000,
  );
});

describe('a soak names what somebody changes behind its back', () => {
  const first = async (store: Store, sql: string): Promise<string> => {
    const [row] = await store.rows(sql);
    return quoted(row?.[0] ?? '');
  };
  const settled = `select order_no from settlement_order where state = 'SUCCESS' order by id limit 1`;
  const plants: [string, (store: Store) => Promise<unknown>, RegExp][] = [
    [
      'an order that is INIT again',
      async (store) =>
        store.change(
          `update settlement_order set state = 'INIT', version = 0, run_id = null, chunk_no = null, finished_at = null
            where order_no = ${await first(store, settled)}`,
        ),
      /^order N0-\d+: the model has .* SUCCESS, the tables .* INIT$/,
    ],
    [
      'a net one unit larger',
      (store) => store.change('update net set amount_minor = amount_minor + 1 where chunk_no = 1 and net_no = 1'),
      /^net 2024-03-0\d \S+ [A-Z]{3}: the model has/,
    ],
    [
      'a ledger entry that is gone',
      async (store) => {
        await store.change('drop trigger ledger_entry_no_delete');
        await store.change(
          `delete from ledger_entry where journal_entry_id = ${await first(store, 'select min(journal_entry_id) from ledger_entry')}`,
        );
      },
      /^ledger 2024-03-0\d /,
    ],
    [
      'a message that was never sent',
      (store) => store.change(`delete from outbox where id = 1`),
      /messages: MISSING|has no message/,
    ],
    [
      'a day that is open again',
      (store) => store.change(`update batch set state = 'RECONCILING', closed_at = null, orders_at_close = null`),
      /^day /,
    ],
    ['a frozen account', (store) => store.change(`update account set state = 'FROZEN'`), /^account /],
    [
      'a lease that is never given back',
      (store) => store.change(`update lease set owner = '{}', expires_ms = 1`),
      /lease/,
    ],
  ];
  test.each(plants)('%s', async (_name, plant, sentence) => {
    const plan: Plan = {
      seed: 5,
      engine: 'sqlite',
      faults: [],
      operations: (['importOrders', 'run', 'quarantineList'] as const).map((kind, index) => ({
        index,
        kind,
        fault: null,
      })),
    };
    const { violation } = await runHistory(plan, {
      server: null,
      between: async (store, index) => {
        if (index === 1) await plant(store);
      },
    });
    expect(violation?.problems).toContainEqual(expect.stringMatching(sentence));
  });
});
