import type Stripe from 'stripe';
import type { z } from 'zod';
import type { ChannelAnswer, ChannelRules, PayoutChannel, PayoutInstruction } from '../channel.js';
import {
  errorAnswer,
  keyName,
  listOf,
  payoutAnswer,
  payoutObject,
  transferObject,
  transfersAnswer,
  unreadable,
  type PayoutObject,
} from './stripeAnswers.js';
import { ChannelConnections } from './httpConnections.js';
import { digestHeader, sendsOnce } from './stripeHttp.js';
import { toStripe, type StripeMode } from './stripeMoney.js';

export interface StripeSettings {
  readonly apiKey: string;
  readonly mode: StripeMode;
  /** Where the API is. */
  readonly url: string;
}

/** Where a payout goes: an account that is connected to ours, an external account such as `ba_…`, or one of such an account. */
const destinations: Record<StripeMode, RegExp> = {
  transfers: /^(?<account>acct_[A-Za-z0-9]+)$/,
  payouts:
    /^(?:(?<account>acct_[A-Za-z0-9]+)(?:\/(?<external>(?:ba|card)_[A-Za-z0-9]+))?|(?<own>(?:ba|card)_[A-Za-z0-9]+))$/,
};

/** Payouts on one page of a list, and pages that are looked through for one whose id is not known. */
const pageSize = 100;
const pagesMax = 50;

const daySeconds = 86_400;

/**
 * Pays over Stripe, with its own package, which is loaded with the first request. Our key is the idempotency key, the
 * transfer group, and in the metadata, so that a transfer is found by it; payouts at Stripe can be listed by time only,
 * and are looked through.
 */
export class StripeChannel implements PayoutChannel {
  private opened: Promise<Stripe> | undefined;
  private readonly connections: ChannelConnections;

  constructor(
    readonly name: string,
    readonly rules: ChannelRules,
    private readonly settings: StripeSettings,
  ) {
    this.connections = new ChannelConnections(new URL(settings.url), { ca: null, ...rules });
  }

  async submit(payout: PayoutInstruction, signal: AbortSignal): Promise<ChannelAnswer> {
    const { mode } = this.settings;
    const amount = toStripe(payout.amountMinor, payout.currency, mode);
    if (typeof amount === 'string') return { kind: 'REFUSED', reference: null, reason: amount };
    const to = destinations[mode].exec(payout.destination)?.groups;
    if (to === undefined)
      return { kind: 'REFUSED', reference: null, reason: `No account that Stripe's ${mode} go to.` };
    const key = payout.idempotencyKey;
    const common = { amount, currency: payout.currency.toLowerCase(), metadata: { [keyName]: key } };
    return this.ask('submit', signal, async (api) => {
      if (mode === 'transfers') {
        const params = { ...common, destination: to['account'] ?? '', transfer_group: key };
        return this.read(transferObject, await api.transfers.create(params, { idempotencyKey: key }), key, (one) =>
          transfersAnswer([one]),
        );
      }
      const external = to['external'] ?? to['own'];
      const made = await api.payouts.create(
        { ...common, ...(external === undefined ? {} : { destination: external }) },
        { idempotencyKey: key, ...onBehalfOf(payout) },
      );
      return this.read(payoutObject, made, key, payoutAnswer);
    });
  }

  query(payout: PayoutInstruction, signal: AbortSignal): Promise<ChannelAnswer> {
    const { mode } = this.settings;
    return this.ask('query', signal, async (api) =>
      mode === 'transfers' ? this.findTransfers(api, payout.idempotencyKey) : this.findPayout(api, payout),
    );
  }

  close(): Promise<void> {
    this.connections.destroy();
    return Promise.resolve();
  }

