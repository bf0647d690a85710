/** A message ready to go. */
export interface Outgoing {
  /** Stable for ever: the business number of the outbox row. */
  readonly id: string;
  readonly topic: string;
  readonly type: string;
  /** RFC 3339, UTC. */
  readonly time: string;
  readonly body: Buffer;
}

/**
 * What became of one message.
 * - CONFIRMED: the receiver has it for good
 * - REFUSED: the receiver does not want this one
 * - UNCLEAR: not taken this time; that may be the message's fault or the receiver's
 * - UNSENT: not tried, or nobody knows: it goes out again
 */
export type SinkOutcome =
  | { readonly kind: 'CONFIRMED' }
  | { readonly kind: 'REFUSED' | 'UNCLEAR'; readonly reason: string }
  | { readonly kind: 'UNSENT' };

export const confirmed: SinkOutcome = { kind: 'CONFIRMED' };
export const unsent: SinkOutcome = { kind: 'UNSENT' };

export interface Sent {
  /** One for each message, in their order. */
  readonly outcomes: readonly SinkOutcome[];
  /** Why the receiver is not to be had now; null when it is. */
  readonly trouble: string | null;
  /** What it asked to wait. */
  readonly retryAfterMs: number | null;
}

/** Where messages go to outside of the database. */
export interface OutsideSink {
  readonly name: string;
  /** A sink that keeps one stream has one lane; others may be worked by several relays at once. */
  readonly lanes: number;
  /** Messages in one turn. */
  readonly messagesMax: number;
  /** Bytes of one message. */
  readonly bytesMax: number;
  /** The longest that one message may take until its outcome is known. */
  readonly timeoutMs: number;
  /**
   * Sends messages of different accounts, so that none depends on another. After an abort of `stop` it begins no more and
   * waits for those on their way. Never throws for what the receiver or the network does.
   */
  send(messages: readonly Outgoing[], stop: AbortSignal): Promise<Sent>;
  close(): Promise<void>;
}
