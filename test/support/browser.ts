import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { tmpdir } from 'node:os';
import puppeteer, { type Browser } from 'puppeteer-core';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

function browserPath(): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin'];
  const found = folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
  if (found === undefined) throw new Error('No browser to look at the report with. Type: apt-get install chromium');
  return found;
}

/** A real browser with a profile of its own, without a network. Throws, and says what to type, where none is installed. */
export async function startBrowser(): Promise<{ browser: Browser; stop: () => Promise<void> }> {
  const profile = mkdtempSync(join(tmpdir(), 'settle-browser-'));
  const browser = await puppeteer.launch({
    executablePath: browserPath(),
    userDataDir: profile,
    // Root of a container has no name space for the sandbox; the page is a file of our own making.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  return {
    browser,
    stop: async () => {
      await browser.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
