import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { NotSigned, readWebhook, type WebhookRequest } from '../../src/consumer/index.js';
import type { Outgoing } from '../../src/outbox/sink.js';
import { FileSink } from '../../src/outbox/sinks/file.js';
import { StdoutSink } from '../../src/outbox/sinks/stdout.js';
import { retryAfterIn, WebhookSink } from '../../src/outbox/sinks/webhook.js';
import { toEvent } from '../../src/outbox/toEvent.js';
import { moment, settlementPayload } from '../support/outside.js';

const go = new AbortController().signal;

function outgoing(nth: number): Outgoing {
  const [bizNo, accountNo] = [`S1.1.${String(nth)}`, `A${String(nth)}`];
  const payload = settlementPayload(accountNo, '2026-11-29', nth);
  const topic = 'SETTLEMENT';
  const event = toEvent(
    { topic, bizNo, batchDay: '2026-11-29', accountNo, orders: 1, payload, createdAt: moment },
    '/settle',
  );
  return { id: bizNo, topic, type: event.type, time: event.time, body: Buffer.from(JSON.stringify(event)) };
}
const messages = (count: number): Outgoing[] => Array.from({ length: count }, (_, at) => outgoing(at + 1));

describe('a webhook', () => {
  const secret = 'cAnAry7hunter2';
  let server: Server;
  let sink: WebhookSink;
  let answer: (request: WebhookRequest, response: ServerResponse) => void;
  let requests: WebhookRequest[];

  beforeEach(async () => {
    requests = [];
    answer = (_request, response) => response.writeHead(204).end();
    server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const { method = '', url = '', headers } = request;
        const one = { method, path: url, headers, body };
        requests.push(one);
        answer(one, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hooks/settle`;
    sink = new WebhookSink('hook', { url, secret, ca: null, concurrency: 4, timeoutMs: 1_500, bytesMax: 1_000_000 });
  });
  afterEach(async () => {
    await sink.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function bodyOf(request: IncomingMessage): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    return Buffer.concat(parts);
  }

  test('is given each message in one POST, signed, under its number, and confirms by a 2xx', async () => {
    const sent = await sink.send(messages(10), go);
    expect(sent).toMatchObject({ trouble: null, retryAfterMs: null });
    expect(sent.outcomes.map(({ kind }) => kind)).toEqual(Array(10).fill('CONFIRMED'));
    expect(requests).toHaveLength(10);
    const [first] = requests as [WebhookRequest];
    expect(first.headers).toMatchObject({ 'content-type': 'application/cloudevents+json; charset=utf-8' });
    const event = readWebhook(secret, first);
    expect(first.headers['idempotency-key']).toBe(event.id);
    expect(event).toMatchObject({ type: 'settle.settlement.v1', data: { currency: 'USD' } });
  });

  test('can tell who sent it, and when', async () => {
    await sink.send(messages(1), go);
    const [request] = requests as [WebhookRequest];
    expect(() => readWebhook('another', request)).toThrow(NotSigned);
    expect(() => readWebhook(secret, { ...request, path: '/other' })).toThrow(NotSigned);
    expect(() => readWebhook(secret, { ...request, body: `${request.body.toString()} ` })).toThrow(NotSigned);
    expect(() => readWebhook(secret, request, Date.now() + 301_000)).toThrow(NotSigned);
    expect(() => readWebhook(secret, request, Date.now() + 290_000)).not.toThrow();
    expect(() => readWebhook(secret, { ...request, headers: {} })).toThrow(NotSigned);
  });

  test.each([400, 409, 413, 415, 422, 500])(
    'that answers %d does not want this message, and is given the others',
    async (status) => {
      answer = ({ headers }, response) => {
        response.writeHead(headers['idempotency-key'] === 'S1.1.2' ? status : 200).end('{"why":"secret text"}');
      };
      const { outcomes, trouble } = await sink.send(messages(3), go);
      expect(trouble).toBeNull();
      expect(outcomes.map(({ kind }) => kind)).toEqual(['CONFIRMED', 'REFUSED', 'CONFIRMED']);
      expect(outcomes[1]).toEqual({ kind: 'REFUSED', reason: `HTTP status ${String(status)}.` });
    },
  );

  test.each([301, 302, 307, 401, 403, 404, 429, 502, 503])(
    'that answers %d is in trouble itself: the rest waits',
    async (status) => {
      answer = (_request, response) => response.writeHead(status, { location: '/elsewhere', 'retry-after': '7' }).end();
      const { outcomes, trouble, retryAfterMs } = await sink.send(messages(20), go);
      expect(trouble).toMatch(`HTTP status ${String(status)}`);
      expect(retryAfterMs).toBe([429, 503].includes(status) ? 7_000 : null);
      expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['UNSENT']));
      expect(requests.length).toBeLessThanOrEqual(4);
      expect(requests.every(({ path }) => path === '/hooks/settle')).toBe(true);
    },
  );

  test('that does not answer in time, or cuts the connection, is in trouble', async () => {
    answer = () => undefined;
    expect((await sink.send(messages(1), go)).trouble).toBe('No answer within 1.5 s.');
    answer = (_request, response) => response.destroy();
    expect((await sink.send(messages(1), go)).trouble).toBe('The connection failed (ECONNRESET).');
  });

  test('whose answer never ends has confirmed all the same, and its body is not read', async () => {
    answer = (_request, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(16 * 1024);
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    };
    expect((await sink.send(messages(1), go)).outcomes).toEqual([{ kind: 'CONFIRMED' }]);
  });

  test.each([
    ['120', 120_000],
    ['Tue, 01 Dec 2026 00:00:30 GMT', 30_000],
    ['Tue, 01 Dec 2026 00:00:00 GMT', 0],
    ['999999', 3_600_000],
    ['soon', null],
    ['-5', null],
    ['1e3', null],
  ])('Retry-After: %s', (header, ms) => {
    expect(retryAfterIn(header, Date.parse('2026-12-01T00:00:00Z'))).toBe(ms);
  });
});

describe('a file', () => {
  let folder: string;
  let path: string;
  let sink: FileSink;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
    path = join(folder, 'feed.ndjson');
    sink = new FileSink('feed', path, 1_000_000);
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const idsIn = (): string[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { id: string }).id);

  test('gets a line a message, readable by its owner alone, after those that are there', async () => {
    expect((await sink.send(messages(2))).outcomes).toEqual([{ kind: 'CONFIRMED' }, { kind: 'CONFIRMED' }]);
    await sink.send([outgoing(3)]);
    expect(idsIn()).toEqual(['S1.1.1', 'S1.1.2', 'S1.1.3']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('whose last line was cut off by a crash loses that piece, at every length of it', async () => {
    const line = outgoing(2).body.toString();
    for (const length of [1, 5, 20, 21, 100, line.length]) {
      writeFileSync(path, '');
      await sink.send([outgoing(1)]);
      appendFileSync(path, line.slice(0, length));
      await sink.send([outgoing(2)]);
      expect(idsIn()).toEqual(['S1.1.1', 'S1.1.2']);
    }
    writeFileSync(path, line.slice(0, 50));
    await sink.send([outgoing(2)]);
    expect(idsIn()).toEqual(['S1.1.2']);
  });

  test('that ends with something else than our lines is left as it is', async () => {
    writeFileSync(path, 'a spreadsheet');
    expect((await sink.send([outgoing(1)])).trouble).toMatch(/cannot be written \(it ends with something else/);
    expect(readFileSync(path, 'utf8')).toBe('a spreadsheet');
  });

  test('that cannot be written is in trouble', async () => {
    const nowhere = new FileSink('feed', join(folder, 'missing', 'feed.ndjson'), 1_000);
    const { outcomes, trouble } = await nowhere.send([outgoing(1)]);
    expect([outcomes, trouble]).toEqual([[{ kind: 'UNSENT' }], expect.stringMatching(/\(ENOENT\)/)]);
  });
});

describe('standard output', () => {
  test('gets a line a message; a reader that went away is in trouble', async () => {
    let text = '';
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        text += chunk.toString();
        done();
      },
    });
    const sink = new StdoutSink('out', 1_000_000, stream);
    expect((await sink.send(messages(2))).outcomes).toHaveLength(2);
    expect(text.split('\n').map((line) => line.slice(0, 24))).toEqual([
      '{"specversion":"1.0","id',
      '{"specversion":"1.0","id',
      '',
    ]);
    stream.on('error', () => undefined);
    stream.destroy();
    expect((await sink.send(messages(1))).trouble).toMatch(/takes nothing/);
  });
});
