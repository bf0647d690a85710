export default async function globalTeardown() {
  await globalThis.settleTestServer?.stop();
}
