import type { Channel, ConsumeMessage } from 'amqplib';
import type { SettleEvent } from '../outbox/events.js';
import { ContentDiffers } from './inbox.js';
import { NotOurMessage, readEvent } from './read.js';

export interface Consuming {
  /** Takes no more messages; what is being handled is waited for. */
  stop(): Promise<void>;
}

export interface ConsumeOptions {
  /** Messages that are handled before the first of them is acknowledged; more is faster. */
  prefetch?: number;
  /** After a failure the message waits so long before it comes again. */
  retryMs?: number;
  /** Told what went wrong; a message that will never do is left to the queue's dead-letter exchange. */
  onFailure?: (error: unknown, message: ConsumeMessage) => void;
}

/**
 * Hands the messages of a queue to `handle`, one after another, and acknowledges each after `handle` has resolved, which is
 * when its transaction is committed. One that fails comes again; one that is none of ours, or came before with another
 * content, is rejected for good.
 */
export async function consumeQueue(
  channel: Channel,
  queue: string,
  handle: (event: SettleEvent) => Promise<unknown>,
  { prefetch = 50, retryMs = 1_000, onFailure = () => undefined }: ConsumeOptions = {},
): Promise<Consuming> {
  await channel.prefetch(prefetch);
  let isStopped = false;
  let last: Promise<void> = Promise.resolve();
  const take = async (message: ConsumeMessage): Promise<void> => {
    if (isStopped) return; // not acknowledged: it goes to another consumer
    try {
      await handle(readEvent(message.content));
      channel.ack(message);
    } catch (error) {
      onFailure(error, message);
      const isHopeless = error instanceof NotOurMessage || error instanceof ContentDiffers;
      if (!isHopeless) await new Promise((resolve) => setTimeout(resolve, retryMs));
      answer(() => {
        channel.nack(message, false, !isHopeless);
      });
    }
  };
  const { consumerTag } = await channel.consume(queue, (message) => {
    if (message !== null) last = last.then(() => take(message));
  });
  return {
    stop: async () => {
      isStopped = true;
      await last;
      await channel.cancel(consumerTag);
    },
  };
}

/** On a channel that is closed there is nobody to answer; the broker delivers the message again. */
function answer(work: () => void): void {
  try {
    work();
  } catch {
    // As said.
  }
}
