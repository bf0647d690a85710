import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { mkdtemp, open, rmdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { SettleError } from '../kernel/errors.js';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { printable } from '../kernel/printable.js';
import { FileRefusal } from './importProblems.js';

const chunkBytes = 64 * 1024;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
export const [lineFeed, carriageReturn] = [10, 13];

/** What the bytes of a file were when it was proven. */
export interface Fingerprint {
  size: bigint;
  modifiedNs: bigint;
  hash: string;
}

/** Throws FILE_NOT_FOUND, FILE_IS_DIRECTORY or FILE_UNREADABLE for a path that cannot be imported; "-" always can. */
export async function requireReadable(path: string): Promise<void> {
  if (path === '-') return;
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw Object.assign(new Error('it is a directory'), { code: 'EISDIR' });
    // A pipe is opened once only: who writes into it would see the first reader go.
    if (found.isFile()) await (await open(path)).close();
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): SettleError {
  const { code, message } = error as NodeJS.ErrnoException;
  const advice = { details: { file: path }, next: 'Check the path. Nothing was stored.', cause: error };
  const name = printable(path);
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new SettleError('FILE_NOT_FOUND', `There is no file ${name}.`, advice);
  }
  if (code === 'EISDIR') {
    return new SettleError('FILE_IS_DIRECTORY', `${name} is a directory; name the files in it.`, advice);
  }
  return new SettleError('FILE_UNREADABLE', `${name} cannot be read: ${message}`, advice);
}

/**
 * The bytes of one file, to be read twice: once to prove them, once to store them. Both times from the same open file,
 * so that a file put in its place meanwhile changes nothing. Standard input and pipes are copied to a temporary file first.
 */
export class ImportSource {
  private constructor(
    readonly name: string,
    private readonly handle: FileHandle,
  ) {}

  static async open(path: string, standardInput: Readable, signal: AbortSignal): Promise<ImportSource> {
    if (path === '-') return new ImportSource('standard input', await spool(standardInput, signal));
    try {
      const handle = await open(path);
      if ((await handle.stat()).isFile()) return new ImportSource(printable(path), handle);
      return new ImportSource(printable(path), await spool(handle.createReadStream(), signal));
    } catch (error) {
      throw error instanceof Error && 'code' in error && !(error instanceof SettleError)
        ? unreadable(path, error)
        : error;
    }
  }

  /**
   * The file's bytes without a byte-order mark, cut between characters. Throws NOT_UTF8 with the line, before the chunk
   * that is not is handed out. Returns the fingerprint of what was read.
   */
  async *chunks(signal: AbortSignal): AsyncGenerator<Buffer, Fingerprint> {
    const before = await this.stamp();
    const hash = createHash('sha256');
    let position = 0;
    let carried: Buffer = Buffer.alloc(0);
    for (;;) {
      throwIfCancelled(signal);
      const read = await this.readAt(position, chunkBytes);
      const isFirst = position === 0;
      position += read.length;
      hash.update(read);
      const bytes = carried.length === 0 ? read : Buffer.concat([carried, read]);
      const end = read.length === 0 ? bytes.length : wholeCharacters(bytes);
      const whole = bytes.subarray(0, end);
      if (!isUtf8(whole)) throw await this.notUtf8(position - bytes.length, whole);
      carried = bytes.subarray(end);
      const start = isFirst && whole.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
      if (whole.length > start) yield whole.subarray(start);
      if (read.length === 0) return { ...before, hash: hash.digest('hex') };
    }
  }

  /** The bytes as they are, at any place: for files that need not be UTF-8. */
  async anywhere(): Promise<{ size: number; read(position: number, length: number): Promise<Buffer> }> {
    const { size } = await this.stamp();
    return { size: Number(size), read: (position, length) => this.readAt(position, length) };
  }

  /** Throws FILE_CHANGED when the file is no longer as long or as old as it was. */
  async requireStamp(proven: Fingerprint): Promise<void> {
    const now = await this.stamp();
    if (now.size !== proven.size || now.modifiedNs !== proven.modifiedNs) throw changed();
  }

  requireSame(proven: Fingerprint, read: Fingerprint): void {
    if (read.hash !== proven.hash) throw changed();
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  /** Into a fresh buffer each time: the readers keep views of the last bytes. */
  private async readAt(position: number, length: number): Promise<Buffer> {
    try {
      const { bytesRead, buffer } = await this.handle.read(Buffer.allocUnsafe(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw new FileRefusal('FILE_UNREADABLE', `The file cannot be read: ${(error as Error).message}`);
    }
  }

  private async stamp(): Promise<{ size: bigint; modifiedNs: bigint }> {
    const { size, mtimeNs } = await this.handle.stat({ bigint: true });
    return { size, modifiedNs: mtimeNs };
  }

  private async notUtf8(offset: number, bytes: Buffer): Promise<FileRefusal> {
    let line = await this.linesBefore(offset);
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0 && isUtf8(bytes.subarray(start, end));) {
      start = end + 1;
      line += 1;
      end = bytes.indexOf(lineFeed, start);
    }
    const hint =
      (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
        ? ' It looks like UTF-16.'
        : bytes[0] === 0x1f && bytes[1] === 0x8b
          ? ' It looks compressed: zcat FILE | settle import … -'
          : '';
    return new FileRefusal('NOT_UTF8', `Line ${String(line)} is not UTF-8.${hint}`);
  }

  /** Number of the line that starts at or before this offset: read again, since only a refusal asks for it. */
  private async linesBefore(offset: number): Promise<number> {
    let line = 1;
    for (let position = 0; position < offset;) {
      const length = Math.min(chunkBytes, offset - position);
      const read = await this.readAt(position, length);
      if (read.length === 0) break;
      for (const byte of read) if (byte === lineFeed) line += 1;
      position += read.length;
    }
    return line;
  }
}

function changed(): FileRefusal {
  return new FileRefusal(
    'FILE_CHANGED',
    'The file was changed while it was imported. Rows stored before that stay; import it again when it is complete.',
  );
}

/** Length of the bytes up to the last character that is whole: a chunk may end inside one. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) {
      const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return back < wanted ? bytes.length - back : bytes.length;
    }
  }
  return bytes.length;
}

/** Copies a stream into a file that only we may read. It has no name any more when it is filled, so no end can leave it behind. */
async function spool(stream: Readable, signal: AbortSignal): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    const folder = await mkdtemp(join(tmpdir(), 'settle-import-'));
    const path = join(folder, 'input');
    handle = await open(path, 'wx+', 0o600);
    await unlink(path);
    await rmdir(folder);
    for await (const chunk of addAbortSignal(signal, stream)) await handle.writeFile(chunk as Buffer);
    return handle;
  } catch (error) {
    await handle?.close();
    throwIfCancelled(signal);
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SettleError(
      code === 'ENOSPC' ? 'DISK_FULL' : 'FILE_UNREADABLE',
      `Standard input cannot be copied to ${tmpdir()}: ${message}`,
      { next: 'Nothing of it was stored. Free space there, or set TMPDIR to another folder.', cause: error },
    );
  }
}
