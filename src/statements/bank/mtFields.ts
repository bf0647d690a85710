import type { BatchDay } from '../../kernel/batchDay.js';
import { minorOf, scaleOfKnown } from './amounts.js';
import { dayOfSixDigits, entryDayOf, valueDayOf } from './days.js';
import { refusal, shown, type Place } from './place.js';

/** A field of a SWIFT message: its tag, and its lines. */
export interface MtField {
  readonly tag: string;
  readonly lines: string[];
  readonly place: Place;
}

export interface MtBalance {
  readonly currency: string;
  readonly minor: bigint;
  readonly day: BatchDay;
}

/** ":60F:C261129EUR1234,56": the sign is a letter. */
export function mtBalanceOf(field: MtField): MtBalance {
  const text = field.lines[0]?.trim() ?? '';
  const name = `:${field.tag}:`;
  const [, mark = '', day = '', currency = '', amount = ''] = /^([CD])(\d{6})([A-Z]{3})([\d,]+)$/.exec(text) ?? [];
  if (mark === '' || field.lines.length > 1) {
    throw refusal(
      'BAD_RECORD',
      `${name} is ${shown(field.lines.join(' '))}, and no balance (C261129EUR1234,56).`,
      field.place,
    );
  }
  const minor = minorOf(amount, ',', currency, name, field.place);
  return { currency, minor: mark === 'D' ? -minor : minor, day: dayOfSixDigits(day, name, field.place) };
}

export interface MtSequence {
  readonly number: bigint;
  readonly page: number;
}

/** ":28C:123/1". Null where a bank does not number its statements and writes 0. */
export function mtSequenceOf(field: MtField): MtSequence | null {
  const text = field.lines[0]?.trim() ?? '';
  const [, number, page = '1'] = /^(\d{1,18})(?:\/(\d{1,5}))?$/.exec(text) ?? [];
  if (number === undefined) {
    throw refusal('BAD_RECORD', `:${field.tag}: is ${shown(text)}, and no statement number.`, field.place);
  }
  return BigInt(number) === 0n ? null : { number: BigInt(number), page: Number(page) || 1 };
}

export interface MtEntry {
  readonly bookedDay: BatchDay;
  readonly isCredit: boolean;
  /** C or D as it is written: of a reversal, the mark of what it undoes. */
  readonly markIsCredit: boolean;
  readonly isReversal: boolean;
  /** Of an interim report: announced, and not booked. */
  readonly isExpected: boolean;
  readonly amountMinor: bigint;
  /** A letter and three characters: "NTRF". */
  readonly type: string;
  readonly ownerReference: string;
  readonly bankReference: string;
}

// The mark is taken as long as it can be, then comes the funds code: "CR1000,00" is a credit with funds code R.
const entryShape = /^(\d{6})(\d{4}| {4})?(RC|RD|EC|ED|C|D)([A-Z])?(\d[\d,]*)(?:([NFS])(.{3}))?(.*)$/;

/** ":61:2611281128D119,NTRFNONREF//BANK-1": the first line of the field; others tell more of the same. */
export function mtEntryOf(field: MtField, currency: string): MtEntry {
  const text = field.lines[0]?.trimEnd() ?? '';
  const match = entryShape.exec(text);
  if (match === null) {
    throw refusal(
      'BAD_RECORD',
      `:61: is ${shown(text)}, and no statement line (2611281128D119,00NTRFREF).`,
      field.place,
    );
  }
  const [, value = '', entry = '', mark = '', , amount = '', letter = '', type = '', references = ''] = match;
  const valueDay = valueDayOf(value, 'The value date of :61:', field.place);
  const hasEntry = entry.trim() !== '';
  if (!hasEntry && !valueDay.real) throw refusal('BAD_DATE', `The value date of :61: is ${shown(value)}.`, field.place);
  const cut = references.indexOf('//');
  return {
    bookedDay: hasEntry ? entryDayOf(entry, valueDay.day, 'The entry date of :61:', field.place) : valueDay.day,
    isCredit: ['C', 'EC', 'RD'].includes(mark),
    markIsCredit: mark.endsWith('C'),
    isReversal: mark.startsWith('R'),
    isExpected: mark.startsWith('E'),
    amountMinor: minorOf(amount, ',', currency, 'The amount of :61:', field.place),
    type: (letter + type).trim(),
    ownerReference: cut === -1 ? references : references.slice(0, cut),
    bankReference: cut === -1 ? '' : references.slice(cut + 2),
  };
}

export interface MtSum {
  readonly count: bigint;
  readonly minor: bigint;
  readonly currency: string;
}

/** ":90D:12EUR345,67": how many entries, and their sum. */
export function mtSumOf(field: MtField): MtSum {
  const text = field.lines[0]?.trim() ?? '';
  const [, count, currency = '', amount = ''] = /^(\d{1,18})([A-Z]{3})([\d,]+)$/.exec(text) ?? [];
  if (count === undefined) {
    throw refusal(
      'BAD_RECORD',
      `:${field.tag}: is ${shown(text)}, and no count with a sum (12EUR345,67).`,
      field.place,
    );
  }
  return { count: BigInt(count), minor: minorOf(amount, ',', currency, `:${field.tag}:`, field.place), currency };
}

const floorShape = /^([A-Z]{3})[CD]?[\d,]+$/;

/** ":34F:EURD0,00": only the currency is of use, that of the whole report. */
export function mtFloorCurrencyOf(field: MtField): string {
  const text = field.lines[0]?.trim() ?? '';
  const [, currency = ''] = floorShape.exec(text) ?? [];
  if (currency === '') throw refusal('BAD_RECORD', `:34F: is ${shown(text)}, and no floor limit (EUR0,).`, field.place);
  scaleOfKnown(currency, ':34F:', field.place);
  return currency;
}

/** ":13D:2611281815+0100": the day on which the report was made. */
export function mtReportDayOf(field: MtField): BatchDay {
  const text = field.lines[0]?.trim() ?? '';
  const [, day] = /^(\d{6})\d{4}(?:[+-]\d{4})?$/.exec(text) ?? [];
  if (day === undefined) throw refusal('BAD_TIME', `:${field.tag}: is ${shown(text)}, and no time.`, field.place);
  return dayOfSixDigits(day, `:${field.tag}:`, field.place);
}
