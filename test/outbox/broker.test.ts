import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { networkProbes } from '../../src/commands/doctorNetwork.js';
import { loadConfig } from '../../src/config.js';
import { repeatable } from '../../src/db/transaction.js';
import { runProbes } from '../../src/doctor/probe.js';
import { AmqpSink } from '../../src/outbox/sinks/amqp.js';
import { startBroker, type Broker } from '../support/broker.js';
import { createTestDatabase, type TestDatabase } from '../support/databases.js';
import { countOf, emptyOutbox, givenSettlements, relayOnce, settlements } from '../support/outside.js';
import { settle, type Ended, type Started } from '../support/program.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { Receiver } from '../support/receiver.js';

// A real RabbitMQ, and everything that can happen to it or to the relay. Afterwards each message has had its effect at the
// receiver exactly once.

/** npm run test:relay kills it 200 times. */
const kills = Number(process.env['SETTLE_TEST_RELAY_KILLS'] ?? '3');

let broker: Broker;
let place: TestDatabase;
let folder: string;
let receiver: Receiver;
const opened: AmqpSink[] = [];

beforeAll(async () => {
  [broker, place] = await Promise.all([startBroker(), createTestDatabase('sqlite')]);
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  writeFileSync(join(folder, 'password'), 'guest\n');
  settings('confirmTimeout: 2s');
}, 120_000);
afterAll(async () => {
  await broker.stop();
  await place.drop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await emptyOutbox(place.database);
  const { model, channel } = await broker.open();
  await channel.deleteQueue('books');
  await channel.assertExchange('settle', 'topic', { durable: true });
  await channel.assertQueue('books', { durable: true });
  await channel.bindQueue('books', 'settle', 'settle.#');
  await model.close();
  receiver = new Receiver('books');
});
afterEach(async () => {
  await receiver.close();
  for (const sink of opened.splice(0)) await sink.close();
});

function settings(more: string): void {
  const mq = `{ kind: amqp, url: '${broker.url}', password: { file: password }, exchange: settle, ${more} }`;
  writeFileSync(join(folder, 'settle.yaml'), `sinks: { mq: ${mq} }\nroutes: { settlement: [mq] }\n`);
}

function sinkAt(url = broker.url, confirmMsMax = 2_000): AmqpSink {
  const sink = new AmqpSink('mq', {
    url,
    password: 'guest',
    ca: null,
    exchange: 'settle',
    routingKey: 'settle.{topic}',
    inFlightMax: 200,
    confirmMsMax,
    bytesMax: 1_000_000,
  });
  opened.push(sink);
  return sink;
}

const relay = (args: string[] = [], env: Record<string, string> = {}): Promise<Ended> & Started =>
  settle(['outbox', 'relay', ...args], { url: place.url, cwd: folder, env });
const sentCount = (): Promise<number> => countOf(place.database, `select count(*) from delivery where state = 'SENT'`);

/** What a lease outlives takes its time: those of relays that are dead are over. */
const leasesEnd = (): Promise<unknown> =>
  place.database.transact(repeatable('leases end', (trx) => trx.change('update relay_lane set free_ms = 0')));

async function until(what: () => boolean | Promise<boolean>, seconds = 30): Promise<void> {
  for (const end = Date.now() + seconds * 1_000; !(await what()); await sleep(50)) {
    if (Date.now() > end) throw new Error('It did not come to that in time.');
  }
}

async function expectEachOnce(messages: number): Promise<void> {
  expect(await sentCount()).toBe(messages);
  await receiver.open(broker);
  await until(() => receiver.handled >= messages);
  await sleep(100); // what comes twice comes now
  expect(receiver.effects()).toEqual({ 1: messages });
}

