import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { ChannelAnswer, PayoutInstruction } from '../../src/payouts/channel.js';
import { HttpChannel } from '../../src/payouts/channels/http.js';
import { readAnswer } from '../../src/payouts/channels/httpProtocol.js';
import { isSigned, signature } from '../../src/payouts/channels/httpSignature.js';
import type { ScenarioInput } from '../../src/payouts/channels/scenario.js';
import { SimulatorServer } from '../../src/payouts/channels/simulatorServer.js';
import { quickRules } from '../support/payouts.js';

const payout: PayoutInstruction = {
  idempotencyKey: '20261129-5f0c',
  amountMinor: 1_050n,
  currency: 'EUR',
  destination: 'DE89370400440532013000',
  holder: 'A',
  batchDay: '2026-11-29',
};
const secret = 'cAnAry7hunter2';
const never = new AbortController().signal;
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

function channelAt(url: string, options: { secret?: string; ca?: string; timeoutMs?: number } = {}): HttpChannel {
  const rules = { ...quickRules, timeoutMs: options.timeoutMs ?? 300 };
  const channel = new HttpChannel('bank', rules, { url, secret: options.secret ?? secret, ca: options.ca ?? null });
  opened.unshift(channel);
  return channel;
}

async function simulator(scenario: ScenarioInput = {}): Promise<SimulatorServer> {
  const server = await SimulatorServer.start(0, { scenario, secret });
  opened.push(server);
  return server;
}

