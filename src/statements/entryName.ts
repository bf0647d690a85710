/**
 * The name of a file in a zip: UTF-8 where the flag says so, else what its bytes are, UTF-8 or the Chinese encoding that
 * Alipay writes without a flag. Null for what is neither.
 */
export function decodeEntryName(bytes: Buffer, isUtf8: boolean): string | null {
  for (const encoding of isUtf8 ? ['utf-8'] : ['utf-8', 'gb18030']) {
    try {
      return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      continue;
    }
  }
  return null;
}
