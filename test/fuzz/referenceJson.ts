/** One JSON object as a list of its pairs, doubled keys included; null for anything else. RFC 8259, read by hand. */
export function readJson(text: string): [string, unknown][] | null {
  try {
    const reader = new JsonText(text);
    const value = reader.document();
    return value instanceof Pairs ? value.list : null;
  } catch (error) {
    if (error instanceof NotJson) return null;
    throw error;
  }
}

class NotJson extends Error {}

class Pairs {
  readonly list: [string, unknown][] = [];
}

class JsonText {
  private at = 0;

  constructor(private readonly text: string) {}

  document(): unknown {
    const value = this.value();
    this.blanks();
    if (this.at < this.text.length) throw new NotJson();
    return value;
  }

  private blanks(): void {
    while (' \t\r\n'.includes(this.text[this.at] ?? 'x')) this.at += 1;
  }

  private take(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    if (found !== null) this.at += found.length;
    return found;
  }

  private value(): unknown {
    this.blanks();
    const first = this.text[this.at];
    if (first === '{') return this.object();
    if (first === '[') return this.array();
    if (first === '"') return this.string();
    const word = this.take(/true|false|null/y);
    if (word !== null) return word === 'null' ? null : word === 'true';
    const number = this.take(/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y);
    if (number === null) throw new NotJson();
    return Number(number);
  }

  private object(): Pairs {
    const pairs = new Pairs();
    this.list('}', () => {
      this.blanks();
      const key = this.string();
      this.blanks();
      if (this.take(/:/y) === null) throw new NotJson();
      pairs.list.push([key, this.value()]);
    });
    return pairs;
  }

  private array(): unknown[] {
    const items: unknown[] = [];
    this.list(']', () => items.push(this.value()));
    return items;
  }

  private list(end: string, item: () => void): void {
    this.at += 1;
    this.blanks();
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      item();
      this.blanks();
      const next = this.text[this.at];
      this.at += 1;
      if (next === end) return;
      if (next !== ',') throw new NotJson();
    }
  }

  private string(): string {
    const raw = this.take(/"(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/y);
    if (raw === null) throw new NotJson();
    const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
    return raw
      .slice(1, -1)
      .replace(/\\(?:u(....)|(.))/g, (_all, hex: string | undefined, letter: string) =>
        hex === undefined ? (escapes[letter] ?? letter) : String.fromCharCode(parseInt(hex, 16)),
      );
  }
}
