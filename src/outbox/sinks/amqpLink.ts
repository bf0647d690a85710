import { connect, type ChannelModel, type ConfirmChannel } from 'amqplib';
import type { Socket } from 'node:net';
import { confirmed, unsent, type Outgoing, type SinkOutcome } from '../sink.js';

export interface LinkOptions {
  /** Without its password. */
  readonly url: string;
  readonly password: string | null;
  readonly ca: string | null;
  readonly exchange: string;
  /** The routing key of a topic. */
  readonly routingKeyOf: (topic: string) => string;
  readonly inFlightMax: number;
  readonly confirmMsMax: number;
  /** How long connecting may take, and then looking for the exchange; 10 s where it is not told. */
  readonly connectMsMax?: number;
}

const usualConnectMsMax = 10_000;
const heartbeatSeconds = 10;
/** How long a farewell may take: a broker that is blocked or gone does not answer it. */
const farewellMsMax = 2_000;

interface Flight {
  readonly sentAt: number;
  readonly end: (outcome: SinkOutcome) => void;
}

/**
 * One connection to the broker with one channel in confirm mode. A message counts as confirmed once the broker has said so and
 * has not returned it before: it confirms what no queue was there for, too. A link that failed stays failed.
 */
export class AmqpLink {
  /** Why it is of no use any more; null while it is. */
  failure: string | null = null;
  /** Why the broker takes nothing at the moment; null while it does. */
  blocked: string | null = null;
  private readonly flights = new Map<string, Flight>();
  private readonly returned = new Map<string, string>();
  private readonly waiters = new Set<() => void>();
  private isFull = false;
  private blockedAt = 0;
  private readonly watch: NodeJS.Timeout;

  private constructor(
    private readonly model: ChannelModel,
    private readonly channel: ConfirmChannel,
    private readonly options: LinkOptions,
  ) {
    const { model: connection, channel: door } = this;
    connection.on('error', (error: Error) => {
      this.fail(`The connection failed: ${error.message}`);
    });
    connection.on('close', () => {
      this.fail('The broker closed the connection.');
    });
    connection.on('blocked', (reason: string) => {
      this.blocked = `The broker takes no messages (${reason}).`;
      this.blockedAt = performance.now();
      this.wake();
    });
    connection.on('unblocked', () => {
      this.blocked = null;
      this.wake();
    });
    door.on('error', (error: Error) => {
      this.fail(error.message);
    });
    door.on('close', () => {
      this.fail('The broker closed the channel.');
    });
    door.on('drain', () => {
      this.isFull = false;
      this.wake();
    });
    door.on('return', ({ fields, properties }) => {
      const { replyCode, replyText } = fields as { replyCode?: unknown; replyText?: unknown };
      this.returned.set(String(properties.messageId), `${String(replyCode)} ${String(replyText)}`);
    });
    this.watch = setInterval(
      () => {
        this.checkTime();
      },
      Math.min(1_000, options.confirmMsMax / 4),
    );
    this.watch.unref();
  }

  /** Connects, and sees whether the exchange is there. Throws what keeps it from that. */
  static async open(options: LinkOptions): Promise<AmqpLink> {
    const { connectMsMax = usualConnectMsMax } = options;
    const model = await within(connectMsMax, openConnection(options, connectMsMax), (late) => {
      cut(late);
    });
    // An error that nobody listens to would end the process.
    model.on('error', () => undefined);
    try {
      const work = async (): Promise<ConfirmChannel> => {
        const channel = await model.createConfirmChannel();
        channel.on('error', () => undefined);
        if (options.exchange !== '') await channel.checkExchange(options.exchange);
        return channel;
      };
      return new AmqpLink(model, await within(connectMsMax, work(), () => undefined), options);
    } catch (error) {
      cut(model);
      throw error;
    }
  }

  /** Waits until another message may go; false when none may any more, or `stop` was aborted. */
  async room(stop: AbortSignal): Promise<boolean> {
    while (this.failure === null && !stop.aborted) {
      if (this.blocked === null && !this.isFull && this.flights.size < this.options.inFlightMax) return true;
      await this.change();
    }
    return false;
  }

