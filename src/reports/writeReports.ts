import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { collectReport } from './dayReport.js';
import { notWritable, renderReport, writeReportFile } from './reportFiles.js';

/**
 * Writes report-DAY.html, .json and .csv into a folder, which is made (for its owner only) when it is missing.
 * Returns the paths. Throws like `writeReportFile`.
 */
export async function writeReports(database: Database, day: BatchDay, dir: string): Promise<string[]> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw notWritable(dir, error);
  }
  const report = await collectReport(database, day);
  const files: string[] = [];
  for (const format of ['html', 'json', 'csv'] as const) {
    const file = join(dir, `report-${report.batchDay}.${format}`);
    await writeReportFile(file, await renderReport(report, format));
    files.push(file);
  }
  return files;
}
