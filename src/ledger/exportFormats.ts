import { stringify } from 'csv-stringify/sync';
import { formatMinor, scaleOf } from '../kernel/money.js';
import type { ExportedEntry, ExportedLeg } from './exportEntries.js';

export const exportFormats = ['hledger', 'beancount', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Writes a journal piece by piece: `head`, then each slice of entries. Texts end in a line break or are empty. */
export interface ExportWriter {
  head(): string;
  slice(entries: readonly ExportedEntry[]): string;
}

export function exportWriter(format: ExportFormat): ExportWriter {
  if (format === 'hledger') return hledgerWriter();
  return format === 'beancount' ? beancountWriter() : csvWriter();
}

const typeNames: Readonly<Record<string, string>> = {
  SETTLEMENT: 'Settlement',
  TERMS: 'Terms of the account',
  PAYOUT: 'Payout',
  REVERSAL: 'Reversal',
};

/** What a person reads of an entry; its type where nothing better is known. */
function described({ type }: ExportedEntry): string {
  return typeNames[type] ?? type;
}

function amount({ side, amountMinor, currency }: ExportedLeg): string {
  return `${formatMinor(side === 'DEBIT' ? amountMinor : -amountMinor, currency)} ${currency}`;
}

/** A currency is told with its decimals before it is used first. */
function freshCurrencies(seen: Set<string>, entries: readonly ExportedEntry[]): string[] {
  const fresh = new Set(entries.flatMap((entry) => entry.entries.map((leg) => leg.currency)));
  const found = [...fresh].filter((currency) => !seen.has(currency)).sort();
  for (const currency of found) seen.add(currency);
  return found;
}

// hledger

const hledgerRoots = {
  ASSET: 'assets',
  LIABILITY: 'liabilities',
  EQUITY: 'equity',
  INCOME: 'revenues',
  EXPENSE: 'expenses',
} as const;

function hledgerWriter(): ExportWriter {
  const seen = new Set<string>();
  return {
    head: () => '; journal of settle, one transaction for each journal entry; debits are positive\n',
    slice: (entries) =>
      freshCurrencies(seen, entries)
        .map((currency) => `\ncommodity ${hledgerSample(currency)} ${currency}\n`)
        .join('') + entries.map(hledgerEntry).join(''),
  };
}

/** hledger wants a decimal mark even where no decimals follow. */
function hledgerSample(currency: string): string {
  return `1000.${'0'.repeat(scaleOf(currency) ?? 0)}`;
}

function hledgerEntry(entry: ExportedEntry): string {
  const run = entry.runId === null ? '' : `, run:${String(entry.runId)}`;
  const { batchDay, bookingDay } = entry;
  // The second date is that of the value, where the two differ.
  const days = batchDay === bookingDay ? bookingDay : `${bookingDay}=${batchDay}`;
  const title = `${days} (${entry.bizNo}) ${described(entry)}  ; id:${String(entry.id)}${run}, type:${entry.type}`;
  // Without postings it is no transaction.
  if (entry.entries.length === 0) return `\n; ${title}\n`;
  return `\n${title}\n${entry.entries.map(hledgerLeg).join('')}`;
}

function hledgerLeg(leg: ExportedLeg): string {
  const reason = leg.reason === null ? '' : `  ; reason:${leg.reason}`;
  return `    ${hledgerAccount(leg)}  ${amount(leg)}${reason}\n`;
}

function hledgerAccount({ kind, ledgerAccount, subAccount }: ExportedLeg): string {
  const root = kind === null ? 'unknown' : hledgerRoots[kind];
  return [root, ledgerAccount, ...(subAccount === '' ? [] : [percentEncoded(subAccount)])].join(':');
}

/** Letters, digits and - . _ ~ of ASCII stay; each other byte of the UTF-8 text is %XX. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${hexOf(sign.charCodeAt(0))}`);
}

function hexOf(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}

// beancount

const beancountRoots = {
  ASSET: 'Assets',
  LIABILITY: 'Liabilities',
  EQUITY: 'Equity',
  INCOME: 'Income',
  EXPENSE: 'Expenses',
} as const;

function beancountWriter(): ExportWriter {
  const open = new Set<string>();
  return {
    head: () => ';; journal of settle, one transaction for each journal entry; debits are positive\n',
    slice: (entries) => entries.map((entry) => opened(open, entry) + beancountEntry(entry)).join(''),
  };
}

/** An account is opened on the day on which it is used first. */
function opened(open: Set<string>, { bookingDay, entries }: ExportedEntry): string {
  const fresh = [...new Set(entries.map(beancountAccount))].filter((account) => !open.has(account));
  for (const account of fresh) open.add(account);
  return fresh.map((account) => `\n${bookingDay} open ${account}\n`).join('');
}

function beancountEntry(entry: ExportedEntry): string {
  const title = `${entry.bookingDay} * "${described(entry)}" ^${entry.bizNo}`;
  if (entry.entries.length === 0) return `\n; ${title}\n`;
  const notes = [
    `  journal-entry: "${String(entry.id)}"`,
    `  type: "${entry.type}"`,
    ...(entry.batchDay === entry.bookingDay ? [] : [`  value-date: ${entry.batchDay}`]),
    ...(entry.runId === null ? [] : [`  run: "${String(entry.runId)}"`]),
  ];
  const legs = entry.entries.flatMap((leg) => [
    `  ${beancountAccount(leg)}  ${amount(leg)}`,
    ...(leg.reason === null ? [] : [`    reason: "${leg.reason}"`]),
  ]);
  return `\n${[title, ...notes, ...legs].join('\n')}\n`;
}

/** The parts of an account name begin with a capital or a digit, and know letters, digits and hyphens only. */
function beancountAccount({ kind, ledgerAccount, subAccount }: ExportedLeg): string {
  const root = kind === null ? 'Equity:Unknown' : beancountRoots[kind];
  const parts = [root, ledgerAccount.replaceAll('_', '-')];
  if (subAccount !== '') parts.push(`X${hyphenEncoded(subAccount)}`);
  return parts.join(':');
}

/** Letters and digits of ASCII stay; each other byte of the UTF-8 text is -XX. */
function hyphenEncoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => (/[A-Za-z0-9]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `-${hexOf(byte)}`))
    .join('');
}

// CSV

const csvColumns = [
  ...['journal_entry_id', 'biz_no', 'type', 'batch_day', 'run_id', 'posted_at', 'line_no', 'ledger_account'],
  ...['sub_account', 'side', 'amount', 'currency', 'amount_minor', 'reason', 'booking_day'],
];

/** A row for each ledger entry; a journal entry without any has one row with those columns empty. */
function csvWriter(): ExportWriter {
  return {
    head: () => `${csvColumns.join(',')}\n`,
    slice: (entries) =>
      stringify(
        entries.flatMap((entry) => {
          const head = [entry.id, entry.bizNo, entry.type, entry.batchDay, entry.runId, entry.postedAt];
          if (entry.entries.length === 0) return [[...head, '', '', '', '', '', '', '', '', entry.bookingDay]];
          return entry.entries.map((leg) => [
            ...head,
            leg.lineNo,
            leg.ledgerAccount,
            leg.subAccount,
            leg.side,
            formatMinor(leg.amountMinor, leg.currency),
            leg.currency,
            leg.amountMinor,
            leg.reason,
            entry.bookingDay,
          ]);
        }),
        { escape_formulas: true },
      ),
  };
}
