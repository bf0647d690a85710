const shownMax = 40;
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Text of foreign origin, safe to print: what cannot be seen, or would steer the terminal, is written as its code point. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A foreign value in a message: quoted, printable, and cut when long. */
export function shown(value: string): string {
  const start = value.slice(0, shownMax * 2);
  const characters = Array.from(start);
  const isWhole = start.length === value.length && characters.length <= shownMax;
  return isWhole
    ? `"${printable(value)}"`
    : `"${printable(characters.slice(0, shownMax).join(''))}…" (${String(value.length)} characters)`;
}
