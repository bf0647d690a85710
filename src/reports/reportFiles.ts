import { lstat, stat, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { SettleError } from '../kernel/errors.js';
import type { DayReport } from './dayReport.js';
import type { MonthReport } from './monthReport.js';

export const reportFormats = ['text', 'html', 'csv', 'json'] as const;
export type ReportFormat = (typeof reportFormats)[number];

/** The report in one of its forms, ending in a line break. */
export async function renderReport(report: DayReport, format: ReportFormat): Promise<string> {
  const text = await rendered(report, format);
  return text.endsWith('\n') ? text : `${text}\n`;
}

async function rendered(report: DayReport, format: ReportFormat): Promise<string> {
  switch (format) {
    case 'text':
      return (await import('./reportText.js')).reportText(report);
    case 'html':
      return (await import('./reportHtml.js')).reportHtml(report);
    case 'csv':
      return (await import('./reportCsv.js')).reportCsv(report);
    case 'json':
      return (await import('./reportJson.js')).reportJson(report);
  }
}

/** The roll-up of a month in one of its forms, ending in a line break. */
export async function renderMonth(report: MonthReport, format: ReportFormat): Promise<string> {
  const text = await renderedMonth(report, format);
  return text.endsWith('\n') ? text : `${text}\n`;
}

async function renderedMonth(report: MonthReport, format: ReportFormat): Promise<string> {
  switch (format) {
    case 'text':
      return (await import('./monthText.js')).monthText(report);
    case 'html':
      return (await import('./monthHtml.js')).monthHtml(report);
    case 'csv':
      return (await import('./reportCsv.js')).monthCsv(report);
    case 'json':
      return (await import('./reportJson.js')).monthJson(report);
  }
}

/** The form that a file name asks for; undefined when its extension names none. */
export function formatOfFile(file: string): ReportFormat | undefined {
  const known: Record<string, ReportFormat> = {
    '.html': 'html',
    '.htm': 'html',
    '.csv': 'csv',
    '.json': 'json',
    '.txt': 'text',
  };
  return known[extname(file).toLowerCase()];
}

/** Like `writeReportFile`, for a name of our own making: nobody asked for what a link there points to. */
export async function writeReportFileHere(file: string, text: string): Promise<void> {
  const found = await lstat(file).catch(() => undefined);
  if (found?.isSymbolicLink() === true) {
    throw new SettleError('FILE_NOT_WRITABLE', `${file} is a symbolic link, and what it points to is left alone.`, {
      details: { file },
      next: 'Remove the link, or name another folder.',
    });
  }
  await writeReportFile(file, text);
}

/**
 * Writes a report whole or not at all, readable by its owner only: it names accounts and amounts. Throws
 * FILE_IS_DIRECTORY, FILE_NOT_WRITABLE or DISK_FULL.
 */
export async function writeReportFile(file: string, text: string): Promise<void> {
  try {
    const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (found?.isDirectory() === true) {
      throw new SettleError('FILE_IS_DIRECTORY', `${file} is a folder; the report needs the name of a file.`, {
        details: { file },
        next: `settle report --out ${join(file, 'report.html')}`,
      });
    }
    // A pipe or a device is written to; renaming a file over it would replace it.
    if (found !== undefined && !found.isFile()) await writeFile(file, text);
    else await writeFileAtomic(file, text, { mode: 0o600 });
  } catch (error) {
    throw error instanceof SettleError ? error : notWritable(file, error);
  }
}

/** What went wrong with a file of a report, as the person who named it can mend it. */
export function notWritable(file: string, error: unknown): SettleError {
  const { code, message } = error as NodeJS.ErrnoException;
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  return new SettleError(
    full ? 'DISK_FULL' : 'FILE_NOT_WRITABLE',
    `The report cannot be written to ${file}: ${message.split(',')[0] ?? ''}.`,
    {
      details: { file, reason: code ?? null },
      next: full
        ? 'Free space, then type the same command again.'
        : 'Check the folder and its permissions, or name another file.',
      cause: error,
    },
  );
}
