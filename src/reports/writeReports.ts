import { join } from 'node:path';
import type { Database } from '../db/database.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { makeFolder } from '../kernel/folder.js';
import { collectReport } from './dayReport.js';
import { notWritable, renderReport, writeReportFileHere } from './reportFiles.js';

/** Makes the folder for reports when it is missing. Throws like `writeReportFile`. */
export function makeReportFolder(dir: string): void {
  try {
    makeFolder(dir);
  } catch (error) {
    throw notWritable(dir, error);
  }
}

/**
 * Writes report-DAY.html, .json and .csv into a folder, which is made (for its owner only) when it is missing.
 * Returns the paths. Throws like `writeReportFile`.
 */
export async function writeReports(database: Database, day: BatchDay, dir: string): Promise<string[]> {
  makeReportFolder(dir);
  const report = await collectReport(database, { day });
  const files: string[] = [];
  for (const format of ['html', 'json', 'csv'] as const) {
    const file = join(dir, `report-${report.batchDay}.${format}`);
    await writeReportFileHere(file, await renderReport(report, format));
    files.push(file);
  }
  return files;
}
