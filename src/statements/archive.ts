import type { FileHandle } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { printable, shown } from '../kernel/printable.js';
import { decodeEntryName } from './entryName.js';
import { StatementRefusal } from './refusal.js';
import type { StatementSource } from './statement.js';

const mebi = 1024 * 1024;

/** What an archive may hold. A bill of a day with millions of rows is some gigabytes, and packs to a tenth. */
export const archiveLimits = {
  entries: 64,
  /** Of all entries together, unpacked. */
  bytes: 8 * 1024 * mebi,
  /** Unpacked to packed; tables of a repeated row reach a hundred. Counts from `freeBytes` on. */
  ratio: 200,
  freeBytes: mebi,
};

export type ArchiveLimits = typeof archiveLimits;

/** What a path holds: one source, or one for each file of an archive, in its order. `close` when all is read. */
export interface OpenedFile {
  readonly sources: readonly StatementSource[];
  readonly isArchive: boolean;
  close(): void;
}

/** A file that can be read at any place, which no other file takes the place of meanwhile. */
export interface RandomBytes {
  readonly size: number;
  /** Fewer bytes than asked for at the end only. */
  read(position: number, length: number): Promise<Buffer>;
}

/** Of a regular file. The handle stays open for the caller to close. */
export async function bytesOf(handle: FileHandle): Promise<RandomBytes> {
  const { size } = await handle.stat();
  return {
    size,
    async read(position, length) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    },
  };
}

/**
 * Opens a plain file, a gzip or a zip by its first bytes, never by its name. Nothing is unpacked to disk. Throws
 * BAD_ARCHIVE for what is damaged, encrypted, nested, linked, or named to lead out of the archive, FILE_TOO_LARGE for a
 * zip bomb and EMPTY_FILE.
 */
export async function openStatementFile(
  file: RandomBytes,
  name: string,
  limits: ArchiveLimits = archiveLimits,
): Promise<OpenedFile> {
  const start = await file.read(0, 8);
  if (start.length === 0) throw new StatementRefusal('EMPTY_FILE', 'The file has no bytes in it.');
  const packing = packingOf(start);
  if (packing === 'zip') return openZip(file, name, limits);
  if (packing === 'gzip') {
    return { sources: [gzipSource(file, name, limits)], isArchive: false, close: () => undefined };
  }
  if (packing !== null)
    throw new StatementRefusal('BAD_ARCHIVE', `The file is packed with ${packing}, which is not read.`);
  return { sources: [{ name, chunks: () => plainChunks(file) }], isArchive: false, close: () => undefined };
}

type Packing = 'zip' | 'gzip' | 'bzip2' | 'xz' | '7z' | 'rar' | 'zstd';

const magics: readonly (readonly [Packing, readonly number[]])[] = [
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
  ['zip', [0x50, 0x4b, 0x05, 0x06]],
  ['gzip', [0x1f, 0x8b]],
  ['bzip2', [0x42, 0x5a, 0x68]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ['7z', [0x37, 0x7a, 0xbc, 0xaf]],
  ['rar', [0x52, 0x61, 0x72, 0x21]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
];

function packingOf(start: Buffer): Packing | null {
  return magics.find(([, bytes]) => bytes.every((byte, at) => start[at] === byte))?.[0] ?? null;
}

const chunkBytes = 64 * 1024;

/** By position, so that it can be read again, and by several at once. */
async function* plainChunks(file: RandomBytes): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    const bytes = await file.read(position, chunkBytes);
    if (bytes.length === 0) return;
    position += bytes.length;
    yield bytes;
  }
}

function gzipSource(file: RandomBytes, name: string, limits: ArchiveLimits): StatementSource {
  return {
    name,
    chunks: () => {
      const gunzip = createGunzip();
      // What goes wrong on either side ends both, and is told by the side that is read.
      pipeline(Readable.from(plainChunks(file), { objectMode: false }), gunzip, () => undefined);
      return unpackedChunks(gunzip, name, new Budget(limits), file.size);
    },
  };
}

/** Bytes that the files of one archive may still unpack to. */
class Budget {
  private used = 0;
  constructor(private readonly limits: ArchiveLimits) {}

  /** `total`: unpacked bytes of the file so far, `packed`: its packed size. */
  spend(bytes: number, total: number, packed: number): void {
    this.used += bytes;
    if (this.used > this.limits.bytes) {
      throw new StatementRefusal('FILE_TOO_LARGE', `Unpacked it is larger than ${sizeWords(this.limits.bytes)}.`);
    }
    if (total > this.limits.freeBytes && total > packed * this.limits.ratio) {
      const message = `It unpacks to more than ${String(this.limits.ratio)} times its size, as a zip bomb does.`;
      throw new StatementRefusal('FILE_TOO_LARGE', message);
    }
  }
}

function sizeWords(bytes: number): string {
  return bytes >= mebi ? `${String(Math.floor(bytes / mebi))} MiB` : `${String(bytes)} bytes`;
}

async function* unpackedChunks(stream: Readable, name: string, budget: Budget, packed: number): AsyncGenerator<Buffer> {
  let total = 0;
  try {
    for await (const chunk of stream) {
      const bytes = chunk as Buffer;
      if (total === 0 && packingOf(bytes) !== null) {
        throw new StatementRefusal('BAD_ARCHIVE', `${printable(name)} holds an archive again.`);
      }
      total += bytes.length;
      budget.spend(bytes.length, total, packed);
      yield bytes;
    }
  } catch (error) {
    if (error instanceof StatementRefusal) throw error;
    throw damaged(error);
  } finally {
    stream.destroy();
  }
}

