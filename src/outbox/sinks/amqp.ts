import { printable } from '../../kernel/printable.js';
import { keyOf, type Topic } from '../../kernel/topics.js';
import { sharedLanes } from '../routing.js';
import { unsent, type OutsideSink, type Outgoing, type Sent, type SinkOutcome } from '../sink.js';
import { AmqpLink, type LinkOptions } from './amqpLink.js';

export interface AmqpOptions extends Omit<LinkOptions, 'routingKeyOf'> {
  /** With {topic} in it or not. */
  readonly routingKey: string;
  readonly bytesMax: number;
}

/** Messages of one turn; what is on its way at once is bounded by the link. */
const messagesMax = 2_000;

/** A broker that speaks AMQP 0-9-1, such as RabbitMQ. Exchange, queues and bindings are its administrator's. */
export class AmqpSink implements OutsideSink {
  readonly lanes = sharedLanes;
  readonly messagesMax = messagesMax;
  readonly bytesMax: number;
  readonly timeoutMs: number;
  private readonly options: LinkOptions;
  private link: AmqpLink | null = null;
  private opening: Promise<AmqpLink> | null = null;
  /** Nothing was confirmed since the last trouble: then one message goes ahead, and not a thousand into a closed door. */
  private isUnproven = true;

  constructor(
    readonly name: string,
    { routingKey, bytesMax, ...options }: AmqpOptions,
  ) {
    const routingKeyOf = (topic: string): string => routingKey.replaceAll('{topic}', keyOf(topic as Topic));
    this.options = { ...options, routingKeyOf };
    this.bytesMax = bytesMax;
    this.timeoutMs = options.confirmMsMax;
  }

  async send(messages: readonly Outgoing[], stop: AbortSignal): Promise<Sent> {
    const outcomes: SinkOutcome[] = messages.map(() => unsent);
    let link: AmqpLink;
    try {
      link = await this.connected();
    } catch (error) {
      return this.inTrouble(outcomes, `The broker cannot be reached: ${detailOf(error)}`);
    }
    const publish = async (from: number, until: number): Promise<void> => {
      const flights: Promise<void>[] = [];
      for (let at = from; at < until && (await link.room(stop)); at += 1) {
        const flight = link.publish(messages[at] as Outgoing);
        flights.push(flight.then((outcome) => void (outcomes[at] = outcome)));
      }
      await Promise.all(flights);
    };
    if (this.isUnproven && messages.length > 1) {
      await publish(0, 1);
      // What came back says nothing of the others: they may have a queue.
      if (outcomes[0]?.kind !== 'UNSENT') await publish(1, messages.length);
    } else {
      await publish(0, messages.length);
    }
    if (link.failure !== null) return this.inTrouble(outcomes, link.failure);
    if (outcomes.some(({ kind }) => kind === 'CONFIRMED')) this.isUnproven = false;
    const waits = link.blocked !== null && outcomes.some(({ kind }) => kind === 'UNSENT');
    return { outcomes, trouble: waits ? link.blocked : null, retryAfterMs: null };
  }

  async close(): Promise<void> {
    await this.opening?.catch(() => undefined);
    await this.link?.close();
  }

  private connected(): Promise<AmqpLink> {
    if (this.link?.failure === null) return Promise.resolve(this.link);
    this.opening ??= AmqpLink.open(this.options)
      .then((link) => (this.link = link))
      .finally(() => (this.opening = null));
    return this.opening;
  }

  private inTrouble(outcomes: readonly SinkOutcome[], trouble: string): Sent {
    this.isUnproven = true;
    return { outcomes, trouble: printable(trouble), retryAfterMs: null };
  }
}

function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return error.message === '' ? String(code) : error.message;
}
