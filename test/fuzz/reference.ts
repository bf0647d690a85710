import { accountNames, orderNames, type FileKind } from './files.js';
import { readJson } from './referenceJson.js';

// A second reading of order and account files, slow and simple, that shares no code with the program: it says which
// rows must be stored and which refused. Where it has no opinion it says so.

export interface Verdict {
  line: number;
  /** "OK", the code of the fault, or "UNKNOWN" where this reader cannot tell. */
  code: string;
  /** The row's values as they must be stored, the number of the order or account first. */
  stored: string[];
}

export interface Expected {
  /** The codes with one of which the whole file must be refused; empty when it must be read. */
  refusals: string[];
  rows: Verdict[];
}

const recordBytesMax = 1024 * 1024;
/** Decimals by ISO 4217, of the currencies that the generator uses. */
const decimals: Readonly<Record<string, number>> = { USD: 2, EUR: 2, CNY: 2, JPY: 0, KWD: 3 };

export function expectedOf(kind: FileKind, bytes: Buffer): Expected {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // What is not text cannot be told apart any further; a fault before it may be found first.
    return {
      refusals: ['NOT_UTF8', 'BROKEN_QUOTE', 'RECORD_TOO_LONG', 'MISSING_COLUMN', 'DUPLICATE_COLUMN'],
      rows: [],
    };
  }
  const beginning = text.replace(/^[ \t\r\n]+/, '');
  if (beginning === '') return { refusals: ['EMPTY_FILE'], rows: [] };
  return beginning.startsWith('{') ? expectedNdjson(kind, text) : expectedCsv(kind, text);
}

function expectedCsv(kind: FileKind, text: string): Expected {
  const { records, isBroken } = csvRecords(text);
  const refusals = new Set<string>();
  if (isBroken) refusals.add('BROKEN_QUOTE');
  if (records.some((record) => record.bytes > recordBytesMax)) refusals.add('RECORD_TOO_LONG');
  const [header, ...rows] = records.filter((record) => record.whole);
  const names = header?.fields ?? [];
  const required: readonly string[] = kind === 'orders' ? orderNames : accountNames;
  if (header !== undefined) {
    if (names.some((name) => name.includes('\0'))) refusals.add('NOT_UTF8');
    if (new Set(names).size < names.length) refusals.add('DUPLICATE_COLUMN');
    if (required.some((name) => !names.includes(name))) refusals.add('MISSING_COLUMN');
  }
  if (refusals.size > 0) return { refusals: [...refusals], rows: [] };
  const verdicts: Verdict[] = [];
  for (const { fields, line } of rows) {
    if (fields.length === names.length) {
      const value = (name: string): string | null =>
        names.includes(name) ? (fields[names.indexOf(name)] ?? '') : null;
      verdicts.push({ line, ...judged(kind, value) });
    } else if (fields.length !== 1 || fields[0]?.trim() !== '') {
      verdicts.push({ line, code: 'BAD_FIELD_COUNT', stored: [] });
    }
  }
  return { refusals: [], rows: verdicts };
}

interface CsvRecord {
  line: number;
  fields: string[];
  bytes: number;
  /** False for the one in which the file breaks. */
  whole: boolean;
}

/** RFC 4180, a character at a time; a line ends with LF, CRLF or CR. Empty lines are no records. */
function csvRecords(text: string): { records: CsvRecord[]; isBroken: boolean } {
  const records: CsvRecord[] = [];
  let [at, line] = [0, 1];
  const newLine = (): boolean => {
    if (text[at] !== '\n' && text[at] !== '\r') return false;
    at += text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1;
    line += 1;
    return true;
  };
  while (at < text.length) {
    if (newLine()) continue;
    const begin = at;
    const record: CsvRecord = { line, fields: [], bytes: 0, whole: false };
    records.push(record);
    const measure = (): void => {
      record.bytes = Buffer.byteLength(text.slice(begin, at));
    };
    for (;;) {
      let field = '';
      if (text[at] === '"') {
        at += 1;
        for (;;) {
          const close = text.indexOf('"', at);
          if (close < 0) {
            at = text.length;
            measure();
            return { records, isBroken: true };
          }
          const part = text.slice(at, close);
          field += part;
          line += part.match(/\r\n|\r|\n/g)?.length ?? 0;
          at = close + 1;
          if (text[at] !== '"') break;
          field += '"';
          at += 1;
        }
      } else {
        const begin = at;
        while (at < text.length && !',\r\n"'.includes(text[at] ?? '')) at += 1;
        field = text.slice(begin, at);
      }
      record.fields.push(field);
      if (text[at] === ',') {
        at += 1;
        continue;
      }
      measure();
      if (at < text.length && text[at] !== '\n' && text[at] !== '\r') return { records, isBroken: true };
      record.whole = true;
      break;
    }
  }
  return { records, isBroken: false };
}

