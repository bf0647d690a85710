import { rmSync } from 'node:fs';

export default async function globalTeardown() {
  await globalThis.settleTestServer?.stop();
  if (globalThis.settleMemoryFolder) rmSync(globalThis.settleMemoryFolder, { recursive: true, force: true });
}
