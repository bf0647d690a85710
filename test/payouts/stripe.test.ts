import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { fromStripe, toStripe, type StripeMode } from '../../src/payouts/channels/stripeMoney.js';
import { StripeChannel } from '../../src/payouts/channels/stripe.js';
import type { ChannelAnswer, PayoutInstruction } from '../../src/payouts/channel.js';
import { exitCodes } from '../../src/kernel/errors.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { alerts, check, payoutBalances, payoutLines, plan, quickRules, submit } from '../support/payouts.js';
import { StripeStandIn, type Twist } from '../support/stripeStandIn.js';

// On the real `stripe` package, against a stand-in for its API. No account of Stripe is touched.

let standIn: StripeStandIn;
let channels: StripeChannel[];
beforeEach(async () => {
  standIn = await StripeStandIn.start();
  channels = [];
});
afterEach(async () => {
  for (const channel of channels) await channel.close();
  await standIn.stop();
});

const rules = { ...quickRules, timeoutMs: 300 };
const opened = (mode: StripeMode = 'transfers', settings: { url?: string; apiKey?: string } = {}): StripeChannel => {
  const channel = new StripeChannel('bank', rules, { apiKey: 'sk_test_stand_in', mode, url: standIn.url, ...settings });
  channels.push(channel);
  return channel;
};
const never = new AbortController().signal;
const instruction: PayoutInstruction = {
  idempotencyKey: '20261129-0123456789abcdef0123456789',
  amountMinor: 1250n,
  currency: 'EUR',
  destination: 'acct_1',
  holder: '',
  batchDay: '2026-11-29',
};

describe('amounts at Stripe', () => {
  test.each`
    currency | minor                     | mode           | at
    ${'USD'} | ${1250n}                  | ${'transfers'} | ${1250}
    ${'JPY'} | ${500n}                   | ${'transfers'} | ${500}
    ${'KWD'} | ${5120n}                  | ${'transfers'} | ${5120}
    ${'KWD'} | ${5124n}                  | ${'transfers'} | ${'Stripe pays KWD in two decimals only, and nothing is rounded.'}
    ${'ISK'} | ${5n}                     | ${'transfers'} | ${500}
    ${'UGX'} | ${5n}                     | ${'payouts'}   | ${500}
    ${'MGA'} | ${500n}                   | ${'transfers'} | ${5}
    ${'MGA'} | ${510n}                   | ${'transfers'} | ${'Stripe pays MGA in whole units only, and nothing is rounded.'}
    ${'HUF'} | ${1050n}                  | ${'transfers'} | ${1050}
    ${'HUF'} | ${1050n}                  | ${'payouts'}   | ${'Stripe pays HUF in whole units only, and nothing is rounded.'}
    ${'TWD'} | ${1000n}                  | ${'payouts'}   | ${1000}
    ${'CLF'} | ${10000n}                 | ${'transfers'} | ${'Stripe does not pay in CLF.'}
    ${'USD'} | ${9_007_199_254_740_993n} | ${'transfers'} | ${'The amount is larger than Stripe takes.'}
  `('$minor minor units of $currency in $mode: $at', ({ currency, minor, mode, at }) => {
    const amount = toStripe(minor as bigint, currency as string, mode as StripeMode);
    expect(amount).toBe(at);
    if (typeof amount === 'number') expect(fromStripe(amount, currency as string)).toBe(minor);
  });

  test('that Stripe cannot carry are refused before anything is sent', async () => {
    expect(await opened().submit({ ...instruction, currency: 'KWD', amountMinor: 1n }, never)).toMatchObject({
      kind: 'REFUSED',
    });
    expect(standIn.asked).toEqual([]);
  });
});

