import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';

/** Larger is no settings and no secret, but another file; some, such as /dev/zero, never end. */
const bytesMax = 64 * 1024;

/** The text of a small file. Throws the system's error, or one that says what is wrong: too large, or not UTF-8. */
export function readSmallFile(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(file, bytes, length, bytes.length - length, null);
    }
    if (length > bytesMax) throw new Error('it is larger than 64 KiB');
    const text = bytes.subarray(0, length);
    if (!isUtf8(text)) throw new Error('it is not UTF-8');
    return text.toString().replace(/^\ufeff/, '');
  } finally {
    closeSync(file);
  }
}
