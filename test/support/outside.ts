import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import { fromInstant, toBigInt, toText } from '../../src/db/values.js';
import { relayOutside, type OutsideRelayPlan, type SinkTally } from '../../src/outbox/outsideRelay.js';
import type { Routing } from '../../src/outbox/routing.js';
import {
  confirmed,
  unsent,
  type OutsideSink,
  type Outgoing,
  type Sent,
  type SinkOutcome,
} from '../../src/outbox/sink.js';
import { topics, type Topic } from '../../src/kernel/topics.js';

export const moment = '2026-11-30T00:10:00.000Z';

/** Settlement messages as a run leaves them once the ledger has them, in the order of ids. */
export async function givenSettlements(
  database: Database,
  messages: readonly { bizNo: string; accountNo: string; minor?: number; batchDay?: string; payload?: string }[],
): Promise<void> {
  for (let at = 0; at < messages.length; at += 10_000) {
    const part = messages.slice(at, at + 10_000);
    await database.transact(
      repeatable('messages', async (trx) => {
        const created = fromInstant(trx.dialect, moment);
        await trx.insertMany(
          'outbox',
          ['topic', 'biz_no', 'batch_day', 'account_no', 'orders', 'payload', 'state', 'created_at', 'sent_at'],
          part.map(({ bizNo, accountNo, minor = 100, batchDay = '2026-11-29', payload }) => [
            ...['LEDGER', bizNo, batchDay, accountNo, 1],
            payload ?? settlementPayload(accountNo, batchDay, minor),
            ...['SENT', created, created],
          ]),
        );
      }),
    );
  }
}

export function settlementPayload(accountNo: string, batchDay: string, minor: number): string {
  const amountMinor = String(minor);
  const lines = [{ type: 'PAYMENT', channel: 'CARD', orders: 1, amountMinor }];
  return JSON.stringify({ v: 1, batchDay, accountNo, currency: 'USD', netMinor: amountMinor, lines, orderIds: '1' });
}

/** So many settlements, spread over so many accounts. */
export function settlements(count: number, accounts: number, prefix = 'S1.1.'): { bizNo: string; accountNo: string }[] {
  return Array.from({ length: count }, (_, at) => {
    return { bizNo: `${prefix}${String(at + 1)}`, accountNo: `A${String(at % accounts)}` };
  });
}

type Behaviour = (message: Outgoing) => SinkOutcome;

/** A receiver that does as it is told and keeps what it took, in the order in which it came. */
export class ScriptedSink implements OutsideSink {
  lanes = 16;
  messagesMax = 100;
  bytesMax = 10_000;
  timeoutMs = 100;
  /** Every message that came, also again. */
  readonly came: string[] = [];
  readonly bodies = new Map<string, string>();
  behave: Behaviour = () => confirmed;
  trouble: string | null = null;
  retryAfterMs: number | null = null;
  /** Called with each send, before the answer. */
  onSend: (ids: readonly string[]) => void | Promise<void> = () => undefined;

  constructor(readonly name = 'scripted') {}

  async send(messages: readonly Outgoing[]): Promise<Sent> {
    await this.onSend(messages.map(({ id }) => id));
    const { trouble, retryAfterMs } = this;
    const outcomes = messages.map((message) => {
      if (trouble !== null) return unsent;
      const outcome = this.behave(message);
      if (outcome.kind === 'CONFIRMED') {
        this.came.push(message.id);
        this.bodies.set(message.id, message.body.toString());
      }
      return outcome;
    });
    return { outcomes, trouble, retryAfterMs };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Every topic, or those that are named, to these sinks. */
export function routingTo(sinks: readonly OutsideSink[], only: readonly Topic[] = Object.values(topics)): Routing {
  const routed = sinks.map(({ name, lanes }) => ({ name, lanes, since: null }));
  return { sinksOf: new Map(only.map((topic) => [topic, routed])) };
}

/** A relay inside the test's process; ends once what can be sent is sent. */
export function relayOnce(
  database: Database,
  sinks: readonly OutsideSink[],
  overrides: Partial<OutsideRelayPlan> = {},
): Promise<SinkTally[]> {
  return relayOutside(database, {
    routing: routingTo(sinks),
    sinks: sinks.map((sink) => ({ sink, attempts: 3 })),
    source: '/settle',
    owner: 'test',
    leaseMs: 30_000,
    once: true,
    now: () => moment,
    signal: new AbortController().signal,
    onTrouble: () => undefined,
    onParked: () => undefined,
    ...overrides,
  });
}

/** Deliveries as "sink bizNo state", by sink and id. */
export async function deliveries(database: Database): Promise<string[]> {
  const rows = await database.read((session) =>
    session.tuples(
      `select d.sink, m.biz_no, d.state from delivery d join outbox m on m.id = d.outbox_id order by d.sink, d.outbox_id`,
    ),
  );
  return rows.map((row) => row.map(toText).join(' '));
}

export async function countOf(database: Database, sql: string): Promise<number> {
  const [row] = await database.read((session) => session.tuples(sql));
  return Number(toBigInt(row?.[0]));
}

/** Lets what waits for its next attempt be due now. */
export async function letAttemptsBeDue(database: Database): Promise<void> {
  await database.transact(
    repeatable('due', async (trx) => {
      await trx.change(`update delivery set next_ms = 0 where state = 'NEW'`);
      await trx.change(`update relay_lane set free_ms = 0 where sink <> ''`);
    }),
  );
}

/** As before the first message. */
export async function emptyOutbox(database: Database): Promise<void> {
  await database.transact(
    repeatable('empty', async (trx) => {
      for (const table of ['delivery', 'outbox']) await trx.change(`delete from ${table}`);
      await trx.change(`delete from relay_lane where sink <> ''`);
    }),
  );
}
