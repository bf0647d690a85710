import { readFileSync } from 'node:fs';

/** High-water mark of a living process's resident memory in bytes; 0 once it is gone. */
export function peakOf(pid: number | undefined): number {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8')) ?? [];
    return Number(kibibytes ?? 0) * 1024;
  } catch {
    return 0; // the process ended between two looks
  }
}