  /** Publishes one message, for which there is room, and resolves with its outcome; UNSENT when the link is lost before. */
  publish(message: Outgoing): Promise<SinkOutcome> {
    const { exchange, routingKeyOf } = this.options;
    return new Promise((resolve) => {
      const end = (outcome: SinkOutcome): void => {
        this.flights.delete(message.id);
        this.returned.delete(message.id);
        this.wake();
        resolve(outcome);
      };
      this.flights.set(message.id, { sentAt: performance.now(), end });
      try {
        const properties = {
          mandatory: true,
          persistent: true,
          messageId: message.id,
          type: message.type,
          timestamp: Math.floor(Date.parse(message.time) / 1_000),
          contentType: 'application/cloudevents+json',
          contentEncoding: 'utf-8',
          appId: 'settle',
        };
        const hasRoom = this.channel.publish(
          exchange,
          routingKeyOf(message.topic),
          message.body,
          properties,
          (error: unknown) => {
            end(this.answered(message.id, error));
          },
        );
        if (!hasRoom) this.isFull = true;
      } catch (error) {
        this.fail(error instanceof Error ? error.message : String(error));
      }
    });
  }

  /** Says goodbye, briefly. */
  async close(): Promise<void> {
    if (this.failure !== null) return;
    clearInterval(this.watch);
    const farewell = this.blocked === null ? this.model.close() : Promise.resolve();
    await within(farewellMsMax, farewell, () => undefined).catch(() => undefined);
    cut(this.model);
  }

  private answered(id: string, error: unknown): SinkOutcome {
    // A lost connection answers for what is on its way too: then nobody knows.
    if (this.failure !== null) return unsent;
    if (error !== null && error !== undefined) {
      return error instanceof Error && error.message.includes('nack')
        ? { kind: 'UNCLEAR', reason: 'The broker refused it (nack).' }
        : unsent;
    }
    const returned = this.returned.get(id);
    return returned === undefined
      ? confirmed
      : { kind: 'UNCLEAR', reason: `The broker has no queue for it (${returned}).` };
  }

  /** A confirmation that does not come within its time makes the link useless, as does a broker that stays blocked. */
  private checkTime(): void {
    const { confirmMsMax } = this.options;
    const [oldest] = this.flights.values();
    const isOver = (since: number): boolean => performance.now() - since >= confirmMsMax;
    if (this.blocked !== null && isOver(this.blockedAt)) this.fail(this.blocked);
    else if (oldest !== undefined && isOver(oldest.sentAt)) {
      this.fail(this.blocked ?? `No confirmation within ${String(confirmMsMax / 1_000)} s.`);
    }
    // Whoever waits for room may have been told to stop.
    this.wake();
  }

  private fail(reason: string): void {
    if (this.failure !== null) return;
    this.failure = reason;
    clearInterval(this.watch);
    for (const { end } of [...this.flights.values()]) end(unsent);
    this.wake();
    cut(this.model);
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.waiters.add(resolve));
  }

  private wake(): void {
    for (const waiter of this.waiters) waiter();
    this.waiters.clear();
  }
}

function openConnection({ url, password, ca }: LinkOptions, connectMsMax: number): Promise<ChannelModel> {
  const { protocol, hostname, port, username, pathname } = new URL(url);
  const where = {
    protocol: protocol.slice(0, -1),
    hostname: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port: Number(port) }),
    username: username === '' ? 'guest' : decodeURIComponent(username),
    password: password ?? (username === '' ? 'guest' : ''),
    vhost: pathname.length > 1 ? decodeURIComponent(pathname.slice(1)) : '/',
    heartbeat: heartbeatSeconds,
  };
  return connect(where, {
    timeout: connectMsMax,
    noDelay: true,
    clientProperties: { connection_name: `settle relay, process ${String(process.pid)}` },
    ...(ca === null ? {} : { ca: [Buffer.from(ca)] }),
  });
}

/**
 * Ends a connection now; the library's own way waits for the broker. By an error, for at nothing else it stops its clock, which
 * would keep the process alive.
 */
function cut(model: ChannelModel): void {
  const { stream } = model.connection as unknown as { stream?: Socket };
  stream?.destroy(new Error('The connection was given up.'));
}

async function within<T>(ms: number, work: Promise<T>, onLate: (result: T) => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      reject(new Error(`no answer within ${String(ms / 1_000)} s`));
    }, ms);
  });
  work.then(
    (result) => {
      if (isLate) onLate(result);
    },
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