test('settle outbox relay hands every message over, persistent and by its number, and the example keeps the balances', async () => {
  await givenSettlements(place.database, settlements(300, 20));
  const ended = await relay(['--once']);
  expect(ended).toMatchObject({ code: 0, stdout: 'mq: 300 sent, 0 waiting, 0 parked\n', stderr: '' });
  expect((await relay(['--once'])).stdout).toBe('mq: 0 sent, 0 waiting, 0 parked\n');
  const { model, channel } = await broker.open();
  const message = await channel.get('books', { noAck: false });
  expect(message === false ? null : message.properties).toMatchObject({
    messageId: expect.stringMatching(/^S1\.1\.[0-9]+$/),
    deliveryMode: 2,
    type: 'settle.settlement.v1',
    contentType: 'application/cloudevents+json',
  });
  await model.close();
  const file = join(folder, 'balances.db');
  const url = broker.url.replace('guest@', 'guest:guest@');
  const example = spawn(process.execPath, ['fixtures/consumer/balances.mjs', url, 'books', file], { stdio: 'inherit' });
  const ending = new Promise((resolve) => example.once('exit', resolve));
  const settled = (): { n: number; sum: number } => {
    const database = new Sqlite(file, { readonly: true });
    try {
      return database.prepare('select count(*) as n, sum(minor) as sum from settled').get() as {
        n: number;
        sum: number;
      };
    } finally {
      database.close();
    }
  };
  await until(() => {
    try {
      return settled().sum === 30_000;
    } catch {
      return false; // not made yet
    }
  });
  example.kill('SIGTERM');
  expect(await ending).toBe(0);
  expect(settled()).toEqual({ n: 20, sum: 30_000 });
});

test(
  `a relay that is killed between confirmation and mark, ${String(kills)} times`,
  async () => {
    await givenSettlements(place.database, settlements(100, 30));
    const preload = pathToFileURL('test/support/dieBeforeMark.mjs').href;
    for (let kill = 0; kill < kills; kill += 1) {
      const ended = await relay(['--once'], { NODE_OPTIONS: `--import ${preload}` });
      expect(ended.signal).toBe('SIGKILL');
      await leasesEnd();
    }
    expect(await sentCount()).toBe(0);
    expect((await relay(['--once'])).code).toBe(0);
    await expectEachOnce(100);
    // Each killed relay had handed over at least one message: without the inbox they would have counted again.
    expect(receiver.came).toBeGreaterThanOrEqual(100 + kills);
  },
  60_000 + kills * 10_000,
);

test('the broker is killed under load and started again: the relay waits, and catches up', async () => {
  const running = relay();
  let early = '';
  void running.then(({ code, stderr }) => (early = `It ended with ${String(code)}: ${stderr}`));
  await givenSettlements(place.database, settlements(2_000, 500));
  // A first try that fails is followed by waits that double.
  await until(async () => early !== '' || (await sentCount()) > 0, 90);
  expect(early).toBe('');
  await broker.kill();
  await givenSettlements(place.database, settlements(500, 500, 'S2.1.'));
  await broker.start();
  await until(async () => (await sentCount()) === 2_500, 60);
  running.kill('SIGTERM');
  const ended = await running;
  expect(ended.code).toBe(143);
  await expectEachOnce(2_500);
}, 240_000);

test('a queue that is unbound: nothing counts as sent, nothing is given up, and all of it goes once it is bound', async () => {
  await givenSettlements(place.database, settlements(50, 50));
  const { model, channel } = await broker.open();
  await channel.unbindQueue('books', 'settle', 'settle.#');
  const told: string[] = [];
  const stop = new AbortController();
  const running = relayOnce(place.database, [sinkAt()], {
    once: false,
    signal: stop.signal,
    onTrouble: (_sink, trouble) => told.push(trouble),
  });
  await until(() => told.length > 0);
  expect(told[0]).toContain('no queue for it (312 NO_ROUTE)');
  expect(await sentCount()).toBe(0);
  await channel.bindQueue('books', 'settle', 'settle.#');
  await model.close();
  await until(async () => (await sentCount()) === 50);
  stop.abort();
  expect(await running).toMatchObject([{ parked: 0, refused: 0 }]);
  await expectEachOnce(50);
});

