/** Thrown for what the person who started the benchmark can mend. */
export class BenchRefused extends Error {}