async function tcpServer(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await listening(server);
  opened.push({
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

describe('what an answer says', () => {
  const said = (status: string, more: object = {}): string =>
    JSON.stringify({ idempotencyKey: payout.idempotencyKey, status, ...more });
  const amount = { currency: 'EUR', minor: '1050' };
  const paid = said('PAID', { reference: 'R1', amount });
  const jsonType = 'application/json; charset=utf-8';

  test.each`
    ask         | http   | type           | body                                                                | kind             | cause                  | because
    ${'submit'} | ${200} | ${jsonType}    | ${paid}                                                             | ${'PAID'}        | ${undefined}           | ${'as asked'}
    ${'submit'} | ${201} | ${jsonType}    | ${paid}                                                             | ${'PAID'}        | ${undefined}           | ${'created is done'}
    ${'query'}  | ${200} | ${jsonType}    | ${paid}                                                             | ${'PAID'}        | ${undefined}           | ${'as asked'}
    ${'submit'} | ${200} | ${jsonType}    | ${said('PAID')}                                                     | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'paid without saying what'}
    ${'submit'} | ${200} | ${jsonType}    | ${said('PAID', { amount: { currency: 'EUR', minor: 1050 } })}       | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'a number may have been rounded'}
    ${'submit'} | ${200} | ${jsonType}    | ${said('PAID', { amount: { currency: 'EUR', minor: '10.50' } })}    | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'no minor units'}
    ${'submit'} | ${200} | ${jsonType}    | ${paid.replace('5f0c', '5f0d')}                                     | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'another key'}
    ${'submit'} | ${200} | ${'text/html'} | ${paid}                                                             | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'no JSON by its own word'}
    ${'submit'} | ${200} | ${jsonType}    | ${paid.slice(0, -1)}                                                | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'half of it'}
    ${'submit'} | ${200} | ${jsonType}    | ${null}                                                             | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'too long'}
    ${'submit'} | ${200} | ${jsonType}    | ${'null'}                                                           | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'no object'}
    ${'submit'} | ${200} | ${jsonType}    | ${said('SETTLED', { amount })}                                      | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'a word it does not have'}
    ${'submit'} | ${202} | ${jsonType}    | ${paid}                                                             | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'accepted is not done'}
    ${'submit'} | ${307} | ${jsonType}    | ${paid}                                                             | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'a redirect is not followed'}
    ${'submit'} | ${200} | ${jsonType}    | ${said('REFUSED', { reason: 'closed' })}                            | ${'REFUSED'}     | ${undefined}           | ${'declined in a body that is fine'}
    ${'submit'} | ${422} | ${jsonType}    | ${said('REFUSED', { reason: 'closed' })}                            | ${'REFUSED'}     | ${undefined}           | ${'its own word'}
    ${'submit'} | ${422} | ${jsonType}    | ${said('REFUSED', { amount: { currency: 'EUR', minor: '1' } })}     | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'the refusal of something else'}
    ${'submit'} | ${422} | ${jsonType}    | ${'{"error":"REFUSED"}'}                                            | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'not the words of the protocol'}
    ${'submit'} | ${403} | ${'text/html'} | ${'<html>'}                                                         | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'a wall in between'}
    ${'submit'} | ${400} | ${jsonType}    | ${paid}                                                             | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'status and body disagree'}
    ${'query'}  | ${422} | ${jsonType}    | ${said('REFUSED')}                                                  | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'the query is refused, not the payout'}
    ${'query'}  | ${200} | ${jsonType}    | ${said('REFUSED')}                                                  | ${'REFUSED'}     | ${undefined}           | ${'the payout was'}
    ${'query'}  | ${200} | ${jsonType}    | ${said('NOT_PAID')}                                                 | ${'NOT_PAID'}    | ${undefined}           | ${'explicit'}
    ${'query'}  | ${404} | ${jsonType}    | ${said('NOT_FOUND')}                                                | ${'NOT_FOUND'}   | ${undefined}           | ${'explicit'}
    ${'query'}  | ${404} | ${'text/html'} | ${'<html>Not found'}                                                | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'the address may be wrong'}
    ${'query'}  | ${404} | ${jsonType}    | ${'{"message":"no route"}'}                                         | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'the address may be wrong'}
    ${'query'}  | ${404} | ${jsonType}    | ${JSON.stringify({ idempotencyKey: 'other', status: 'NOT_FOUND' })} | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'another key was not found'}
    ${'query'}  | ${200} | ${jsonType}    | ${said('NOT_FOUND')}                                                | ${'UNCLEAR'}     | ${'UNREADABLE_ANSWER'} | ${'status and body disagree'}
    ${'submit'} | ${409} | ${'text/html'} | ${''}                                                               | ${'IN_PROGRESS'} | ${undefined}           | ${'somebody is at it'}
    ${'query'}  | ${200} | ${jsonType}    | ${said('IN_PROGRESS')}                                              | ${'IN_PROGRESS'} | ${undefined}           | ${'explicit'}
    ${'submit'} | ${429} | ${jsonType}    | ${said('REFUSED')}                                                  | ${'UNCLEAR'}     | ${'RATE_LIMITED'}      | ${'too fast is no refusal'}
    ${'submit'} | ${500} | ${jsonType}    | ${said('REFUSED')}                                                  | ${'UNCLEAR'}     | ${'SERVER_ERROR'}      | ${'a broken server is not believed'}
    ${'query'}  | ${503} | ${'text/html'} | ${''}                                                               | ${'UNCLEAR'}     | ${'SERVER_ERROR'}      | ${'a query that fails'}
  `('$ask, $http: $kind $cause, $because', ({ ask, http, type, body, kind, cause }) => {
    const answer = { status: http as number, contentType: type as string, body: body as string | null };
    const read = readAnswer(ask as 'submit', payout, answer);
    expect([read.kind, 'cause' in read ? read.cause : undefined]).toEqual([kind, cause]);
  });

  test('another amount is paid with that amount', () => {
    const body = said('PAID', { amount: { currency: 'USD', minor: '99' } });
    expect(readAnswer('query', payout, { status: 200, contentType: jsonType, body })).toMatchObject({
      kind: 'PAID',
      amountMinor: 99n,
      currency: 'USD',
    });
  });

  test('reference and reason are cut and printable', () => {
    const body = said('REFUSED', { reference: `\u001b[2J${'r'.repeat(500)}`, reason: 'x'.repeat(500) });
    const read = readAnswer('submit', payout, { status: 200, contentType: jsonType, body });
    if (read.kind !== 'REFUSED') throw new Error(read.kind);
    expect(read.reference).toMatch(/^\\u\{1b\}\[2Jr+$/);
    expect([read.reference?.length, read.reason.length]).toEqual([140, 140]);
  });
});

describe('a signature', () => {
  const request = { method: 'POST', path: '/payouts', idempotencyKey: 'k', body: '{}' };
  const good = signature(secret, 1_000, request);

  test.each([
    ['what was signed', true, good, 1_000, request],
    ['what was signed four minutes ago', true, good, 1_240, request],
    ['what was signed long ago', false, good, 1_301, request],
    ['what was signed for later', false, good, 699, request],
    ['another body', false, good, 1_000, { ...request, body: '{ }' }],
    ['another key', false, good, 1_000, { ...request, idempotencyKey: 'l' }],
    ['another path', false, good, 1_000, { ...request, path: '/payout' }],
    ['another method', false, good, 1_000, { ...request, method: 'GET' }],
    ['another time', false, good.replace('t=1000', 't=1001'), 1_000, request],
    ['nothing', false, undefined, 1_000, request],
    ['half a signature', false, good.slice(0, -2), 1_000, request],
  ])('over %s: %s', (_, accepted, header, seconds, signed) => {
    expect(isSigned(secret, header, seconds, signed)).toBe(accepted);
  });

  test('by another secret is none', () => {
    expect(isSigned(`${secret}x`, good, 1_000, request)).toBe(false);
  });
});

describe('over the wire', () => {
  test('a payout is paid once, and found again by its key', async () => {
    const server = await simulator();
    const channel = channelAt(server.url);
    const answer = await channel.submit(payout, never);
    expect(answer).toMatchObject({ kind: 'PAID', amountMinor: 1_050n, currency: 'EUR', reference: 'SIM-00000001' });
    expect(answer.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await channel.submit(payout, never)).toEqual(answer);
    expect(await channel.query(payout, never)).toEqual(answer);
    expect(await channel.query({ ...payout, idempotencyKey: 'other' }, never)).toMatchObject({ kind: 'NOT_FOUND' });
    expect(server.book.entries).toHaveLength(1);
    expect(server.counts).toMatchObject({ badSignatures: 0, bodiesDiffer: 0 });
  });

  test('another secret is an error of ours and no refusal', async () => {
    const server = await simulator();
    expect(await channelAt(server.url, { secret: 'another' }).submit(payout, never)).toMatchObject({ kind: 'UNCLEAR' });
    expect(server.counts.badSignatures).toBe(1);
    expect(server.book.entries).toEqual([]);
  });

  const first = { on: 'submit', nth: 1 } as const;
  test.each<[string, ScenarioInput, string, string | undefined, number]>([
    ['accepts, then delays', { rules: [{ ...first, delayMs: 5_000 }] }, 'UNCLEAR', 'TIMEOUT', 1],
    ['accepts, then hangs', { rules: [{ ...first, answer: 'HANG' }] }, 'UNCLEAR', 'TIMEOUT', 1],
    ['accepts, then drips', { rules: [{ ...first, answer: 'DRIP' }] }, 'UNCLEAR', 'TIMEOUT', 1],
    ['accepts, then cuts', { rules: [{ ...first, answer: 'CUT' }] }, 'UNCLEAR', 'CONNECTION_CUT', 1],
    ['cuts its answer', { rules: [{ ...first, answer: 'CUT_BODY' }] }, 'UNCLEAR', 'CONNECTION_CUT', 1],
    ['answers 500 after accepting', { rules: [{ ...first, answer: 'ERROR_500' }] }, 'UNCLEAR', 'SERVER_ERROR', 1],
    [
      'answers 500 instead',
      { rules: [{ ...first, outcome: 'NOTHING', answer: 'ERROR_500' }] },
      ...(['UNCLEAR', 'SERVER_ERROR', 0] as const),
    ],
    ['answers in HTML', { rules: [{ ...first, answer: 'HTML' }] }, 'UNCLEAR', 'UNREADABLE_ANSWER', 1],
    ['sends elsewhere', { rules: [{ ...first, answer: 'REDIRECT' }] }, 'UNCLEAR', 'UNREADABLE_ANSWER', 1],
    ['is at it', { rules: [{ ...first, answer: 'IN_PROGRESS' }] }, 'IN_PROGRESS', undefined, 1],
    ['declines', { rules: [{ on: 'submit', outcome: 'REFUSED' }] }, 'REFUSED', undefined, 0],
    ['refuses', { rules: [{ on: 'submit', outcome: 'REFUSED', answer: 'REFUSED_422' }] }, 'REFUSED', undefined, 0],
    ['takes no more', { perSecond: 0.5, rules: [] }, 'UNCLEAR', 'RATE_LIMITED', 0],
  ])('a channel that %s', async (_, scenario, kind, cause, paid) => {
    const server = await simulator(scenario);
    if (scenario.perSecond !== undefined) await channelAt(server.url).query(payout, never);
    const answer = await channelAt(server.url).submit(payout, never);
    expect([answer.kind, 'cause' in answer ? answer.cause : undefined]).toEqual([kind, cause]);
    expect(server.book.entries.filter(({ outcome }) => outcome === 'PAID')).toHaveLength(paid);
  });

  test('an answer that does not end is not read to its end', async () => {
    const host = await tcpServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n');
      const more = (): void => void (socket.writable && socket.write(Buffer.alloc(32_000, 'x'), more));
      more();
    });
    expect(await channelAt(`http://${host}/payouts`, { timeoutMs: 5_000 }).submit(payout, never)).toMatchObject({
      kind: 'UNCLEAR',
      cause: 'UNREADABLE_ANSWER',
    });
  });

  test.each([
    ['what is not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}`],
  ])('%s is unreadable', async (_, text) => {
    const host = await tcpServer((socket) => socket.once('data', () => socket.write(text)));
    expect(await channelAt(`http://${host}/payouts`).submit(payout, never)).toMatchObject({
      kind: 'UNCLEAR',
      cause: 'UNREADABLE_ANSWER',
    });
  });

  test('a process that stops waits for nothing: what was sent is unclear', async () => {
    const server = await simulator({ rules: [{ on: 'submit', answer: 'HANG' }] });
    const haste = new AbortController();
    const answer = channelAt(server.url, { timeoutMs: 30_000 }).submit(payout, haste.signal);
    setTimeout(() => {
      haste.abort();
    }, 100);
    expect(await answer).toMatchObject({ kind: 'UNCLEAR', cause: 'TIMEOUT' });
  });

  test('no port, no name: nothing was sent', async () => {
    expect(await channelAt('http://127.0.0.1:1/payouts').submit(payout, never)).toMatchObject({ kind: 'UNREACHABLE' });
    expect(await channelAt('https://no-such-host.invalid/payouts').submit(payout, never)).toMatchObject({
      kind: 'UNREACHABLE',
    });
  });

  test('a kept connection that the channel has closed: the request may have left, so it is unclear', async () => {
    let requests = 0;
    const host = await tcpServer((socket) =>
      socket.on('data', () => {
        requests += 1;
        if (requests > 1) socket.destroy();
        else socket.write('HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n');
      }),
    );
    const channel = channelAt(`http://${host}/payouts`);
    expect(await channel.submit(payout, never)).toMatchObject({ kind: 'IN_PROGRESS' });
    expect(await channel.submit(payout, never)).toMatchObject({ kind: 'UNCLEAR', cause: 'CONNECTION_CUT' });
    expect(requests).toBe(2);
  });
});

describe('over TLS', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
    const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
        ...['-subj', '/CN=bank', '-addext', names, '-keyout', 'key.pem', '-out', 'cert.pem'],
      ],
      { cwd: folder, stdio: 'ignore' },
    );
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const pem = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const givenBank = async (): Promise<{ port: string; requests: string[] }> => {
    const requests: string[] = [];
    const server = createTlsServer({ key: pem('key.pem'), cert: pem('cert.pem') }, (request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(409).end();
    });
    await listening(server);
    opened.push({
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return { port: String((server.address() as AddressInfo).port), requests };
  };

  test('a channel whose certificate is trusted is asked, by name and by address', async () => {
    const { port, requests } = await givenBank();
    for (const host of ['localhost', '127.0.0.1']) {
      const channel = channelAt(`https://${host}:${port}/payouts`, { ca: pem('cert.pem'), timeoutMs: 3_000 });
      expect(await channel.submit(payout, never)).toMatchObject({ kind: 'IN_PROGRESS' });
    }
    expect(requests).toHaveLength(2);
  });

  test('one that cannot prove who it is gets nothing', async () => {
    const { port, requests } = await givenBank();
    const answers: ChannelAnswer[] = [
      await channelAt(`https://127.0.0.1:${port}/payouts`, { timeoutMs: 3_000 }).submit(payout, never),
    ];
    const elsewhere = await tcpServer((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    answers.push(await channelAt(`https://${elsewhere}/payouts`, { timeoutMs: 3_000 }).submit(payout, never));
    const silent = await tcpServer(() => undefined);
    answers.push(await channelAt(`https://${silent}/payouts`).submit(payout, never));
    expect(answers.map(({ kind }) => kind)).toEqual(['UNREACHABLE', 'UNREACHABLE', 'UNREACHABLE']);
    expect(requests).toEqual([]);
  });
});
