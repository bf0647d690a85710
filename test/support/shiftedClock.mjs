// Preloaded into a process of its own: its clock is off by SHIFT_MS, or jumps by JUMP_MS after JUMP_AFTER_MS. Only what
// people call the time is moved; timers and performance.now() go on as a machine's do.
const shift = Number(process.env.SHIFT_MS ?? 0);
const jump = Number(process.env.JUMP_MS ?? 0);
const jumpAfter = Number(process.env.JUMP_AFTER_MS ?? 0);
const RealDate = Date;
const startedAt = performance.now();
const now = () => RealDate.now() + shift + (performance.now() - startedAt >= jumpAfter ? jump : 0);

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(now());
    else super(...given);
  }

  static now() {
    return now();
  }
};
