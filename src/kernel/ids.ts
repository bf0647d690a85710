export type IdProblem = 'EMPTY' | 'TOO_LONG' | 'UNPRINTABLE' | 'OUTER_SPACE';

export const idBytesMax = 64;

// Cc control, Cf format (zero-width, bidi marks), Cs lone surrogate, Co private, Cn unassigned, Zl/Zp line separators:
// two ids that look alike to the person who approves a payout must not differ in something that cannot be seen.
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

/**
 * What is wrong with an id (order number, account number, channel), or null. Ids are compared byte by byte on every
 * database; what databases are known to fold, cut or hide is refused at the door.
 */
export function idProblem(id: string): IdProblem | null {
  if (id === '') return 'EMPTY';
  if (id.trim() !== id) return 'OUTER_SPACE';
  if (unprintable.test(id)) return 'UNPRINTABLE';
  if (Buffer.byteLength(id, 'utf8') > idBytesMax) return 'TOO_LONG';
  return null;
}

/** Order of ids as every database here has it: by bytes of UTF-8, which is by code point and not by UTF-16 unit. */
export function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
}
