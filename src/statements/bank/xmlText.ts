import { Buffer } from 'node:buffer';
import type { StatementSource } from '../statement.js';
import { piecesOf } from './pieces.js';
import { refusal, shown } from './place.js';

type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'iso-8859-1';

const declared = /^<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']/;
const names: Readonly<Record<string, 'utf-8' | 'utf-16' | 'iso-8859-1'>> = {
  'UTF-8': 'utf-8',
  'US-ASCII': 'utf-8',
  'UTF-16': 'utf-16',
  'UTF-16LE': 'utf-16',
  'UTF-16BE': 'utf-16',
  'ISO-8859-1': 'iso-8859-1',
};
const declarationBytes = 512;

/**
 * The characters of an XML file, by its byte order mark, else by the encoding that it declares, else UTF-8. Throws
 * BAD_ENCODING for other encodings, for a declaration that the bytes contradict, and for bytes that are no characters;
 * none is ever replaced.
 */
export async function* xmlTextOf(source: StatementSource): AsyncIterable<string> {
  const decoding = new Decoding();
  let head: Buffer | null = Buffer.alloc(0);
  for await (const piece of piecesOf(source)) {
    // The declaration lies in the first bytes, however small the pieces are.
    const bytes: Buffer = head === null ? piece : Buffer.concat([head, piece]);
    head = head !== null && bytes.length < declarationBytes ? bytes : null;
    if (head === null) yield decoding.textOf(bytes, true);
  }
  if (head !== null) yield decoding.textOf(head, true);
  yield decoding.textOf(Buffer.alloc(0), false);
}

class Decoding {
  private decode: ((bytes: Buffer, stream: boolean) => string) | null = null;
  private line = 1;

  textOf(bytes: Buffer, stream: boolean): string {
    this.decode ??= decoderOf(encodingOf(bytes));
    try {
      const text = this.decode(bytes, stream);
      this.line += text.split('\n').length - 1;
      return text;
    } catch {
      const place = { line: this.line, column: null };
      throw refusal('BAD_ENCODING', 'From here on, bytes are no characters of the encoding of the file.', place);
    }
  }
}

/** By the first bytes of a file. */
export function encodingOf(bytes: Buffer): Encoding {
  const mark = markOf(bytes);
  const wide =
    mark ??
    (bytes[0] === 0x3c && bytes[1] === 0 ? 'utf-16le' : bytes[0] === 0 && bytes[1] === 0x3c ? 'utf-16be' : null);
  const text = decoderOf(wide ?? 'iso-8859-1')(bytes.subarray(0, declarationBytes & ~1), true);
  const name = declared.exec(text.replace(/^(?:\uFEFF|\u00EF\u00BB\u00BF)/, ''))?.[1];
  const known = name === undefined ? (wide ?? 'utf-8') : names[name.toUpperCase()];
  const meant = known === 'utf-16' ? (wide ?? '') : known;
  if (meant === undefined || meant === '' || (wide !== null && meant !== wide)) {
    throw refusal(
      'BAD_ENCODING',
      `The file declares the encoding ${shown(name ?? '')}; it must be UTF-8, UTF-16 or ISO-8859-1, and so must its bytes.`,
      { line: 1, column: null },
    );
  }
  return meant;
}

function markOf(bytes: Buffer): Encoding | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null;
}

export function decoderOf(encoding: Encoding): (bytes: Buffer, stream: boolean) => string {
  if (encoding === 'iso-8859-1') {
    // The decoder of the platform takes this name for windows-1252.
    return (bytes) => bytes.toString('latin1');
  }
  const decoder = new TextDecoder(encoding, { fatal: true });
  return (bytes, stream) => decoder.decode(bytes, { stream });
}
