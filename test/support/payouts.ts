import type { Database } from '../../src/db/database.js';
import { noPayoutTerms, type Route } from '../../src/payouts/planAccount.js';
import { planPayouts, type PayoutPlan, type PlanPorts } from '../../src/payouts/planPayouts.js';
import { PaymentBook } from '../../src/payouts/channels/paymentBook.js';
import { checkPayouts, submitPayouts, type Checked, type Submitted } from '../../src/payouts/submitPayouts.js';
import type { ChannelAnswer, ChannelRules, PayoutChannel, PayoutInstruction } from '../../src/payouts/channel.js';
import type { SubmissionPorts } from '../../src/payouts/claims.js';
import { day } from './day.js';

/** Rules without pauses, so that a test need not wait. */
export const quickRules: ChannelRules = {
  keyLifetimeMs: 86_400_000,
  settlingHorizonMs: 0,
  checkAfterMs: [0],
  checks: 3,
  attempts: 3,
  perSecond: 10_000,
  concurrency: 8,
  timeoutMs: 1_000,
  currencies: null,
  maximum: new Map(),
};

type Behaviour = (payout: PayoutInstruction, book: PaymentBook) => ChannelAnswer | Promise<ChannelAnswer>;

export const paid: Behaviour = (payout, book) => {
  const { reference, amountMinor, currency } = book.execute(payout, 'PAID');
  return { kind: 'PAID', reference, amountMinor, currency };
};
export const refused: Behaviour = (payout, book) => {
  const { reference } = book.execute(payout, 'REFUSED');
  return { kind: 'REFUSED', reference, reason: 'account closed' };
};
/** The request is carried out, and the answer lost. */
export const paidUnheard: Behaviour = (payout, book) => {
  book.execute(payout, 'PAID');
  return lost(payout, book);
};
/** The request is lost on the way. */
export const lost: Behaviour = () => ({ kind: 'UNCLEAR', cause: 'TIMEOUT', detail: 'no answer' });
export const truth: Behaviour = ({ idempotencyKey }, book) => {
  const booked = book.find(idempotencyKey);
  if (booked === undefined) return { kind: 'NOT_FOUND' };
  const { reference, amountMinor, currency } = booked;
  return booked.outcome === 'PAID'
    ? { kind: 'PAID', reference, amountMinor, currency }
    : { kind: 'REFUSED', reference, reason: 'account closed' };
};

/** A channel that does as it is told, request after request, and keeps a book of what it really paid. */
export class ScriptedChannel implements PayoutChannel {
  readonly book = new PaymentBook();
  readonly asked: { ask: 'submit' | 'query'; key: string; amountMinor: bigint }[] = [];
  rules: ChannelRules = quickRules;
  submits: Behaviour[] = [];
  queries: Behaviour[] = [];

  constructor(readonly name = 'bank') {}

  submit(payout: PayoutInstruction): Promise<ChannelAnswer> {
    return this.act('submit', payout, this.submits.shift() ?? paid);
  }

  query(payout: PayoutInstruction): Promise<ChannelAnswer> {
    return this.act('query', payout, this.queries.shift() ?? truth);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async act(ask: 'submit' | 'query', payout: PayoutInstruction, behave: Behaviour): Promise<ChannelAnswer> {
    this.asked.push({ ask, key: payout.idempotencyKey, amountMinor: payout.amountMinor });
    return behave(payout, this.book);
  }
}

const ports = {
  now: () => '2026-11-30T02:00:00.000Z',
  actor: 'test',
  onOutcome: () => undefined,
  signal: new AbortController().signal,
  haste: new AbortController().signal,
};
const everybody = (): Promise<() => typeof noPayoutTerms> => Promise.resolve(() => noPayoutTerms);

export function plan(database: Database, overrides: Partial<PlanPorts> = {}): Promise<PayoutPlan | null> {
  const route: Route = { channel: 'bank', destination: 'DE00', holder: 'A', maximumMinor: null };
  return planPayouts(database, {
    namespace: 'test',
    now: ports.now,
    termsOn: everybody,
    routesOf: () => Promise.resolve(() => route),
    signal: ports.signal,
    ...overrides,
  });
}

export function submit(
  database: Database,
  channel: PayoutChannel,
  overrides: Partial<SubmissionPorts> = {},
): Promise<Submitted> {
  return submitPayouts(database, channel, { ...ports, dueUpTo: day, termsOn: everybody, ...overrides });
}

export function check(database: Database, channel: PayoutChannel): Promise<Checked> {
  return checkPayouts(database, channel, ports);
}

/** "A1 USD 100 SUCCESS" of every payout, in the order of ids. */
export async function payoutLines(database: Database): Promise<string[]> {
  const rows = await database.read((session) =>
    session.tuples('select account_no, currency, amount_minor, state from payout order by id'),
  );
  return rows.map((row) => row.map(String).join(' '));
}

/** What the books say of payouts: "MERCHANT_PAYABLE A1 -100", debits less credits, zeros left out. */
export async function payoutBalances(database: Database): Promise<string[]> {
  const rows = await database.read((session) =>
    session.tuples(
      `select e.ledger_account, e.sub_account, e.side, e.amount_minor
         from journal_entry j join ledger_entry e on e.journal_entry_id = j.id where j.type = 'PAYOUT'`,
    ),
  );
  const sums = new Map<string, bigint>();
  for (const [account, sub, side, amount] of rows) {
    const key = `${String(account)} ${String(sub)}`;
    const minor = BigInt(String(amount));
    sums.set(key, (sums.get(key) ?? 0n) + (side === 'DEBIT' ? minor : -minor));
  }
  return [...sums]
    .filter(([, sum]) => sum !== 0n)
    .map(([key, sum]) => `${key} ${String(sum)}`)
    .sort();
}

export async function alerts(database: Database): Promise<string[]> {
  const rows = await database.read((session) =>
    session.tuples(`select biz_no, payload from outbox where topic = 'ALERT' order by id`),
  );
  return rows.map(([bizNo, payload]) => `${String(bizNo)} ${String(payload)}`);
}