  private async findTransfers(api: Stripe, key: string): Promise<ChannelAnswer> {
    const listed = await api.transfers.list({ transfer_group: key, limit: pageSize });
    const page = listOf(transferObject).safeParse(listed);
    if (!page.success) return unreadable('no list of transfers');
    const ours = page.data.data.filter(({ metadata }) => metadata[keyName] === key);
    if (ours.length < page.data.data.length || page.data.has_more)
      return unreadable('transfers of others under our key');
    return { ...transfersAnswer(ours), digest: digestOf(listed) };
  }

  private async findPayout(api: Stripe, payout: PayoutInstruction): Promise<ChannelAnswer> {
    const { idempotencyKey: key, channelReference, batchDay } = payout;
    const options = onBehalfOf(payout);
    if (channelReference?.startsWith('po_') === true) {
      return this.read(payoutObject, await api.payouts.retrieve(channelReference, {}, options), key, payoutAnswer);
    }
    // It was made after its batch day began, wherever on earth that was.
    const created = { gte: Math.floor(Date.parse(batchDay) / 1_000) - daySeconds };
    let last: PayoutObject | undefined;
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const after = last === undefined ? {} : { starting_after: last.id };
      const listed = await api.payouts.list({ created, limit: pageSize, ...after }, options);
      const page = listOf(payoutObject).safeParse(listed);
      if (!page.success) return unreadable('no list of payouts');
      const found = page.data.data.find(({ metadata }) => metadata[keyName] === key);
      if (found !== undefined) return { ...payoutAnswer(found), digest: digestOf(listed) };
      last = page.data.data[page.data.data.length - 1];
      if (!page.data.has_more || last === undefined) return { kind: 'NOT_FOUND', digest: digestOf(listed) };
    }
    return unreadable(`more than ${String(pagesMax * pageSize)} payouts to look through`);
  }

  private read<Schema extends z.ZodType<{ metadata: Record<string, string> }>>(
    schema: Schema,
    made: object,
    key: string,
    answer: (read: z.output<Schema>) => ChannelAnswer,
  ): ChannelAnswer {
    const read = schema.safeParse(made);
    if (!read.success || read.data.metadata[keyName] !== key)
      return unreadable('something that is not what was asked for');
    return { ...answer(read.data), digest: digestOf(made) };
  }

  private async ask(
    ask: 'submit' | 'query',
    signal: AbortSignal,
    work: (api: Stripe) => Promise<ChannelAnswer>,
  ): Promise<ChannelAnswer> {
    const api = await (this.opened ??= this.open());
    let stop: (() => void) | undefined;
    const stopped = new Promise<ChannelAnswer>((resolve) => {
      stop = () => {
        resolve({ kind: 'UNCLEAR', cause: 'CONNECTION_CUT', detail: 'The answer was not waited for.' });
      };
      signal.addEventListener('abort', stop, { once: true });
    });
    try {
      if (signal.aborted) return { kind: 'UNREACHABLE', detail: 'Nothing is sent any more.' };
      return await Promise.race([work(api).catch((error: unknown) => errorAnswer(error, ask)), stopped]);
    } finally {
      if (stop !== undefined) signal.removeEventListener('abort', stop);
    }
  }

  private async open(): Promise<Stripe> {
    const { default: stripe } = await import('stripe');
    const { apiKey, url } = this.settings;
    const { hostname: host, port, protocol } = new URL(url);
    const isTls = protocol === 'https:';
    return new stripe(apiKey, {
      httpClient: sendsOnce(stripe, this.connections),
      maxNetworkRetries: 0,
      timeout: this.rules.timeoutMs,
      telemetry: false,
      host,
      port: port === '' ? (isTls ? 443 : 80) : Number(port),
      protocol: isTls ? 'https' : 'http',
    });
  }
}

function onBehalfOf({ destination }: PayoutInstruction): { stripeAccount?: string } {
  const account = destinations.payouts.exec(destination)?.groups?.['account'];
  return account === undefined ? {} : { stripeAccount: account };
}

function digestOf(answer: object): string | null {
  const last = (answer as { lastResponse?: { headers?: Record<string, string> } }).lastResponse;
  return last?.headers?.[digestHeader] ?? null;
}
