import { readdirSync, rmSync } from 'node:fs';

/** A node whose test was killed lives on; its process id is in the name of a file. */
function stopNodes(folder) {
  for (const pid of readdirSync(folder)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
  rmSync(folder, { recursive: true, force: true });
}

export default async function globalTeardown() {
  await globalThis.settleTestServer?.stop();
  stopNodes(globalThis.settleTestNodes);
  if (globalThis.settleMemoryFolder) rmSync(globalThis.settleMemoryFolder, { recursive: true, force: true });
}