describe('a transfer', () => {
  test('carries our key as idempotency key, transfer group and metadata', async () => {
    expect(await opened().submit(instruction, never)).toEqual({
      kind: 'PAID',
      reference: 'tr_1',
      amountMinor: 1250n,
      currency: 'EUR',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const [request] = standIn.asked;
    expect(request?.key).toBe(instruction.idempotencyKey);
    expect(Object.fromEntries(request?.body ?? [])).toEqual({
      amount: '1250',
      currency: 'eur',
      destination: 'acct_1',
      transfer_group: instruction.idempotencyKey,
      'metadata[settle_key]': instruction.idempotencyKey,
    });
  });

  test.each<[Twist, Partial<ChannelAnswer>]>([
    ['lost', { kind: 'UNCLEAR', cause: 'TIMEOUT' }],
    ['silent', { kind: 'UNCLEAR', cause: 'TIMEOUT' }],
    ['drip', { kind: 'UNCLEAR', cause: 'TIMEOUT' }],
    ['cut', { kind: 'UNCLEAR', cause: 'CONNECTION_CUT' }],
    ['cut half-way', { kind: 'UNCLEAR', cause: 'CONNECTION_CUT' }],
    ['html', { kind: 'UNCLEAR', cause: 'UNREADABLE_ANSWER' }],
    ['empty object', { kind: 'UNCLEAR', cause: 'UNREADABLE_ANSWER' }],
    ['failed after it was done', { kind: 'UNCLEAR', cause: 'SERVER_ERROR' }],
    ['too many', { kind: 'UNCLEAR', cause: 'RATE_LIMITED' }],
    ['busy', { kind: 'IN_PROGRESS', reference: null }],
    [{ refuse: 'balance_insufficient' }, { kind: 'REFUSED', reason: 'Stripe: balance_insufficient' }],
    [
      { refuse: 'account_invalid', status: 403 },
      { kind: 'REFUSED', reason: 'Stripe: account_invalid' },
    ],
    [{ refuse: 'parameter_unknown' }, { kind: 'UNCLEAR', cause: 'UNREADABLE_ANSWER' }],
    [
      { refuse: 'card_declined', status: 402, type: 'card_error' },
      { kind: 'UNCLEAR', cause: 'UNREADABLE_ANSWER' },
    ],
  ])('answered by %j', async (twist, answer) => {
    standIn.twists = [twist];
    expect(await opened().submit(instruction, never)).toMatchObject(answer);
    expect(standIn.asked).toHaveLength(1);
  });

  test('under a key that Stripe knows with another amount is unclear, and says so', async () => {
    const channel = opened();
    await channel.submit(instruction, never);
    expect(await channel.submit({ ...instruction, amountMinor: 1n }, never)).toMatchObject({
      kind: 'UNCLEAR',
      detail: expect.stringContaining('knows the key with another request'),
    });
    expect(standIn.made).toHaveLength(1);
  });

  test.each`
    because                      | settings
    ${'nobody listens'}          | ${'no listener'}
    ${'the name is not known'}   | ${{ url: 'http://nowhere.invalid:1' }}
    ${'the key is not accepted'} | ${{ apiKey: 'sk_test_other' }}
  `('is not asked for, since $because', async ({ settings }) => {
    let given = settings as { url?: string };
    if (settings === 'no listener') {
      const closed = createServer().listen(0, '127.0.0.1');
      await once(closed, 'listening');
      given = { url: `http://127.0.0.1:${String((closed.address() as AddressInfo).port)}` };
      closed.close();
      await once(closed, 'close');
    }
    const answer = await opened('transfers', given).submit(instruction, never);
    expect(answer.kind).toBe('UNREACHABLE');
    expect(JSON.stringify(answer)).not.toContain('sk_test');
    expect(standIn.made).toEqual([]);
  });

  test('is not waited for any longer once the program stops', async () => {
    standIn.twists = ['silent'];
    const stop = new AbortController();
    const answer = opened().submit(instruction, stop.signal);
    setTimeout(() => {
      stop.abort();
    }, 50);
    expect(await answer).toMatchObject({ kind: 'UNCLEAR', cause: 'CONNECTION_CUT' });
  });

  test('is found again by our key, and of what was taken back the rest counts', async () => {
    const channel = opened();
    expect(await channel.query(instruction, never)).toMatchObject({ kind: 'NOT_FOUND' });
    standIn.twists = ['cut'];
    await channel.submit(instruction, never);
    expect(await channel.query(instruction, never)).toMatchObject({ kind: 'PAID', amountMinor: 1250n });
    Object.assign(standIn.made[0] ?? {}, { amount_reversed: 1000 });
    expect(await channel.query(instruction, never)).toMatchObject({ kind: 'PAID', amountMinor: 250n });
  });

  test('is not found in a transfer group where others book', async () => {
    const channel = opened();
    await channel.submit(instruction, never);
    Object.assign(standIn.made[0] ?? {}, { metadata: {} });
    expect(await channel.query(instruction, never)).toMatchObject({ kind: 'UNCLEAR', cause: 'UNREADABLE_ANSWER' });
  });
});

describe('a payout', () => {
  test.each`
    status          | answer
    ${'pending'}    | ${{ kind: 'IN_PROGRESS', reference: 'po_1' }}
    ${'in_transit'} | ${{ kind: 'IN_PROGRESS', reference: 'po_1' }}
    ${'paid'}       | ${{ kind: 'PAID', reference: 'po_1', amountMinor: 1250n, currency: 'EUR' }}
    ${'failed'}     | ${{ kind: 'REFUSED', reference: 'po_1', reason: 'Stripe: account_closed' }}
    ${'canceled'}   | ${{ kind: 'REFUSED', reference: 'po_1', reason: 'Stripe: canceled' }}
    ${'invented'}   | ${{ kind: 'UNCLEAR', cause: 'UNREADABLE_ANSWER' }}
  `('that is $status', async ({ status, answer }) => {
    const channel = opened('payouts');
    await channel.submit(instruction, never);
    Object.assign(standIn.made[0] ?? {}, { status, failure_code: status === 'failed' ? 'account_closed' : null });
    expect(await channel.query({ ...instruction, channelReference: 'po_1' }, never)).toMatchObject(answer as object);
    expect(await channel.query(instruction, never)).toMatchObject(answer as object);
  });

  test.each`
    destination      | account     | external
    ${'ba_9'}        | ${null}     | ${'ba_9'}
    ${'acct_1'}      | ${'acct_1'} | ${null}
    ${'acct_1/ba_9'} | ${'acct_1'} | ${'ba_9'}
  `('to $destination', async ({ destination, account, external }) => {
    await opened('payouts').submit({ ...instruction, destination: destination as string }, never);
    expect(standIn.made).toMatchObject([{ account: account as string | null, destination: external as string | null }]);
  });

  test('whose id is not known is found among many, page after page', async () => {
    const channel = opened('payouts');
    for (let payout = 0; payout < 205; payout += 1) {
      await channel.submit({ ...instruction, idempotencyKey: `k${String(payout)}` }, never);
    }
    expect(await channel.query({ ...instruction, idempotencyKey: 'k3' }, never)).toMatchObject({ reference: 'po_4' });
    expect(await channel.query(instruction, never)).toMatchObject({ kind: 'NOT_FOUND' });
  });
});

describe.each(databaseKinds)('payouts over Stripe [%s]', (kind) => {
  let place: TestDatabase;
  beforeEach(async () => {
    place = await createTestDatabase(kind);
    await givenOrders(
      place.database,
      Array.from({ length: 8 }, (_, at) => ({
        orderNo: `O${String(at)}`,
        accountNo: `A${String(at)}`,
        minor: 100 + at,
      })),
    );
    expect((await runDay(place.database)).exitCode).toBe(exitCodes.OK);
    await plan(place.database, {
      routesOf: () =>
        Promise.resolve(() => ({ channel: 'bank', destination: 'acct_1', holder: '', maximumMinor: null })),
    });
  });
  afterEach(() => place.drop());

  test('whatever goes wrong on the way, each key is paid once and the books agree', async () => {
    standIn.twists = [
      'silent',
      'cut',
      'failed after it was done',
      'lost',
      'html',
      'too many',
      { refuse: 'no_account' },
    ];
    standIn.staleLists = 3; // so that some are submitted again, under their key
    const channel = opened();
    channel.rules.concurrency = 1;
    for (let round = 0; round < 4; round += 1) {
      await submit(place.database, channel);
      await check(place.database, channel);
    }
    const groups = standIn.made.map(({ transfer_group: group }) => group);
    expect(new Set(groups).size).toBe(groups.length);
    const states = (await payoutLines(place.database)).map((line) => line.split(' ')[3]);
    expect(states.sort()).toEqual(['FAILED', ...Array.from({ length: 7 }, () => 'SUCCESS')]);
    const paid = standIn.made.reduce((sum, { amount }) => sum + amount, 0);
    expect(await payoutBalances(place.database)).toContain(`CHANNEL_CASH bank ${String(-paid)}`);
    expect(await alerts(place.database)).toEqual([]);
    expect(standIn.asked.filter(({ method }) => method === 'POST').length).toBeGreaterThan(8);
  });
});
