import type { Notice } from './notice.js';

/** One way to tell somebody. `send` throws NotDelivered, and is over before `within` is aborted, whatever the other side does. */
export interface Sender {
  readonly name: string;
  send(notice: Notice, within: AbortSignal): Promise<void>;
}

/** Why a message did not arrive, in words that hold no address and no secret. */
export class NotDelivered extends Error {
  override readonly name = 'NotDelivered';
  constructor(
    message: string,
    /** The other side refuses it; the same again would be refused too. */
    readonly isFinal = false,
  ) {
    super(message);
  }
}
