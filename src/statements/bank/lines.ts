import { Buffer, isUtf8 } from 'node:buffer';
import type { StatementSource } from '../statement.js';
import { piecesOf } from './pieces.js';
import { refusal } from './place.js';

export interface TextLine {
  readonly text: string;
  /** From 1, as an editor counts. */
  readonly number: number;
  /** False for a last line that no line end follows. */
  readonly ended: boolean;
}

/** A longer line is of another kind of file. */
const lineBytesMax = 64 * 1024;
const [lineFeed, carriageReturn] = [10, 13];
// What frames a message on the wire (SOH, ETX, the end of file of DOS) says nothing.
const framing = /^\u0001+|[\u0003\u001a]+$/g;
const control = /[\0-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/**
 * The lines of a text file, some at a time. They end with LF, CRLF or CR. A line is UTF-8 where it is valid as that, else
 * ISO 8859-1: the banks' formats are ASCII but for names and texts, of which nothing is matched, and a name cut within a
 * character must not cost the statement. Throws BAD_ENCODING for control characters (and so for UTF-16) and
 * RECORD_TOO_LONG.
 */
export async function* linesOf(source: StatementSource): AsyncIterable<readonly TextLine[]> {
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  const lineOf = (bytes: Buffer, ended: boolean): TextLine => {
    number += 1;
    return { text: textOf(bytes, number), number, ended };
  };
  for await (const piece of piecesOf(source)) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const lines: TextLine[] = [];
    let start = 0;
    for (let end = endAfter(bytes, start); end !== -1; end = endAfter(bytes, start)) {
      // Of a pair of CR and LF that the piece cuts in two, the second half is not seen yet.
      if (end === bytes.length - 1 && bytes[end] === carriageReturn) break;
      lines.push(lineOf(bytes.subarray(start, end), true));
      start = end + (bytes[end] === carriageReturn && bytes[end + 1] === lineFeed ? 2 : 1);
    }
    rest = Buffer.from(bytes.subarray(start));
    if (rest.length > lineBytesMax) throw tooLong(number + 1);
    yield lines;
  }
  if (rest.length > 0) {
    const ended = rest[rest.length - 1] === carriageReturn;
    yield [lineOf(ended ? rest.subarray(0, -1) : rest, ended)];
  }
}

function endAfter(bytes: Buffer, start: number): number {
  const feed = bytes.indexOf(lineFeed, start);
  const before = feed === -1 ? bytes.length : feed;
  for (let at = start; at < before; at += 1) if (bytes[at] === carriageReturn) return at;
  return feed;
}

function textOf(bytes: Buffer, number: number): string {
  if (bytes.length > lineBytesMax) throw tooLong(number);
  const start = number === 1 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1', start).replace(framing, '');
  const at = text.search(control);
  if (at !== -1) {
    const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
    throw refusal('BAD_ENCODING', `The character U+${code} has no place in a text.`, { line: number, column: at + 1 });
  }
  return text;
}

function tooLong(line: number): Error {
  return refusal('RECORD_TOO_LONG', `A line is longer than ${String(lineBytesMax)} bytes.`, { line, column: null });
}
