import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A small disk of its own, which can be filled up and freed again. */
export interface Disk {
  path: string;
  /** Fills it until about this many bytes are left. */
  fill(leftBytes: number): void;
  free(): void;
  remove(): void;
}

/** Mounts one, which only root may; undefined, said aloud, where that is not permitted. */
export function mountDisk(megabytes: number): Disk | undefined {
  const path = mkdtempSync(join(tmpdir(), 'settle-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${String(megabytes)}m,mode=0700`, 'tmpfs', path]);
  if (mounted.status !== 0) {
    rmSync(path, { recursive: true, force: true });
    process.stderr.write(
      'No disk of its own may be mounted here (root only); file size limits alone stand in for it.\n',
    );
    return undefined;
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill: (leftBytes) => {
      const file = openSync(filler, 'a');
      try {
        for (;;) {
          const { bavail, bsize } = statfsSync(path);
          const more = bavail * bsize - leftBytes;
          if (more <= 0) return;
          writeSync(file, Buffer.alloc(Math.min(more, 1 << 20)));
        }
      } finally {
        closeSync(file);
      }
    },
    free: () => {
      rmSync(filler, { force: true });
    },
    remove: () => {
      spawnSync('umount', ['-l', path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}
