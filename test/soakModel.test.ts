import { expect, test } from '@jest/globals';
import { Model, type ModelOrder } from './soak/model.js';
import { carryOut, owedDays, type RunAsk } from './soak/modelRun.js';
import { planOf } from './soak/plan.js';

// The model of the soak against figures worked out by hand: a model that agrees with everything proves nothing.

const [one, two] = ['2024-03-01', '2024-03-02'] as const;
const ask = (target: string, more: Partial<RunAsk> = {}): RunAsk => ({
  ...{ target, lookBackDays: 31, accounts: null, range: null, detailed: false },
  ...more,
});

function given(orders: Partial<ModelOrder>[]): Model {
  const model = new Model();
  orders.forEach((order, at) => {
    const no = `O${String(at + 1)}`;
    model.orders.set(no, {
      ...{ no, id: BigInt(at + 1), account: 'A', day: one, type: 'PAYMENT', minor: 100n, currency: 'USD' },
      ...{ channel: 'CARD', state: 'INIT', parked: false },
      ...order,
    });
  });
  model.accounts.set('A', 'ACTIVE').set('F', 'FROZEN');
  return model;
}

test('a run settles what is owed, missed days first, and sets a frozen account aside', () => {
  const model = given([{}, { type: 'FEE', minor: 30n, day: two }, { account: 'F', day: two }]);
  expect(owedDays(model, two, 31)).toEqual([one, two]);
  expect(carryOut(model, ask(two))).toEqual({
    exitCode: 3,
    document: {
      ...{ outcome: 'PARTIAL', closed: true, alreadyClosed: false, quarantined: 1, leftOrders: 0 },
      settledNow: { USD: [1, '-30'] },
    },
  });
  expect([...model.orders.values()].map(({ state }) => state)).toEqual(['SUCCESS', 'SUCCESS', 'INIT']);
  expect([...model.setAside]).toEqual([[`${two} F`, { code: 'ACCOUNT_FROZEN', orders: 1 }]]);
  expect(owedDays(model, two, 31)).toEqual([]);
});

test('an account is released once it is active, and the day is owed until a run has tried it again', () => {
  const model = given([{ account: 'F' }]);
  carryOut(model, ask(one));
  expect(model.release('F', null)).toBe(5);
  model.accounts.set('F', 'ACTIVE');
  expect([model.release('F', null), model.release('F', null)]).toEqual([0, 2]);
  expect(owedDays(model, two, 31)).toEqual([one, two]);
  expect(carryOut(model, ask(one)).exitCode).toBe(0);
});

test('a refused ledger entry keeps its day open, and the next one is not begun', () => {
  const model = given([{}, { day: two }]);
  model.refusing.ledger.add('A');
  expect(carryOut(model, ask(two))).toEqual({ exitCode: 5, document: null });
  model.refusing.ledger.clear();
  expect(carryOut(model, ask(one)).exitCode).toBe(3); // parked until somebody puts it back
  model.requeue();
  expect(carryOut(model, ask(two)).exitCode).toBe(0);
});

test('nothing is due only when nothing was', () => {
  const model = given([]);
  carryOut(model, ask(two));
  expect(carryOut(model, ask(two, { detailed: true })).exitCode).toBe(10);
  model.orders.set('L', { ...(given([{}]).orders.get('O1') as ModelOrder), no: 'L' });
  expect(carryOut(model, ask(two, { detailed: true })).exitCode).toBe(0);
});

test('an order on a closed day that no run would look for is forgotten', () => {
  const model = given([{}]);
  model.days.set(one, { closed: true, counted: 1, unended: false, released: false });
  expect(model.forgotten()).toEqual([`order O1 is INIT on closed ${one}, and no run will look for it`]);
});

test('a seed gives the same history every time, and about a quarter of the seeds have no fault', () => {
  expect(planOf(42, 'server', 40)).toEqual(planOf(42, 'server', 40));
  const quiet = Array.from({ length: 400 }, (_, seed) => planOf(seed, 'server', 1)).filter(
    ({ faults }) => faults.length === 0,
  );
  expect(quiet.length).toBeGreaterThan(60);
  expect(quiet.length).toBeLessThan(140);
});
