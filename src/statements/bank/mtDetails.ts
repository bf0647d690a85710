import { referenceOf } from './references.js';

/** What the text for the account owner (:86:) says of a payment. */
export interface MtDetails {
  /** Three digits by which German banks say what kind of booking it is. */
  readonly code: string | null;
  readonly endToEndId: string | null;
  readonly ownerReference: string | null;
  readonly others: readonly (string | null)[];
}

const [partLength, lineLength] = [27, 65];
const keywords = 'EREF|KREF|PREF|RREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|SQTP|IBAN|BIC|TAN1';

/**
 * Reads the text in either way that banks structure it: "?20EREF+…?21SVWZ+…" (a code of three digits before) or
 * "/EREF/…/REMI/…". A value runs on over parts and lines that are full; what is shorter ends it.
 */
export function mtDetailsOf(lines: readonly string[]): MtDetails {
  const code = /^\s*(\d{3})(?=[^0-9A-Za-z\s])/.exec(lines[0] ?? '')?.[1] ?? null;
  const text = code === null ? runOn(lines, lineLength) : runOn(purposeParts(lines), partLength);
  const value = (keyword: string): string | null => valueOf(text, keyword);
  return {
    code,
    endToEndId: value('EREF'),
    ownerReference: value('KREF'),
    others: [value('PREF'), value('RREF'), value('MREF')],
  };
}

/** The parts ?20 to ?29 and ?60 to ?63 as they follow one another; a part's own mark may be cut by a line end. */
function purposeParts(lines: readonly string[]): string[] {
  const text = lines.join('').trimStart();
  const mark = text.charAt(3);
  const parts = text.slice(3).split(mark);
  return parts.filter((part) => /^(?:2\d|6[0-3])/.test(part)).map((part) => part.slice(2));
}

function runOn(parts: readonly string[], full: number): string {
  return parts.map((part) => (part.length >= full ? part : `${part}\n`)).join('');
}

function valueOf(text: string, keyword: string): string | null {
  const plus = new RegExp(`${keyword}\\+ *([^\\n]*?) *(?=\\n|$|(?:${keywords})\\+)`).exec(text);
  if (plus !== null) return referenceOf(plus[1]);
  return referenceOf(new RegExp(`/${keyword}/([^/\\n]*)`).exec(text)?.[1]);
}
