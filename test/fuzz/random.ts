/** A seeded source of choices: the same seed and the same calls give the same input, on every machine. */
export class Random {
  private state: number;

  constructor(...seeds: readonly (string | number)[]) {
    let hash = 2166136261;
    for (const character of seeds.join('/')) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619);
    this.state = hash >>> 0;
  }

  /** From 0 up to, and without, 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** True once in `n` times. */
  oneIn(n: number): boolean {
    return this.next() * n < 1;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.whole(0, choices.length - 1)] as T;
  }

  some<T>(choices: readonly T[], most: number): T[] {
    return Array.from({ length: this.whole(0, most) }, () => this.pick(choices));
  }

  shuffled<T>(items: readonly T[]): T[] {
    const mixed = [...items];
    for (let at = mixed.length - 1; at > 0; at -= 1) {
      const other = this.whole(0, at);
      [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
    }
    return mixed;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at += 1) bytes[at] = this.whole(0, 255);
    return bytes;
  }

  /** Text of characters that mean something to some parser, and of some that nobody expects. */
  text(most = 12): string {
    return Array.from({ length: this.whole(0, most) }, () => this.pick(alphabet)).join('');
  }
}

const alphabet = Array.from(
  'abcXYZ0123456789-_=+.,;:\'"`\\/|<>(){}[]!?@#$%^&*~ \t\r\n\u0000\u0007\u001b\u007f\u00a0\u00e9e\u0301\u200b\u202e\u2028\ufeff\ufffd一ßİ😀\ud800',
);

/** Texts that have broken programs before. */
export const nasty: readonly string[] = [
  '',
  ' ',
  '-',
  '--',
  '0',
  '-0',
  '-1',
  '00',
  '1e308',
  '1e999',
  '0x10',
  '1.5',
  'NaN',
  'Infinity',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '1,234.56',
  '１２',
  'null',
  'undefined',
  'true',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  "' or 1=1 --",
  '"; drop table account; --',
  '=1+1',
  '+1',
  '@SUM(A1)',
  '%s%s%n',
  '%00',
  '$HOME',
  '$(id)',
  '../none',
  'none/none',
  'a\u0000b',
  '\u001b[31mred',
  '\u202eevil',
  'é',
  'e\u0301',
  'аbc',
  '😀',
  '\ufeff',
  '2026-02-30',
  '2026-11-29',
  '0000-00-00',
  '9999-12-31',
  'x'.repeat(300),
  'y'.repeat(20_000),
];
