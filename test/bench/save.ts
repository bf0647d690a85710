import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { instantText } from '../../src/kernel/clock.js';
import { parseHistory, type Made } from './history.js';
import { withFigures } from './readme.js';
import { BenchRefused } from './refused.js';
import type { Report } from './report.js';

// Paths of the clone that the benchmark is started in, as npm run does.
const historyFile = 'test/bench/history.jsonl';
const readmeFile = 'README.md';

/** What made the figures. Asked before they are measured, for the tree may change meanwhile. */
export function madeBy(
  args: readonly string[],
  database: { url: string; label: string } | null,
): Pick<Made, 'commit' | 'dirty' | 'command'> {
  const commit = git('rev-parse', 'HEAD').trim();
  // Figures saved just before are no change of what is measured.
  const changes = git('status', '--porcelain', '--', '.', `:(exclude)${historyFile}`, `:(exclude)${readmeFile}`);
  return {
    commit,
    ...(changes === '' ? {} : { dirty: true }),
    command: commandText(args, database),
  };
}

export function machine(): Made['machine'] {
  const all = cpus();
  const [load = 0] = loadavg();
  const cpu = all[0]?.model ?? 'unknown';
  return { cpus: all.length, cpu, memoryBytes: totalmem(), node: process.version, load: Number(load.toFixed(2)) };
}

/** What to type for the same again, without the password that a database's URL may hold. */
export function commandText(args: readonly string[], database: { url: string; label: string } | null): string {
  const shown = args.map((arg) => (database === null ? arg : arg.replaceAll(database.url, database.label)));
  const quoted = shown.map((arg) => (/^[\w.,:=@/-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`));
  return ['npm run bench --', ...quoted].join(' ');
}

/** Throws before an hour is spent on measuring what could not be saved. */
export function assertCanSave(): void {
  readmeNow();
}

export function save({ measure, ...figures }: Report['saved'], made: Omit<Made, 'date'>): void {
  const text = `${JSON.stringify({ measure, date: instantText(new Date()), ...made, ...figures })}\n`;
  parseHistory(historyText() + text); // what could not be read again is not written
  appendFileSync(historyFile, text);
  showInReadme();
}

export function showInReadme(): void {
  writeFileSync(readmeFile, readmeNow());
}

function readmeNow(): string {
  return withFigures(readFileSync(readmeFile, 'utf8'), parseHistory(historyText()));
}

function historyText(): string {
  return existsSync(historyFile) ? readFileSync(historyFile, 'utf8') : '';
}

function git(...args: string[]): string {
  const ended = spawnSync('git', args, { encoding: 'utf8' });
  if (ended.status !== 0) {
    throw new BenchRefused(`Saved figures name their commit, and git does not tell it: ${ended.stderr.trim()}`);
  }
  return ended.stdout;
}
