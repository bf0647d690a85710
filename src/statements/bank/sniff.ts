import { Buffer } from 'node:buffer';
import type { CamtKind } from './camt.js';

/** The first characters of a file, good enough to tell what it is; never refuses. */
function textOf(head: Buffer): string {
  if (head[0] === 0xff && head[1] === 0xfe) return head.subarray(2).toString('utf16le');
  if (head[0] === 0x3c && head[1] === 0) return head.toString('utf16le');
  if ((head[0] === 0xfe && head[1] === 0xff) || (head[0] === 0 && head[1] === 0x3c)) {
    return Buffer.from(head.subarray(0, head.length & ~1))
      .swap16()
      .toString('utf16le')
      .replace(/^\uFEFF/, '');
  }
  return head.toString('latin1').replace(/^\u00EF\u00BB\u00BF/, '');
}

/** The root of the message below its Document, and the namespace that names the message. */
export function isCamt(head: Buffer, { name, root }: CamtKind): boolean {
  const text = textOf(head);
  return (
    /^\s*</.test(text) &&
    new RegExp(`<(?:[\\w.-]+:)?${root}[\\s>/]`).test(text) &&
    new RegExp(`xmlns(?::[\\w.-]+)?\\s*=\\s*["'][^"']*${name.replace('.', '\\.')}`).test(text)
  );
}

const lineStart = '(?:^|[\\r\\n]|\\{4:)';

/** An account statement opens with a balance, an interim report names its floor limit instead. */
export function mtKindOf(head: Buffer): 'mt940' | 'mt942' | null {
  const text = textOf(head);
  if (!new RegExp(`${lineStart}:20:`).test(text) || !/[\r\n]:25P?:/.test(text)) return null;
  const [, tag] = /[\r\n]:(60[FM]|34F):/.exec(text) ?? [];
  if (tag === undefined) return null;
  return tag === '34F' ? 'mt942' : 'mt940';
}

export function isBai2(head: Buffer): boolean {
  return /^\s*01,(?:[^,\r\n]*,){6}[^\r\n]*[\r\n]+(?:88,[^\r\n]*[\r\n]+)*02,/.test(textOf(head));
}

/** A file of entries that came back: forward entries have the same header. */
export function isNachaReturn(head: Buffer): boolean {
  const text = textOf(head);
  return /^\s*101.{31}09410/.test(text) && /[\r\n]79[89][RC]\d\d/.test(text);
}
