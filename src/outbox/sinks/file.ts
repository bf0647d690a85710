import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { confirmed, unsent, type OutsideSink, type Outgoing, type Sent } from '../sink.js';

const messagesMax = 1_000;
const newline = 0x0a;
/** Bytes that are searched at once for the last whole line. */
const blockBytes = 64 * 1024;

/**
 * A file to which each message is appended as a line of JSON, readable by its owner. A message is confirmed once its line is
 * on the disk. What a crash left of a line at the end is taken away before the next is written: its message was never confirmed.
 */
export class FileSink implements OutsideSink {
  /** One: only one relay at a time writes. */
  readonly lanes = 1;
  readonly messagesMax = messagesMax;
  readonly timeoutMs = 10_000;
  private file: FileHandle | null = null;

  constructor(
    readonly name: string,
    private readonly path: string,
    readonly bytesMax: number,
  ) {}

  async send(messages: readonly Outgoing[]): Promise<Sent> {
    try {
      // Opened for each turn: between two of them the file may have been moved away, or another relay may have written.
      const file = (this.file ??= await open(this.path, 'a+', 0o600));
      await cutTornLine(file);
      await file.appendFile(Buffer.concat(messages.flatMap(({ body }) => [body, Buffer.of(newline)])));
      await file.datasync();
      await syncFolder(dirname(this.path));
      return { outcomes: messages.map(() => confirmed), trouble: null, retryAfterMs: null };
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
      const trouble = `The file ${this.path} cannot be written (${reason}).`;
      return { outcomes: messages.map(() => unsent), trouble, retryAfterMs: null };
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    const { file } = this;
    this.file = null;
    await file?.close().catch(() => undefined);
  }
}

/** How each of our lines begins. */
const lineStart = Buffer.from('{"specversion":"1.0",');

/** Cuts the file behind its last line end. Throws when what stands there is not the beginning of a line of ours. */
async function cutTornLine(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  const end = await endOfLines(file, size);
  if (end === size) return;
  const start = Buffer.alloc(Math.min(lineStart.length, size - end));
  await file.read(start, 0, start.length, end);
  if (!lineStart.subarray(0, start.length).equals(start)) throw new Error('it ends with something else than our lines');
  await file.truncate(end);
}

/** Where the last line ends. */
async function endOfLines(file: FileHandle, size: number): Promise<number> {
  const block = Buffer.alloc(Math.min(blockBytes, size));
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - block.length);
    const { bytesRead } = await file.read(block, 0, end - start, start);
    const at = block.subarray(0, bytesRead).lastIndexOf(newline);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

/** A new file's name is on the disk once its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
