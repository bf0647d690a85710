import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { PayoutInstruction } from '../channel.js';
import { isSigned, signatureHeader } from './httpSignature.js';
import { PaymentBook, type BookedPayment } from './paymentBook.js';
import { ruleFor, scenarioSchema, type Scenario, type ScenarioInput, type ScenarioRule } from './scenario.js';

const submission = z.strictObject({
  idempotencyKey: z.string().min(1).max(64),
  amount: z.strictObject({ currency: z.string().length(3), minor: z.string().regex(/^[1-9][0-9]{0,18}$/) }),
  destination: z.string().min(1),
  holder: z.string(),
  batchDay: z.string(),
});

/** What a simulated channel counted, beside its book. */
export interface SimulatorCounts {
  submits: number;
  queries: number;
  rateLimited: number;
  badSignatures: number;
  /** Submissions whose body was another than the first one under the key. */
  bodiesDiffer: number;
}

export interface SimulatorOptions {
  scenario?: ScenarioInput;
  bookFile?: string | null;
  /** Null: signatures are not looked at. */
  secret?: string | null;
  /** Told of each step of a request, so that a test can act at that very moment. */
  onStep?: (step: 'arrived' | 'booked' | 'answered', on: 'submit' | 'query', key: string) => void;
}

/**
 * A channel as a server on this machine, which misbehaves as its scenario says: for tests and demonstrations. Its book says
 * what it really paid; `GET /book` shows it.
 */
export class SimulatorServer {
  readonly book: PaymentBook;
  readonly counts: SimulatorCounts = { submits: 0, queries: 0, rateLimited: 0, badSignatures: 0, bodiesDiffer: 0 };
  scenario: Scenario;
  private readonly server: Server;
  private readonly asked = new Map<string, number>();
  private readonly firstBody = new Map<string, { body: string; at: number }>();
  private readonly arrivals: number[] = [];
  private readonly closing = new AbortController();

  private constructor(private readonly options: SimulatorOptions) {
    this.book = new PaymentBook(options.bookFile ?? null);
    this.scenario = scenarioSchema.parse(options.scenario ?? {});
    this.server = createServer((request, response) => {
      this.take(request, response).catch(() => response.destroy());
    });
    this.server.keepAliveTimeout = 10_000;
  }

