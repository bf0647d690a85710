const shape = /^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$/;

/**
 * An IBAN as it is written in messages, without the blanks that people read it by; null for what is none. The two check
 * digits are proven (ISO 7064, mod 97-10), so that one mistyped or two exchanged characters are found.
 */
export function readIban(text: string): string | null {
  const iban = text.replaceAll(' ', '');
  if (!shape.test(iban)) return null;
  const digits = Array.from(iban.slice(4) + iban.slice(0, 4), (character) => parseInt(character, 36)).join('');
  return BigInt(digits) % 97n === 1n ? iban : null;
}

/** A BIC of ISO 9362: 8 or 11 characters. */
export function isBic(text: string): boolean {
  return /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(text);
}

/** The characters that every bank takes (SWIFT x, and of SEPA). */
const latin = /^[A-Za-z0-9/\-?:().,'+ ]+$/;
export const latinNameMax = 70;

/** Whether a bank takes this as a name: others are refused, since how to write them otherwise is not ours to guess. */
export function isLatinName(text: string): boolean {
  return latin.test(text) && text.trim() === text && text.length <= latinNameMax && !/^\/|\/$|\/\//.test(text);
}
