import { isUtf8 } from 'node:buffer';
import { StatementRefusal } from './refusal.js';
import type { StatementSource } from './statement.js';

export const encodings = ['utf-8', 'utf-16le', 'utf-16be', 'gb18030', 'windows-1250', 'windows-1252'] as const;
export type Encoding = (typeof encodings)[number];

/** A longer line is no row of a statement but a quote that was never closed, or another kind of file. */
export const lineBytesMax = 1024 * 1024;

/** Whole lines of a file, each with its line end but maybe the last. `line` is the number of the first, from 1. */
export interface TextBlock {
  readonly text: string;
  readonly line: number;
}

const marks: readonly { readonly bytes: readonly number[]; readonly encoding: Encoding }[] = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
];

/** What a byte-order mark at the start says, with its length; null without one. */
export function byteOrderMark(head: Buffer): { encoding: Encoding; length: number } | null {
  const mark = marks.find(({ bytes }) => bytes.every((byte, at) => head[at] === byte));
  return mark === undefined ? null : { encoding: mark.encoding, length: mark.bytes.length };
}

/**
 * The start of a file as text, for sniffing: by its byte-order mark, else as UTF-8, else as `own`. Null for what is none of
 * them. A character that is cut at the end is left out.
 */
export function headText(head: Buffer, own: Encoding = 'utf-8'): string | null {
  const mark = byteOrderMark(head);
  const bytes = head.subarray(mark?.length ?? 0);
  for (const encoding of mark === null ? [...new Set<Encoding>(['utf-8', own])] : [mark.encoding]) {
    try {
      return decoderOf(encoding)(bytes, true);
    } catch {
      continue;
    }
  }
  return null;
}

/**
 * The file's text in blocks of whole lines. The encoding is decided by the byte-order mark, then UTF-8 when all of the file
 * is, then `own`. Throws BAD_ENCODING with line and column, EMPTY_FILE, RECORD_TOO_LONG.
 */
export async function* textBlocks(source: StatementSource, own: Encoding): AsyncGenerator<TextBlock> {
  const { encoding, skip } = await decide(source, own);
  const decode = decoderOf(encoding);
  let line = 1;
  let rest: Buffer = Buffer.alloc(0);
  let skipped = 0;
  for await (const chunk of source.chunks()) {
    const fresh = skipped < skip ? chunk.subarray(skip - skipped) : chunk;
    skipped += chunk.length - fresh.length;
    const end = lastLineEnd(fresh, rest.length, encoding);
    if (end === 0) {
      rest = Buffer.concat([rest, fresh]);
      requireShort(rest.length, line);
      continue;
    }
    const whole = rest.length === 0 ? fresh.subarray(0, end) : Buffer.concat([rest, fresh.subarray(0, end)]);
    rest = Buffer.from(fresh.subarray(end));
    const text = decoded(whole, decode, encoding, line);
    yield { text, line };
    line += countOf(text, '\n');
  }
  if (rest.length > 0) yield { text: decoded(rest, decode, encoding, line), line };
  else if (line === 1) throw new StatementRefusal('EMPTY_FILE', 'The file has a byte-order mark and nothing more.');
}

async function decide(source: StatementSource, own: Encoding): Promise<{ encoding: Encoding; skip: number }> {
  let head: Buffer = Buffer.alloc(0);
  let valid = true;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of source.chunks()) {
    if (head.length < 3) {
      head = Buffer.concat([head, chunk.subarray(0, 3 - head.length)]);
      const mark = byteOrderMark(head);
      if (mark !== null && (head.length === 3 || mark.encoding === 'utf-16be')) {
        return { encoding: mark.encoding, skip: mark.length };
      }
      // Nothing but UTF-8 can be meant, so that the file need not be gone through for it.
      if (head.length === 3 && own === 'utf-8') return { encoding: own, skip: 0 };
    }
    if (valid) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const end = wholeCharacters(bytes);
      valid = isUtf8(bytes.subarray(0, end));
      rest = Buffer.from(bytes.subarray(end));
    }
    if (!valid && head.length === 3) break;
  }
  if (head.length === 0) throw new StatementRefusal('EMPTY_FILE', 'The file has no bytes in it.');
  const mark = byteOrderMark(head);
  if (mark !== null) return { encoding: mark.encoding, skip: mark.length };
  return { encoding: valid && rest.length === 0 ? 'utf-8' : own, skip: 0 };
}

