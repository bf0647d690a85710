import { toJson } from '../kernel/json.js';
import type { DayReport } from './dayReport.js';
import type { MonthReport } from './monthReport.js';

/** The `settle.report` document. */
export function reportDocument(report: DayReport): { schema: 'settle.report'; schemaVersion: 1 } & DayReport {
  return { schema: 'settle.report', schemaVersion: 1, ...report };
}

/** The same as text; amounts and ids are strings. */
export function reportJson(report: DayReport): string {
  return toJson(reportDocument(report), 2);
}

/** The `settle.monthReport` document. */
export function monthDocument(report: MonthReport): { schema: 'settle.monthReport'; schemaVersion: 1 } & MonthReport {
  return { schema: 'settle.monthReport', schemaVersion: 1, ...report };
}

export function monthJson(report: MonthReport): string {
  return toJson(monthDocument(report), 2);
}