function expectedNdjson(kind: FileKind, text: string): Expected {
  const lines = text.split('\n');
  if (lines.some((line) => Buffer.byteLength(line) > recordBytesMax))
    return { refusals: ['RECORD_TOO_LONG'], rows: [] };
  const required: readonly string[] = kind === 'orders' ? orderNames : accountNames;
  const wanted = kind === 'orders' ? [...required, 'reversal_of'] : required;
  const rows = lines.flatMap((content, index): Verdict[] => {
    if (content.trim() === '') return [];
    const refused = (code: string): Verdict[] => [{ line: index + 1, code, stored: [] }];
    const pairs = readJson(content);
    if (pairs === null) return refused('BAD_JSON');
    const keys = pairs.map(([key]) => key);
    if (wanted.some((name) => keys.indexOf(name) !== keys.lastIndexOf(name))) return refused('DUPLICATE_KEY');
    const found = new Map(pairs);
    for (const name of wanted) {
      const value = found.get(name);
      if (name === 'reversal_of' && (value === undefined || value === null)) continue;
      if (value === undefined) return refused('BAD_FIELD_COUNT');
      if (typeof value !== 'string') return refused('NOT_TEXT');
    }
    return [{ line: index + 1, ...judged(kind, (name) => (found.get(name) as string | null | undefined) ?? null) }];
  });
  return { refusals: [], rows };
}

type Value = (name: string) => string | null;

function judged(kind: FileKind, value: Value): { code: string; stored: string[] } {
  return kind === 'orders' ? judgedOrder(value) : judgedAccount(value);
}

function judgedAccount(value: Value): { code: string; stored: string[] } {
  const [account, status] = [value('account_no') ?? '', value('status') ?? ''];
  if (!isId(account)) return { code: 'BAD_ACCOUNT_NO', stored: [] };
  if (!['ACTIVE', 'FROZEN', 'CLOSED'].includes(status)) return { code: 'BAD_STATUS', stored: [] };
  return { code: 'OK', stored: [account, status] };
}

function judgedOrder(value: Value): { code: string; stored: string[] } {
  const text = (name: string): string => value(name) ?? '';
  const refused = (code: string): { code: string; stored: string[] } => ({ code, stored: [] });
  if (!isId(text('order_no'))) return refused('BAD_ORDER_NO');
  if (!isId(text('account_no'))) return refused('BAD_ACCOUNT_NO');
  if (!isDay(text('batch_day'))) return refused('BAD_BATCH_DAY');
  if (!['PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'].includes(text('type'))) return refused('BAD_TYPE');
  const scale = decimals[text('currency')];
  if (scale === undefined || !Object.hasOwn(decimals, text('currency'))) {
    const isPerhapsOne = /^[A-Z]{3}$/.test(text('currency')) && text('currency') !== 'XXX';
    return refused(isPerhapsOne ? 'UNKNOWN' : 'UNKNOWN_CURRENCY');
  }
  const amount = /^(-)?(0|[1-9]\d*)(?:\.(\d+))?$/.exec(text('amount'));
  if (amount === null) return refused('BAD_AMOUNT');
  const fraction = amount[3] ?? '';
  if (fraction.length > scale) return refused('TOO_MANY_DECIMALS');
  const magnitude = BigInt(amount[2] ?? '') * 10n ** BigInt(scale) + BigInt(fraction.padEnd(scale, '0') || '0');
  if (magnitude >= 2n ** 63n) return refused('AMOUNT_OUT_OF_RANGE');
  const minor = amount[1] === '-' ? 0n - magnitude : magnitude;
  if (minor < 0n && text('type') !== 'ADJUSTMENT') return refused('NEGATIVE_AMOUNT');
  if (!isId(text('channel'))) return refused('BAD_CHANNEL');
  const occurredAt = instantOf(text('occurred_at'));
  if (occurredAt === null) return refused('BAD_OCCURRED_AT');
  const reversal = text('reversal_of');
  if (reversal !== '' && (reversal === text('order_no') || !isId(reversal))) return refused('BAD_REVERSAL_OF');
  if (reversal !== '' && minor === 0n) return refused('BAD_REVERSAL_OF');
  const stored = [
    text('order_no'),
    text('account_no'),
    text('batch_day'),
    text('type'),
    minor.toString(),
    text('currency'),
    text('channel'),
    occurredAt,
    reversal === '' ? 'null' : reversal,
  ];
  return { code: 'OK', stored };
}

function isId(text: string): boolean {
  if (text === '' || text !== text.trim() || Buffer.byteLength(text) > 64) return false;
  return Array.from(text).every((character) => !/^(\p{C}|\p{Zl}|\p{Zp})$/u.test(character));
}

function isDay(text: string): boolean {
  if (!/^[1-9]\d{3}-\d\d-\d\d$/.test(text)) return false;
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/** In UTC, in microseconds; finer digits fall away. */
function instantOf(text: string): string | null {
  const match = /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d{1,9})?([Zz]|[+-](\d\d):(\d\d))$/.exec(text);
  if (match === null) return null;
  const [, day = '', hours, minutes, seconds, fraction = '.', zone = '', zoneHours = '0', zoneMinutes = '0'] = match;
  if (!isDay(day) || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return null;
  if (Number(zoneHours) > 23 || Number(zoneMinutes) > 59) return null;
  const ahead = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (zone.startsWith('-') ? -60_000 : 60_000);
  const moment = new Date(Date.parse(`${day}T${String(hours)}:${String(minutes)}:${String(seconds)}Z`) - ahead);
  const utc = moment.toISOString();
  if (!/^[1-9]\d{3}-/.test(utc)) return null;
  return `${utc.slice(0, 19)}${fraction.slice(0, 7).padEnd(7, '0')}Z`;
}