/** Length of the bytes up to the last character of UTF-8 that is whole: a chunk may end inside one. */
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

/** Offset in `bytes` behind its last line feed; 0 without one. `before`: bytes of the same line that came earlier. */
function lastLineEnd(bytes: Buffer, before: number, encoding: Encoding): number {
  if (encoding !== 'utf-16le' && encoding !== 'utf-16be') return bytes.lastIndexOf(10) + 1;
  const [first, second] = encoding === 'utf-16le' ? [10, 0] : [0, 10];
  // Pairs are counted from the start of the line; a pair that lies on both sides of the cut waits for the next chunk.
  const odd = before % 2;
  for (let at = bytes.length - ((bytes.length - odd) % 2) - 2; at >= odd; at -= 2) {
    if (bytes[at] === first && bytes[at + 1] === second) return at + 2;
  }
  return 0;
}

function requireShort(bytes: number, line: number): void {
  if (bytes > lineBytesMax) throw new StatementRefusal('RECORD_TOO_LONG', 'The line is longer than 1 MiB.', line, 1);
}

type Decode = (bytes: Buffer, isCut?: boolean) => string;

/** Decodes whole text, and throws for what is not of the encoding; of `isCut` text the last character may be incomplete. */
function decoderOf(encoding: Encoding): Decode {
  if (encoding === 'windows-1252') return decodeWindows1252;
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  return (bytes, isCut = false) => {
    if (!isCut) return decoder.decode(bytes);
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  };
}

/** Characters of 0x80 to 0x9F; a blank one is not assigned. The decoder of Node 20.18.3 and later gets these wrong. */
const upper1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';

function decodeWindows1252(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  return text.replace(/[\x80-\x9f]/g, (character) => {
    const meant = upper1252[character.charCodeAt(0) - 0x80] ?? ' ';
    if (meant === ' ') throw new RangeError('not a character of windows-1252');
    return meant;
  });
}

/** A replacement character says that somebody decoded the file wrongly before us; a NUL that it is another encoding. */
const damage = /[\0\uFFFD]/;

function decoded(bytes: Buffer, decode: Decode, encoding: Encoding, line: number): string {
  requireShortLines(bytes, line);
  let text: string;
  try {
    text = decode(bytes);
  } catch {
    throw undecodable(bytes, decode, encoding, line);
  }
  const at = text.search(damage);
  if (at < 0) return text;
  const before = text.slice(0, at);
  const what =
    text[at] === '\0'
      ? 'a NUL character. Is the file UTF-16 without a byte-order mark?'
      : 'the character U+FFFD: it was damaged by whoever decoded it before';
  throw refusedAt(before, line, `The text has ${what}`);
}

function requireShortLines(bytes: Buffer, line: number): void {
  if (bytes.length <= lineBytesMax) return;
  let start = 0;
  for (let number = line; start < bytes.length; number += 1) {
    const end = bytes.indexOf(10, start);
    requireShort((end < 0 ? bytes.length : end) - start, number);
    if (end < 0) return;
    start = end + 1;
  }
}

function undecodable(bytes: Buffer, decode: Decode, encoding: Encoding, line: number): StatementRefusal {
  // The longest start that can be decoded ends before the character that cannot.
  let [low, high] = [0, bytes.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    try {
      decode(bytes.subarray(0, middle), true);
      low = middle;
    } catch {
      high = middle - 1;
    }
  }
  return refusedAt(decode(bytes.subarray(0, low), true), line, `The text is not ${encoding.toUpperCase()}`);
}

function refusedAt(before: string, line: number, what: string): StatementRefusal {
  const lines = countOf(before, '\n');
  const column = before.length - (before.lastIndexOf('\n') + 1) + 1;
  return new StatementRefusal('BAD_ENCODING', what.endsWith('?') ? what : `${what}.`, line + lines, column);
}

function countOf(text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count += 1;
  return count;
}
