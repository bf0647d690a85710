import { CsvReader, readCsvHeader, type CsvHeader } from './csvRecords.js';
import { CsvStructure } from './csvStructure.js';
import type { ColumnNames, FileRecord } from './fileRecord.js';
import { FileRefusal } from './importProblems.js';
import type { Fingerprint, ImportSource } from './importSource.js';
import { NdjsonLines, NdjsonReader } from './ndjsonRecords.js';

/** A file whose structure holds from its first byte to its last. */
export interface ProvenFile {
  format: 'csv' | 'ndjson';
  /** Null for NDJSON. */
  header: CsvHeader | null;
  fingerprint: Fingerprint;
}

/**
 * The first pass: goes over the whole file and stores nothing. Throws a FileRefusal for what makes all of it doubtful:
 * another encoding, a missing or doubled column, a broken quote, a record without an end, no content at all.
 */
export async function proveFile(source: ImportSource, columns: ColumnNames, signal: AbortSignal): Promise<ProvenFile> {
  const format = await formatOf(source, signal);
  return format === 'csv' ? proveCsv(source, columns, signal) : proveNdjson(source, signal);
}

/**
 * The second pass: the records of a proven file, some thousand at once. Throws FILE_CHANGED when the file is not the
 * proven one any more.
 */
export async function* readRecords(
  source: ImportSource,
  columns: ColumnNames,
  proven: ProvenFile,
  signal: AbortSignal,
): AsyncGenerator<FileRecord[], readonly string[]> {
  const reader = proven.header === null ? new NdjsonReader(columns) : new CsvReader(proven.header);
  const chunks = source.chunks(signal);
  for (let step = await chunks.next(); ; step = await chunks.next()) {
    await source.requireStamp(proven.fingerprint);
    if (step.done === true) {
      source.requireSame(proven.fingerprint, step.value);
      yield await reader.end();
      return reader instanceof NdjsonReader ? [...reader.extra] : (proven.header?.extra ?? []);
    }
    yield await reader.read(step.value);
  }
}

/** By the first byte that is no blank: an NDJSON line starts with "{", which no name of ours does. */
async function formatOf(source: ImportSource, signal: AbortSignal): Promise<'csv' | 'ndjson'> {
  for await (const chunk of source.chunks(signal)) {
    const first = chunk.find((byte) => byte !== 32 && byte !== 9 && byte !== 10 && byte !== 13);
    if (first !== undefined) return first === 0x7b ? 'ndjson' : 'csv';
  }
  throw new FileRefusal('EMPTY_FILE', 'The file has no content, not even a header.');
}

async function proveCsv(source: ImportSource, columns: ColumnNames, signal: AbortSignal): Promise<ProvenFile> {
  const structure = new CsvStructure();
  let header: CsvHeader | null = null;
  const beginning: Buffer[] = [];
  const readHeader = (end: number): CsvHeader => readCsvHeader(Buffer.concat(beginning).subarray(0, end), columns);
  const chunks = source.chunks(signal);
  let step = await chunks.next();
  for (; step.done !== true; step = await chunks.next()) {
    if (header === null) beginning.push(step.value);
    structure.scan(step.value);
    structure.takeStartLines();
    if (header === null && structure.headerEnd !== null) header = readHeader(structure.headerEnd);
  }
  structure.end();
  return { format: 'csv', header: header ?? readHeader(structure.headerEnd ?? 0), fingerprint: step.value };
}

async function proveNdjson(source: ImportSource, signal: AbortSignal): Promise<ProvenFile> {
  const lines = new NdjsonLines();
  const chunks = source.chunks(signal);
  let step = await chunks.next();
  for (; step.done !== true; step = await chunks.next()) lines.measure(step.value);
  return { format: 'ndjson', header: null, fingerprint: step.value };
}
