import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, CDPSession, Page } from 'puppeteer-core';
import { collectReport } from '../src/reports/dayReport.js';
import { collectMonth } from '../src/reports/monthReport.js';
import { renderMonth, renderReport } from '../src/reports/reportFiles.js';
import { startBrowser } from './support/browser.js';
import { createTestDatabase } from './support/databases.js';
import { seedReportedDays } from './support/reportedDays.js';

// The report as people see it, in one browser that is started once. SETTLE_TEST_SCREENSHOTS=FOLDER keeps the pictures.

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'settle-report-'));
const pictures = process.env['SETTLE_TEST_SCREENSHOTS'] ?? join(folder, 'pictures');
const kinds = ['day', 'month'] as const;
type Kind = (typeof kinds)[number];

interface Look {
  width: number;
  scheme: 'light' | 'dark';
  media?: 'print';
}

const looks: Record<string, Look> = {
  desktop: { width: 1280, scheme: 'light' },
  dark: { width: 1280, scheme: 'dark' },
  phone: { width: 360, scheme: 'light' },
  // What is left of the width of the paper between margins of 14 mm, at 96 dots an inch.
  'print on A4': { width: 687, scheme: 'light', media: 'print' },
  'print on Letter': { width: 710, scheme: 'light', media: 'print' },
};

let browser: Browser;
let stop: () => Promise<void>;
let page: Page;
let devtools: CDPSession;
const asked: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  const database = await createTestDatabase('sqlite');
  const day = await seedReportedDays(database.database);
  const report = await collectReport(database.database, { day });
  writeFileSync(join(folder, 'day.html'), await renderReport(report, 'html'));
  const month = await collectMonth(database.database, day.slice(0, 7), () => true);
  writeFileSync(join(folder, 'month.html'), await renderMonth(month, 'html'));
  await database.drop();
  ({ browser, stop } = await startBrowser());
  page = await browser.newPage();
  devtools = await page.createCDPSession();
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.setOfflineMode(true);
});

afterAll(async () => {
  await (stop as (() => Promise<void>) | undefined)?.();
  rmSync(folder, { recursive: true, force: true });
});

async function show(kind: Kind, { width, scheme, media }: Look): Promise<void> {
  await page.setViewport({ width, height: 900 });
  // Both at once: each of the browser's own two calls takes the other one back.
  const features = [{ name: 'prefers-color-scheme', value: scheme }];
  await devtools.send('Emulation.setEmulatedMedia', { media: media ?? '', features });
  await page.goto(pathToFileURL(join(folder, `${kind}.html`)).href);
}

interface Violation {
  id: string;
  nodes: { html: string }[];
}