function damaged(error: unknown): StatementRefusal {
  const reason = error instanceof Error ? error.message : String(error);
  return new StatementRefusal('BAD_ARCHIVE', `The archive is damaged: ${printable(reason)}.`);
}

async function openZip(file: RandomBytes, name: string, limits: ArchiveLimits): Promise<OpenedFile> {
  const { fromRandomAccessReaderPromise, RandomAccessReader } = await import('yauzl');
  class FileReader extends RandomAccessReader {
    override _readStreamForRange(start: number, end: number): Readable {
      return Readable.from(rangeOf(file, start, end), { objectMode: false });
    }
  }
  let zip: ZipFile;
  try {
    // Names are bytes here: without the flag for UTF-8 they are what the sender's system writes.
    const options = { lazyEntries: true, decodeStrings: false, validateEntrySizes: true, autoClose: false };
    zip = await fromRandomAccessReaderPromise(new FileReader(), file.size, options);
  } catch (error) {
    throw damaged(error);
  }
  try {
    const entries = await entriesOf(zip, limits);
    const sources = entries.map(({ entry, path }) => zipSource(zip, entry, `${name}/${path}`, limits));
    return { sources, isArchive: true, close: () => zip.close() };
  } catch (error) {
    zip.close();
    throw error instanceof StatementRefusal ? error : damaged(error);
  }
}

async function* rangeOf(file: RandomBytes, start: number, end: number): AsyncGenerator<Buffer> {
  for (let position = start; position < end;) {
    const bytes = await file.read(position, Math.min(chunkBytes, end - position));
    if (bytes.length === 0) throw new Error('it ends too early');
    position += bytes.length;
    yield bytes;
  }
}

async function entriesOf(zip: ZipFile, limits: ArchiveLimits): Promise<{ entry: Entry; path: string }[]> {
  if (zip.entryCount > limits.entries) {
    throw new StatementRefusal(
      'BAD_ARCHIVE',
      `The archive has ${String(zip.entryCount)} files, ${String(limits.entries)} are read.`,
    );
  }
  const found: { entry: Entry; path: string }[] = [];
  const names = new Set<string>();
  for await (const entry of zip.eachEntry()) {
    const path = pathOf(entry);
    if (path.endsWith('/')) continue;
    requireReadable(entry, path, limits);
    if (names.has(path)) throw new StatementRefusal('BAD_ARCHIVE', `The archive has ${shown(path)} twice.`);
    names.add(path);
    found.push({ entry, path });
  }
  if (names.has('[Content_Types].xml')) {
    throw new StatementRefusal('NOT_A_STATEMENT', 'The file is a workbook of Excel: export the table as CSV.');
  }
  const total = found.reduce((sum, { entry }) => sum + entry.uncompressedSize, 0);
  if (total > limits.bytes) {
    throw new StatementRefusal('FILE_TOO_LARGE', `Unpacked it is larger than ${sizeWords(limits.bytes)}.`);
  }
  if (found.length === 0) throw new StatementRefusal('EMPTY_FILE', 'The archive has no file in it.');
  return found;
}

/** The name of an entry, which must stay inside the archive. Throws BAD_ARCHIVE. */
function pathOf(entry: Entry): string {
  const path = decodeEntryName(entry.fileName as unknown as Buffer, (entry.generalPurposeBitFlag & 0x800) !== 0);
  if (path === null) throw new StatementRefusal('BAD_ARCHIVE', 'The name of a file in the archive cannot be read.');
  const isOutside = /^[/\\]|^[A-Za-z]:|\\|\0/.test(path) || path.split('/').includes('..');
  if (isOutside) throw new StatementRefusal('BAD_ARCHIVE', `${shown(path)} leads out of the archive.`);
  return path;
}

const [fileTypeMask, symbolicLink] = [0o170_000, 0o120_000];

function requireReadable(entry: Entry, path: string, limits: ArchiveLimits): void {
  const refuse = (what: string): never => {
    throw new StatementRefusal('BAD_ARCHIVE', `${shown(path)} ${what}.`);
  };
  if (((entry.externalFileAttributes >>> 16) & fileTypeMask) === symbolicLink) refuse('is a link');
  if (entry.isEncrypted()) refuse('is encrypted');
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) refuse('is packed in a way that is not read');
  const { uncompressedSize: size, compressedSize: packed } = entry;
  if (size > limits.freeBytes && size > packed * limits.ratio) {
    const message = `${shown(path)} unpacks to more than ${String(limits.ratio)} times its size, as a zip bomb does.`;
    throw new StatementRefusal('FILE_TOO_LARGE', message);
  }
}

function zipSource(zip: ZipFile, entry: Entry, name: string, limits: ArchiveLimits): StatementSource {
  return {
    name: printable(name),
    async *chunks() {
      let stream: Readable;
      try {
        stream = await zip.openReadStreamPromise(entry);
      } catch (error) {
        throw damaged(error);
      }
      yield* checked(unpackedChunks(stream, name, new Budget(limits), entry.compressedSize), entry.crc32);
    },
  };
}

/** The file's bytes, of which the checksum must hold: a flipped byte can still unpack. */
async function* checked(chunks: AsyncIterable<Buffer>, wanted: number): AsyncGenerator<Buffer> {
  let sum = 0;
  for await (const chunk of chunks) {
    sum = crc32(chunk, sum);
    yield chunk;
  }
  if (sum !== wanted) throw damaged(new Error('a checksum does not hold'));
}
