import { toJson } from '../kernel/json.js';
import type { DayReport } from './dayReport.js';

/** The `settle.report` document. */
export function reportDocument(report: DayReport): { schema: 'settle.report'; schemaVersion: 1 } & DayReport {
  return { schema: 'settle.report', schemaVersion: 1, ...report };
}

/** The same as text; amounts and ids are strings. */
export function reportJson(report: DayReport): string {
  return toJson(reportDocument(report), 2);
}