  /** Starts on a port of this machine, reachable from nowhere else; 0: any free one. */
  static async start(port: number, options: SimulatorOptions = {}): Promise<SimulatorServer> {
    const simulator = new SimulatorServer(options);
    await new Promise<void>((resolve, reject) => {
      simulator.server.once('error', reject);
      simulator.server.listen(port, '127.0.0.1', resolve);
    });
    return simulator;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}/payouts`;
  }

  async close(): Promise<void> {
    this.closing.abort();
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const body = await bodyOf(request);
    if (request.method === 'GET' && path === '/book') {
      json(response, 200, bookDocument(this.book.entries, this.counts));
      return;
    }
    const on = request.method === 'POST' ? 'submit' : 'query';
    const key = String(request.headers['idempotency-key'] ?? '');
    this.counts[on === 'submit' ? 'submits' : 'queries'] += 1;
    if (this.isTooFast()) {
      this.counts.rateLimited += 1;
      json(response, 429, { error: 'RATE_LIMITED' });
      return;
    }
    if (!this.isSigned(request, { path, idempotencyKey: key, body })) {
      this.counts.badSignatures += 1;
      json(response, 401, { error: 'BAD_SIGNATURE' });
      return;
    }
    const payout = on === 'submit' ? payoutOf(body, key) : null;
    if (on === 'submit' ? payout === null || path !== '/payouts' : path !== `/payouts/${encodeURIComponent(key)}`) {
      json(response, 400, { error: 'BAD_REQUEST' });
      return;
    }
    await this.act(on, key, payout, body, response);
  }

  private async act(
    on: 'submit' | 'query',
    key: string,
    payout: PayoutInstruction | null,
    body: string,
    response: ServerResponse,
  ): Promise<void> {
    const first = this.firstBody.get(key);
    const ageMs = first === undefined ? 0 : performance.now() - first.at;
    if (this.scenario.forgetAfterMs !== undefined && ageMs >= this.scenario.forgetAfterMs) this.book.forget(key);
    const nth = (this.asked.get(`${on} ${key}`) ?? 0) + 1;
    this.asked.set(`${on} ${key}`, nth);
    const rule = ruleFor(this.scenario, { on, key, nth, ageMs });
    this.options.onStep?.('arrived', on, key);
    if (payout !== null) {
      if (first === undefined) this.firstBody.set(key, { body, at: performance.now() });
      else if (first.body !== body) {
        this.counts.bodiesDiffer += 1;
        json(response, 422, { error: 'KEY_REUSED' });
        return;
      }
      this.pay(payout, rule);
      this.options.onStep?.('booked', on, key);
    }
    if (rule !== null && rule.delayMs > 0) await delay(rule.delayMs, undefined, { signal: this.closing.signal });
    response.once('finish', () => this.options.onStep?.('answered', on, key));
    await this.say(on, key, this.book.find(key), rule?.answer ?? 'TRUTH', response);
  }

  private pay(payout: PayoutInstruction, rule: ScenarioRule | null): void {
    const outcome = rule?.outcome ?? 'PAID';
    const asPaid = { ...payout, amountMinor: payout.amountMinor + BigInt(rule?.extraMinor ?? 0) };
    if (outcome === 'PAID' || outcome === 'REFUSED') this.book.execute(asPaid, outcome);
    else if (outcome === 'LATE') {
      const book = (): void => void this.book.execute(asPaid, 'PAID');
      delay(rule?.bookAfterMs ?? 0, undefined, { signal: this.closing.signal }).then(book, () => undefined);
    }
  }

  private async say(
    on: 'submit' | 'query',
    key: string,
    booked: BookedPayment | undefined,
    answer: ScenarioRule['answer'],
    response: ServerResponse,
  ): Promise<void> {
    const words = (status: string): object => ({ ...wordsOf(key, booked), status });
    switch (answer) {
      case 'TRUTH':
        if (booked !== undefined) json(response, 200, words(booked.outcome));
        else json(response, on === 'query' ? 404 : 200, words(on === 'query' ? 'NOT_FOUND' : 'NOT_PAID'));
        return;
      case 'CUT':
        response.destroy();
        return;
      case 'CUT_BODY':
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
        response.write(JSON.stringify(words('PAID')).slice(0, 40), () => response.destroy());
        return;
      case 'HANG':
        return;
      case 'DRIP':
        response.writeHead(200, { 'content-type': 'application/json' });
        for (const letter of JSON.stringify(words(booked?.outcome ?? 'NOT_PAID'))) {
          response.write(letter);
          await delay(100, undefined, { signal: this.closing.signal });
        }
        response.end();
        return;
      case 'ERROR_500':
        json(response, 500, { error: 'INTERNAL' });
        return;
      case 'HTML':
      case 'HTML_404':
        response.writeHead(answer === 'HTML' ? 200 : 404, { 'content-type': 'text/html' });
        response.end('<html><body>The service will be back soon.</body></html>');
        return;
      case 'FORBIDDEN_403':
        json(response, 403, { error: 'FORBIDDEN' });
        return;
      case 'REFUSED_422':
        json(response, 422, words('REFUSED'));
        return;
      case 'IN_PROGRESS':
        json(response, 409, words('IN_PROGRESS'));
        return;
      case 'NOT_FOUND':
        json(response, 404, { idempotencyKey: key, status: 'NOT_FOUND' });
        return;
      case 'NOT_PAID':
      case 'REFUSED':
        json(response, 200, words(answer));
        return;
      case 'OTHER_KEY':
        json(response, 200, { ...words('PAID'), idempotencyKey: `${key}x` });
        return;
      case 'OTHER_AMOUNT':
        json(response, 200, { ...words('PAID'), amount: { currency: booked?.currency ?? 'USD', minor: '1' } });
        return;
      case 'REDIRECT':
        response.writeHead(307, { location: '/payouts/elsewhere' });
        response.end();
        return;
    }
  }

  private isSigned(request: IncomingMessage, signed: { path: string; idempotencyKey: string; body: string }): boolean {
    const secret = this.options.secret ?? null;
    const header = request.headers[signatureHeader];
    const seconds = Math.floor(Date.now() / 1_000);
    return (
      secret === null ||
      isSigned(secret, typeof header === 'string' ? header : undefined, seconds, {
        method: request.method ?? '',
        ...signed,
      })
    );
  }

  /** Whether more requests than agreed came within any second that ends now. */
  private isTooFast(): boolean {
    const { perSecond } = this.scenario;
    if (perSecond === undefined) return false;
    const now = performance.now();
    while ((this.arrivals[0] ?? now) <= now - 1_000) this.arrivals.shift();
    if (this.arrivals.length >= perSecond) return true;
    this.arrivals.push(now);
    return false;
  }
}

function wordsOf(key: string, booked: BookedPayment | undefined): object {
  if (booked === undefined) return { idempotencyKey: key };
  const { reference, amountMinor, currency, outcome } = booked;
  const amount = { currency, minor: String(amountMinor) };
  const reason = outcome === 'REFUSED' ? 'Refused by the simulated channel.' : null;
  return { idempotencyKey: key, reference, amount, reason };
}

function payoutOf(body: string, key: string): PayoutInstruction | null {
  let tree: unknown;
  try {
    tree = JSON.parse(body);
  } catch {
    return null;
  }
  const { success, data } = submission.safeParse(tree);
  if (!success || data.idempotencyKey !== key) return null;
  const { amount, ...rest } = data;
  return { ...rest, currency: amount.currency, amountMinor: BigInt(amount.minor) };
}

/** What `GET /book` shows. */
export function bookDocument(entries: readonly BookedPayment[], counts: SimulatorCounts): object {
  return {
    counts,
    payments: entries.map(({ amountMinor, ...entry }) => ({ ...entry, amountMinor: String(amountMinor) })),
  };
}

function json(response: ServerResponse, status: number, content: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(content));
}

const bodyBytesMax = 64 * 1024;

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    parts.push(part);
    length += part.length;
    if (length > bodyBytesMax) throw new Error('too long a request');
  }
  return Buffer.concat(parts).toString('utf8');
}
