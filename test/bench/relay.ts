import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { migrateUp } from '../../src/db/schema.js';
import { repeatable } from '../../src/db/transaction.js';
import { startBroker, type Broker } from '../support/broker.js';
import { batchDay } from './data.js';
import { privateFilePlace, privateServerPlace, withDatabase, type Place } from './place.js';
import { peakOf } from './peakMemory.js';

const help = `npm run bench:relay -- [options]

Delivers a backlog of settlement messages to a private RabbitMQ: durable queue, persistent messages, each confirmed. All of
settle outbox relay --once counts: start, routing, publishing, marking. The broker and the database run on the same machine.

  --messages N,N     backlogs, one after the other (100000,1000000)
  --accounts N       accounts that they are of (50000)
  --relays N         processes at once (1)
  --engine E         server or sqlite (server)
`;

const settleBin = fileURLToPath(new URL('../../../bin/settle.js', import.meta.url));

async function fill(place: Place, messages: number, accounts: number): Promise<void> {
  const at = place.target.dialect === 'sqlite' ? '2026-11-30T00:10:00.000Z' : '2026-11-30 00:10:00.000';
  await withDatabase(place.target, {}, async (database) => {
    await migrateUp(database);
    for (let from = 0; from < messages; from += 10_000) {
      const numbers = Array.from({ length: Math.min(10_000, messages - from) }, (_, index) => from + index);
      const rows = numbers.map((number) => {
        const accountNo = `M${String((number * 7_919) % accounts).padStart(8, '0')}`;
        const lines = ['PAYMENT', 'REFUND'].map((type) => ({ type, channel: 'CARD', orders: 5, amountMinor: '1234' }));
        const net = { v: 1, batchDay, accountNo, currency: 'USD', netMinor: '0', lines, orderIds: '1-10' };
        return ['LEDGER', `S1.1.${String(number)}`, batchDay, accountNo, 10, JSON.stringify(net), 'SENT', at, at];
      });
      const columns = [
        'topic',
        'biz_no',
        'batch_day',
        'account_no',
        'orders',
        'payload',
        'state',
        'created_at',
        'sent_at',
      ];
      await database.transact(repeatable('fill', (trx) => trx.insertMany('outbox', columns, rows)));
    }
  });
}

/** Processor time so far, in seconds; a tick of Linux is 10 ms. */
function processorOf({ pid }: ChildProcess): number {
  try {
    const fields =
      readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
        .split(') ')[1]
        ?.split(' ') ?? [];
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
  } catch {
    return 0;
  }
}

async function relay(place: Place, folder: string): Promise<{ sent: number; peakBytes: number; processor: number }> {
  const child = spawn(process.execPath, [settleBin, 'outbox', 'relay', '--once', '--json'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], SETTLE_DATABASE_URL: place.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  let peakBytes = 0;
  let processor = 0;
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
  const poll = setInterval(() => {
    peakBytes = Math.max(peakBytes, peakOf(child.pid));
    processor = Math.max(processor, processorOf(child));
  }, 50);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearInterval(poll);
  if (code !== 0 && code !== 3) throw new Error(`settle outbox relay ended with ${String(code)}`);
  const { sinks } = JSON.parse(stdout) as { sinks: { sent: number }[] };
  return { sent: sinks.reduce((sum, { sent }) => sum + sent, 0), peakBytes, processor };
}

async function measure(broker: Broker, place: Place, load: { messages: number; accounts: number; relays: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'settle-bench-'));
  try {
    await fill(place, load.messages, load.accounts);
    const { model, channel } = await broker.open();
    await channel.assertExchange('settle', 'topic', { durable: true });
    await channel.deleteQueue('bench');
    await channel.assertQueue('bench', { durable: true });
    await channel.bindQueue('bench', 'settle', 'settle.#');
    writeFileSync(join(folder, 'password'), 'guest\n');
    const mq = `{ kind: amqp, url: '${broker.url}', password: { file: password }, exchange: settle }`;
    writeFileSync(join(folder, 'settle.yaml'), `sinks: { mq: ${mq} }\nroutes: { settlement: [mq] }\n`);
    const startedAt = performance.now();
    const relays = await Promise.all(Array.from({ length: load.relays }, () => relay(place, folder)));
    const seconds = (performance.now() - startedAt) / 1_000;
    const { messageCount } = await channel.checkQueue('bench');
    await channel.deleteQueue('bench');
    await model.close();
    const sent = relays.reduce((sum, one) => sum + one.sent, 0);
    if (sent !== load.messages || messageCount < load.messages) {
      throw new Error(`${String(sent)} sent, ${String(messageCount)} in the queue, ${String(load.messages)} expected.`);
    }
    const peakMegabytes = Math.max(...relays.map(({ peakBytes }) => peakBytes)) / 2 ** 20;
    const processor = relays.reduce((sum, one) => sum + one.processor, 0);
    return { seconds, perSecond: sent / seconds, again: messageCount - sent, peakMegabytes, processor };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<number> {
  const options = {
    messages: { type: 'string', default: '100000,1000000' },
    accounts: { type: 'string', default: '50000' },
    relays: { type: 'string', default: '1' },
    engine: { type: 'string', default: 'server' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) {
    process.stdout.write(help);
    return 0;
  }
  const broker = await startBroker();
  try {
    for (const messages of values.messages.split(',').map(Number)) {
      const place = values.engine === 'sqlite' ? privateFilePlace() : await privateServerPlace();
      try {
        const load = { messages, accounts: Number(values.accounts), relays: Number(values.relays) };
        const { seconds, perSecond, again, peakMegabytes, processor } = await measure(broker, place, load);
        process.stdout.write(
          `${values.engine}: ${String(messages)} messages by ${values.relays}: ${seconds.toFixed(1)} s, ` +
            `${perSecond.toFixed(0)} confirmed messages/s, ${String(again)} twice, ${peakMegabytes.toFixed(0)} MB, ${processor.toFixed(1)} s of the relay's processor time\n`,
        );
      } finally {
        await place.remove();
      }
    }
  } finally {
    await broker.stop();
  }
  return 0;
}

process.exitCode = await main();