test('a broker whose disk is full takes nothing: the relay waits for it, and loses nothing', async () => {
  await givenSettlements(place.database, settlements(300, 100));
  await broker.control('set_disk_free_limit', '9000GB');
  const told: string[] = [];
  const stop = new AbortController();
  const running = relayOnce(place.database, [sinkAt(broker.url, 1_000)], {
    once: false,
    signal: stop.signal,
    onTrouble: (_sink, trouble) => told.push(trouble),
  });
  await until(() => told.length > 0);
  expect(told[0]).toMatch(/^The broker takes no messages \(low on disk\)/);
  expect(await sentCount()).toBe(0);
  await broker.control('set_disk_free_limit', '1MB');
  await until(async () => (await sentCount()) === 300);
  stop.abort();
  await running;
  await expectEachOnce(300);
});

test('a confirmation that never comes is waited for its time, and the messages go again over a new connection', async () => {
  const proxy: Proxy = await startProxy(`mysql://guest@127.0.0.1:${String(broker.port)}/any`);
  try {
    const sink = sinkAt(proxy.url.replace(/^mysql:/, 'amqp:').replace(/\/any$/, ''), 1_000);
    await givenSettlements(place.database, [{ bizNo: 'S0.1.1', accountNo: 'A0' }]);
    await relayOnce(place.database, [sink]);
    expect(await sentCount()).toBe(1);
    await givenSettlements(place.database, settlements(200, 100));
    proxy.at(1, 'holdAnswer');
    const told: string[] = [];
    await relayOnce(place.database, [sink], { onTrouble: (_sink, trouble) => told.push(trouble) });
    expect(proxy.struck()).toBe(1);
    expect(told).toEqual(['No confirmation within 1 s.']);
    await expectEachOnce(201);
    expect(receiver.came).toBeGreaterThan(201);
  } finally {
    await proxy.close();
  }
});

test('without a broker --once ends with 75, and a relay that is told to stop ends with 143', async () => {
  await givenSettlements(place.database, settlements(10, 10));
  const nowhere = `{ kind: amqp, url: 'amqp://guest@127.0.0.1:1', password: { file: password }, exchange: settle }`;
  writeFileSync(join(folder, 'settle.yaml'), `sinks: { mq: ${nowhere} }\nroutes: { settlement: [mq] }\n`);
  const waiting = relay();
  const ended = await relay(['--once']);
  expect(ended.code).toBe(75);
  expect(ended.stderr).toMatch(/SINK_UNREACHABLE: Sink mq: The broker cannot be reached: .*ECONNREFUSED/);
  expect(ended.stdout).toBe('mq: 0 sent, 10 waiting, 0 parked\n');
  waiting.kill('SIGTERM');
  expect((await waiting).code).toBe(143);
});

test('settle doctor sees the broker, an exchange that is not there, and a password that is wrong, and publishes nothing', async () => {
  const look = async (exchange: string, password: string): Promise<string> => {
    writeFileSync(join(folder, 'asked'), `${password}\n`);
    const secret = `password: { file: '${join(folder, 'asked')}' }`;
    const mq = `{ kind: amqp, url: '${broker.url}', ${secret}, exchange: ${exchange} }`;
    writeFileSync(join(folder, 'doctor.yaml'), `sinks: { mq: ${mq} }\nroutes: { settlement: [mq] }\n`);
    const config = loadConfig({ file: join(folder, 'doctor.yaml'), environment: {} });
    const [finding] = await runProbes(networkProbes(config, () => new Date()));
    return [finding?.name, finding?.status, finding?.found, finding?.fix].join(' | ');
  };
  expect(await look('settle', 'guest')).toMatch(/^sink:mq \| ok \| the broker .* has the exchange settle \| $/);
  expect(await look('nowhere', 'guest')).toMatch(/^sink:mq \| fail \| .*NOT_FOUND.* \| Declare the exchange/);
  const refused = await look('settle', 's3cret');
  expect(refused).toMatch(/^sink:mq \| fail \| .*ACCESS[-_]REFUSED.* \| Mend the user in sinks\.mq\.url/);
  expect(refused).not.toContain('s3cret');
});
