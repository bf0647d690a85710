import { createHash } from 'node:crypto';
import { open, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { SettleError } from '../../kernel/errors.js';
import { makeFolder } from '../../kernel/folder.js';

export function digestOf(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * The folder from which a bank fetches payment files. A file is prepared under a name that begins with a dot, which
 * pollers pass over, and published by one rename: it is there whole or not at all. A rename is the only way in which the
 * prepared file goes away, so one that is prepared and no longer there has been published, even if the bank has taken it
 * away since: no file is published twice. Each who prepares a file does so under a turn of their own.
 */
export class PaymentFolder {
  constructor(readonly dir: string) {}

  /** Writes a file that nobody sees yet, durably. */
  async prepare(name: string, turn: number, text: string): Promise<void> {
    const path = this.hidden(name, turn);
    try {
      makeFolder(this.dir);
      const file = await open(path, 'w', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.syncFolder();
    } catch (error) {
      await this.forget(name, turn);
      throw notWritable(path, error);
    }
  }

  /** Takes away what was prepared in a turn that another one has overtaken. */
  async forget(name: string, turn: number): Promise<void> {
    await unlink(this.hidden(name, turn)).catch(() => undefined);
  }

  /**
   * Publishes what was prepared, unless that was done before. Throws PAYMENT_FILE_DIFFERS when either name holds other
   * bytes than those of the digest; nothing is changed then.
   */
  async publish(name: string, turn: number, digest: string): Promise<void> {
    const [from, to] = [this.hidden(name, turn), join(this.dir, name)];
    try {
      const prepared = await readFile(from).catch(unlessMissing);
      if (prepared === undefined) return;
      const there = await readFile(to).catch(unlessMissing);
      for (const [path, bytes] of [
        [from, prepared],
        [to, there],
      ] as const) {
        if (bytes !== undefined && digestOf(bytes) !== digest) throw differs(path);
      }
      await rename(from, to).catch(unlessMissing);
      await this.syncFolder();
    } catch (error) {
      throw error instanceof SettleError ? error : notWritable(to, error);
    }
  }

  private hidden(name: string, turn: number): string {
    return join(this.dir, `.${name}.${String(turn)}`);
  }

  /** So that a name is still there after a power cut. Where folders cannot be opened, the system sees to it. */
  private async syncFolder(): Promise<void> {
    const folder = await open(this.dir).catch(() => null);
    try {
      await folder?.sync();
    } finally {
      await folder?.close();
    }
  }
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function differs(path: string): SettleError {
  return new SettleError('PAYMENT_FILE_DIFFERS', `${path} is not the payment file that was to be there.`, {
    details: { file: path },
    next: 'Find out who wrote it. Move it away, and type the same command again: the file is then published.',
  });
}

function notWritable(path: string, error: unknown): SettleError {
  const { code, message } = error as NodeJS.ErrnoException;
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new SettleError(
    full ? 'DISK_FULL' : 'FILE_NOT_WRITABLE',
    `The payment file ${path} cannot be written: ${message.split(',')[0] ?? ''}.`,
    {
      details: { file: path, reason: code ?? null },
      next: 'Mend it, then type the same command again: nothing is lost, and nothing is written twice.',
      cause: error,
    },
  );
}
