import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { SettleError } from '../kernel/errors.js';

/**
 * Asks the person at the terminal, on stderr, and gives the line that was typed; with `hidden` it is not shown. Ctrl-C ends it as
 * it ends every command; a terminal that is closed is no answer (USAGE).
 */
export async function askLine(question: string, options: { hidden: boolean; signal: AbortSignal }): Promise<string> {
  let isMuted = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!isMuted) process.stderr.write(chunk);
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  // The terminal is in raw mode: what would be a signal is a key until it is made one.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  const closed = new Promise<never>((_resolve, reject) => {
    lines.once('close', () => {
      reject(new SettleError('USAGE', 'There was no answer.', { next: 'Type the same command again.' }));
    });
  });
  closed.catch(() => undefined);
  try {
    const answer = lines.question(question, { signal: options.signal });
    isMuted = options.hidden;
    return await Promise.race([answer, closed]);
  } catch (error) {
    throw options.signal.aborted ? (options.signal.reason as Error) : error;
  } finally {
    if (options.hidden) process.stderr.write('\n');
    lines.close();
  }
}
