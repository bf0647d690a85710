/** The text with halves of characters replaced, as an operating system would hand it over. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
