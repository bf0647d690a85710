/** Adds up the time that is spent in each named part, in milliseconds. */
export class Stopwatch {
  readonly parts = new Map<string, number>();

  async time<T>(part: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.parts.set(part, (this.parts.get(part) ?? 0) + performance.now() - start);
    }
  }
}