/** What a checker of accessibility finds against, as "rule: element". */
async function violations({ contrast }: { contrast: boolean }): Promise<string[]> {
  await page.evaluate(axe);
  const options = { resultTypes: ['violations'], rules: { 'color-contrast': { enabled: contrast } } };
  const { violations: found } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as {
    violations: Violation[];
  };
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`));
}

describe.each(kinds)('The HTML report of a %s in a browser', (kind) => {
  test.each(Object.keys(looks))('%s: fits its width, and every text is inside of its picture', async (name) => {
    const look = looks[name] as Look;
    await show(kind, look);
    const measured = (await page.evaluate(`({
      page: document.documentElement.scrollWidth,
      // On paper nothing scrolls: a table that is wider than its box is cut.
      boxes: [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1)
        .map((box) => box.querySelector('caption').textContent),
      outside: [...document.querySelectorAll('svg text')].filter((text) => {
        const [inner, outer] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
        return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.top < outer.top - 1;
      }).map((text) => text.textContent),
    })`)) as { page: number; boxes: string[]; outside: string[] };
    expect(measured.page).toBeLessThanOrEqual(look.width);
    expect(measured.outside).toEqual([]);
    if (look.width > 400) expect(measured.boxes).toEqual([]);
    const picture = join(pictures, `${kind}-${name.replaceAll(' ', '-')}.png`);
    await page.screenshot({ path: picture as `${string}.png`, fullPage: true });
    expect(statSync(picture).size).toBeGreaterThan(20_000);
  });

  test('has nothing that a checker of accessibility finds against, light, dark or narrow', async () => {
    // The page of a month has the same parts, which need not be seen in every light again.
    for (const name of kind === 'day' ? ['desktop', 'dark', 'phone'] : ['desktop']) {
      await show(kind, looks[name] as Look);
      // Contrast is most of its time, and no other at another width.
      expect([name, await violations({ contrast: name !== 'phone' })]).toEqual([name, []]);
    }
  });

  test('numbers stand right, in digits of one width, and each chart has a table beside it and words for it', async () => {
    await show(kind, looks['desktop'] as Look);
    const found = (await page.evaluate(`({
      cells: [...document.querySelectorAll('td.n')].filter((cell) => {
        const style = getComputedStyle(cell);
        return style.textAlign !== 'right' || !style.fontVariantNumeric.includes('tabular-nums');
      }).length,
      numbers: [...document.querySelectorAll('td')]
        .filter((cell) => /^-?[0-9][0-9,.]*$/.test(cell.textContent) && cell.className !== 'n').length,
      charts: [...document.querySelectorAll('svg')].map((svg) => ({
        title: svg.querySelector('title').textContent.length > 0,
        words: svg.querySelector('desc').textContent.length > 10,
        table: svg.closest('.pair').querySelector('tbody tr') !== null,
      })),
    })`)) as { cells: number; numbers: number; charts: object[] };
    expect([found.cells, found.numbers]).toEqual([0, 0]);
    expect(found.charts.length).toBeGreaterThan(2);
    for (const chart of found.charts) expect(chart).toEqual({ title: true, words: true, table: true });
  });

  test('is drawn dark on light, and light on dark, as the reader’s system wants it', async () => {
    const brightness = async (look: Look): Promise<number> => {
      await show(kind, look);
      const colour = (await page.evaluate(
        `getComputedStyle(document.querySelector('main')).backgroundColor`,
      )) as string;
      return (colour.match(/[0-9]+/g) ?? []).reduce((sum, part) => sum + Number(part), 0);
    };
    expect(await brightness(looks['desktop'] as Look)).toBe(3 * 255);
    expect(await brightness(looks['dark'] as Look)).toBeLessThan(3 * 40);
    expect(await brightness({ ...(looks['print on A4'] as Look), scheme: 'dark' })).toBe(3 * 255);
  });
});

test('the order of the report of a day: verdict and tie-out, what needs a person, money, then how it came about', async () => {
  await show('day', looks['desktop'] as Look);
  const titles = (await page.evaluate(
    `[...document.querySelectorAll('h2')].map((title) => title.textContent)`,
  )) as string[];
  expect(titles).toEqual([
    'From source to ledger',
    'What needs a person',
    'Gross, fees and net',
    'Movers since 2026-11-28',
    'Largest net positions',
    'Payouts',
    'Open discrepancies',
    'Runs and times',
    'Where this comes from',
  ]);
  expect(await page.evaluate(`document.querySelector('main').children[1].className`)).toBe('verdict attention');
});

test('paper of either size takes the report of a day', async () => {
  await show('day', looks['desktop'] as Look);
  for (const format of ['A4', 'Letter'] as const) {
    const file = await page.pdf({ format });
    const pages =
      Buffer.from(file)
        .toString('latin1')
        .match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    expect(pages).toBeGreaterThanOrEqual(3);
    expect(pages).toBeLessThanOrEqual(12);
  }
});

test('nothing but the files themselves was asked for, and nothing was complained of', () => {
  expect(complaints).toEqual([]);
  expect([...new Set(asked)].map((url) => url.replace(/^.*\//, ''))).toEqual(['day.html', 'month.html']);
});
