import { confirmed, unsent, type OutsideSink, type Outgoing, type Sent } from '../sink.js';

/** Standard output, one line of JSON a message; confirmed once the reader's end has taken it. */
export class StdoutSink implements OutsideSink {
  readonly lanes = 1;
  readonly messagesMax = 500;
  readonly timeoutMs = 10_000;

  constructor(
    readonly name: string,
    readonly bytesMax: number,
    private readonly stream: NodeJS.WritableStream = process.stdout,
  ) {}

  async send(messages: readonly Outgoing[]): Promise<Sent> {
    const text = messages.map(({ body }) => `${body.toString('utf8')}\n`).join('');
    const failure = await new Promise<string | null>((resolve) => {
      this.stream.write(text, (error) => {
        resolve(error ? ((error as NodeJS.ErrnoException).code ?? error.message) : null);
      });
    });
    const trouble = failure === null ? null : `Standard output takes nothing (${failure}).`;
    return { outcomes: messages.map(() => (failure === null ? confirmed : unsent)), trouble, retryAfterMs: null };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
