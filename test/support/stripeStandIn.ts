import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the stand-in does with a request instead of carrying it out and saying so. */
export type Twist =
  | 'lost' // the request never arrives, as far as the book is concerned; no answer
  | 'silent' // carried out, no answer
  | 'cut' // carried out, and the connection cut
  | 'cut half-way' // carried out, and the answer cut off
  | 'html'
  | 'empty object'
  | 'failed after it was done' // 500, kept under the key like every answer
  | 'busy' // 409, the key is in use; nothing is kept
  | 'too many'
  | 'drip' // an answer that never ends
  | { refuse: string; status?: number; type?: string };

interface Made {
  id: string;
  object: 'transfer' | 'payout';
  amount: number;
  amount_reversed?: number;
  currency: string;
  destination: string | null;
  transfer_group?: string;
  status?: string;
  failure_code?: string | null;
  created: number;
  metadata: Record<string, string>;
  account: string | null;
}

interface Answer {
  status: number;
  body: object;
}

/**
 * Stands in for Stripe's API on the loopback interface, as its documentation has it: `POST /v1/transfers` and
 * `/v1/payouts`, their lists, and single payouts. A key's first answer is kept and given again, a 500 and refusals
 * included; the same key with another body is an idempotency_error. `made` is the book of what it really did.
 */
export class StripeStandIn {
  readonly made: Made[] = [];
  readonly asked: {
    method: string;
    path: string;
    key: string | null;
    account: string | null;
    body: URLSearchParams;
  }[] = [];
  /** What is done with the next requests, one after the other. */
  twists: (Twist | null)[] = [];
  /** Lists do not show what was made so shortly before: this many lists are stale. */
  staleLists = 0;
  private readonly kept = new Map<string, { body: string; answer: Answer }>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<StripeStandIn> {
    const server = createServer();
    const standIn = new StripeStandIn(server);
    server.on('request', (request, response) => void standIn.serve(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return standIn;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request as AsyncIterable<Buffer>) text += chunk.toString();
    const url = new URL(request.url ?? '', this.url);
    const header = (name: string): string | null => (request.headers[name] as string | undefined) ?? null;
    const [key, account] = [header('idempotency-key'), header('stripe-account')];
    const method = request.method ?? '';
    this.asked.push({ method, path: url.pathname, key, account, body: new URLSearchParams(text) });
    const twist = this.twists.shift() ?? null;
    if (twist === 'lost') return;
    if (twist === 'busy') return say(response, problem(409, 'invalid_request_error', 'idempotency_key_in_use'));
    if (twist === 'too many') return say(response, problem(429, 'invalid_request_error', 'rate_limit'));
    if (header('authorization') !== 'Bearer sk_test_stand_in') {
      return say(response, problem(401, 'invalid_request_error', undefined));
    }
    const answer =
      method === 'POST' ? this.post(url.pathname, text, key, account, twist) : this.get(url, account, twist);
    twisted(response, answer, twist);
  }

  private post(path: string, text: string, key: string | null, account: string | null, twist: Twist | null): Answer {
    const known = key === null ? undefined : this.kept.get(key);
    if (known !== undefined) {
      return known.body === text ? known.answer : problem(400, 'idempotency_error', undefined);
    }
    const answer = this.carryOut(path, new URLSearchParams(text), account, twist);
    if (key !== null) this.kept.set(key, { body: text, answer });
    return answer;
  }

  private carryOut(path: string, body: URLSearchParams, account: string | null, twist: Twist | null): Answer {
    if (twist !== null && typeof twist === 'object') {
      return problem(twist.status ?? 400, twist.type ?? 'invalid_request_error', twist.refuse);
    }
    const isTransfer = path === '/v1/transfers';
    const made: Made = {
      id: `${isTransfer ? 'tr' : 'po'}_${String(this.made.length + 1)}`,
      object: isTransfer ? 'transfer' : 'payout',
      amount: Number(body.get('amount')),
      currency: body.get('currency') ?? '',
      destination: body.get('destination'),
      created: Math.floor(Date.now() / 1_000),
      metadata: Object.fromEntries(
        [...body].flatMap(([name, value]) => {
          const inner = /^metadata\[(.+)\]$/.exec(name)?.[1];
          return inner === undefined ? [] : [[inner, value]];
        }),
      ),
      account,
      ...(isTransfer
        ? { amount_reversed: 0, transfer_group: body.get('transfer_group') ?? '' }
        : { status: 'pending', failure_code: null }),
    };
    this.made.push(made);
    return twist === 'failed after it was done'
      ? problem(500, 'api_error', undefined)
      : { status: 200, body: { ...made } };
  }

  private get(url: URL, account: string | null, twist: Twist | null): Answer {
    if (twist === 'failed after it was done') return problem(500, 'api_error', undefined);
    const id = /^\/v1\/payouts\/(.+)$/.exec(url.pathname)?.[1];
    if (id !== undefined) {
      const found = this.made.find((one) => one.id === id && one.account === account);
      return found === undefined
        ? problem(404, 'invalid_request_error', 'resource_missing')
        : { status: 200, body: found };
    }
    const isStale = this.staleLists > 0;
    if (isStale) this.staleLists -= 1;
    const group = url.searchParams.get('transfer_group');
    const limit = Number(url.searchParams.get('limit') ?? 10);
    const all = this.made
      .filter((one) => `/v1/${one.object}s` === url.pathname && one.account === account && !isStale)
      .filter((one) => group === null || one.transfer_group === group)
      .filter(({ created }) => created >= Number(url.searchParams.get('created[gte]') ?? 0))
      .reverse();
    const after = url.searchParams.get('starting_after');
    const from = after === null ? 0 : all.findIndex((one) => one.id === after) + 1;
    const data = all.slice(from, from + limit);
    return { status: 200, body: { object: 'list', data, has_more: from + limit < all.length } };
  }
}

function problem(status: number, type: string, code: string | undefined): Answer {
  return {
    status,
    body: { error: { type, ...(code === undefined ? {} : { code }), message: `${String(status)} of acct_1` } },
  };
}

function say(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function twisted(response: ServerResponse, answer: Answer, twist: Twist | null): void {
  switch (twist) {
    case 'silent':
      return;
    case 'cut':
      response.destroy();
      return;
    case 'cut half-way':
      response.writeHead(200, { 'content-length': '1000' }).write('{"id":', () => response.destroy());
      return;
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>');
      return;
    case 'empty object':
      say(response, { status: 200, body: {} });
      return;
    case 'drip':
      response.writeHead(200);
      drip(response);
      return;
    default:
      say(response, answer);
  }
}

function drip(response: ServerResponse): void {
  if (response.destroyed) return;
  response.write(' ');
  setTimeout(() => {
    drip(response);
  }, 20);
}
