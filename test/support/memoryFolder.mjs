import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const memory = '/dev/shm';
const bytesNeeded = 3 * 1024 ** 3;
const prefix = 'settle-tests-';

/**
 * A new folder in memory, where a database that lives for one test is made ten times faster than on a disk; null where
 * there is no such place, or too little of it. Removes what runs left there whose process is gone.
 */
export function makeMemoryFolder() {
  try {
    for (const name of readdirSync(memory).filter((entry) => entry.startsWith(prefix))) {
      if (!isAlive(Number(name.split('-')[2]))) rmSync(join(memory, name), { recursive: true, force: true });
    }
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize < bytesNeeded) return null;
    return mkdtempSync(join(memory, `${prefix}${String(process.pid)}-`));
  } catch {
    return null; // not Linux, or not ours to write to: the usual folder does as well, only slower
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
