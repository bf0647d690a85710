import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { throwIfCancelled } from '../kernel/cancellation.js';
import { ImportSource } from '../orders/importSource.js';
import { openStatementFile } from './archive.js';
import type { DigestedSource } from './importStatement.js';
import { isCompanion } from './providers/index.js';
import { StatementRefusal } from './refusal.js';
import type { StatementSource } from './statement.js';

/** What a path holds: one statement file, or those of an archive. */
export interface OpenedStatements {
  readonly sources: readonly DigestedSource[];
  close(): Promise<void>;
}

/**
 * Opens a file, and what is in it if it is an archive; summaries that only repeat another file of it are passed over. Each is
 * read once here for its digest. Standard input and pipes are copied to a temporary file first. Throws FILE_NOT_FOUND and its
 * like, and a StatementRefusal for an archive that cannot be taken.
 */
export async function openStatements(
  path: string,
  standardInput: Readable,
  signal: AbortSignal,
): Promise<OpenedStatements> {
  const file = await ImportSource.open(path, standardInput, signal);
  try {
    const opened = await openStatementFile(await file.anywhere(), file.name);
    const sources: DigestedSource[] = [];
    for (const source of opened.sources) {
      if (opened.isArchive && isCompanion(await headOf(source))) continue;
      sources.push(await digested(source, signal));
    }
    const close = async (): Promise<void> => {
      opened.close();
      await file.close();
    };
    if (sources.length > 0) return { sources, close };
    throw new StatementRefusal('EMPTY_FILE', 'The archive has no statement in it.');
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The first bytes of a file, up to 64 KiB. */
export async function headOf(source: StatementSource): Promise<Buffer> {
  const headBytes = 64 * 1024;
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of source.chunks()) {
    parts.push(chunk);
    length += chunk.length;
    if (length >= headBytes) break;
  }
  return Buffer.concat(parts).subarray(0, headBytes);
}

async function digested(source: StatementSource, signal: AbortSignal): Promise<DigestedSource> {
  const hash = createHash('sha256');
  for await (const chunk of source.chunks()) {
    throwIfCancelled(signal);
    hash.update(chunk);
  }
  const digest = hash.digest('hex');
  return {
    name: source.name,
    digest,
    async *chunks() {
      const again = createHash('sha256');
      for await (const chunk of source.chunks()) {
        again.update(chunk);
        yield chunk;
      }
      if (again.digest('hex') !== digest) {
        throw new StatementRefusal('TRUNCATED', 'The file was changed while it was read.');
      }
    },
  };
}
