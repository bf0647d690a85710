import { describe, expect, test } from '@jest/globals';
import { bankFile, claimed, problemsOf, readBank, refusalOf, told } from '../support/bankFiles.js';

const sample = bankFile('nacha-return.ach').toString();
const lines = sample.trimEnd().split('\n');
const change = (from: string, to: string, text = sample): string => {
  expect(text).toContain(from);
  expect(to).toHaveLength(from.length);
  return text.replace(from, to);
};
/** With other text in some columns of a line, both counted from 1. */
function overwrite(line: number, column: number, text: string): string {
  const all = sample.split('\n');
  const old = all[line - 1] ?? '';
  all[line - 1] = old.slice(0, column - 1) + text + old.slice(column - 1 + text.length);
  return all.join('\n');
}

const golden = [
  'open 091400606 no. - of - to 2026-12-01',
  '3 RETURN 21/R03 2026-12-01 125.00 USD our 091400600000017 bank 091000010000001 also PAYOUT-1',
  '5 DISPUTE 26/R10 2026-12-01 -45.65 USD our 091400600000018 bank 121042880000002 also ORDER-5',
  'close',
];

describe('an ACH return file', () => {
  test('is read as it stands; a notice of change is no money', async () => {
    expect(claimed(sample)).toEqual(['nacha-return']);
    expect(told(await readBank('nacha-return', sample))).toEqual(golden);
  });
  test.each([
    ['CR and LF', sample.replaceAll('\n', '\r\n')],
    ['no filler', `${lines.filter((line) => !line.startsWith('99999')).join('\n')}\n`],
    ['no line end at its end', sample.trimEnd()],
    ['savings accounts', sample.replaceAll('\n621', '\n631').replaceAll('\n626', '\n636')],
  ])('with %s tells the same', async (_, text) => {
    expect(claimed(text)).toEqual(['nacha-return']);
    const events = told(await readBank('nacha-return', text)).map((one) =>
      one.replace('31/', '21/').replace('36/', '26/'),
    );
    expect(events).toEqual(golden);
  });
  test('is the same in any chunks', async () => {
    for (const chunkBytes of [1, 94]) {
      expect(told(await readBank('nacha-return', sample, { chunkBytes }))).toEqual(golden);
    }
  });
  test('is not claimed where entries are sent: they have the same header', () => {
    expect(claimed(lines.filter((line) => !line.startsWith('79')).join('\n'))).toEqual([]);
  });
  test('names its line by its own trace, that of ours, company, day, way and amount', async () => {
    const keys = (await readBank('nacha-return', sample)).flatMap((event) =>
      event.kind === 'line' ? [event.line.lineKey] : [],
    );
    expect(keys).toEqual([
      '091000010000001|1234567890|2026-12-01|C|12500|091400600000017',
      '121042880000002|1234567890|2026-12-01|D|4565|091400600000018',
    ]);
  });
  test.each([
    ['365', '2026-12-31'],
    ['001', '2027-01-01'],
    ['000', '2026-12-01'],
    ['   ', '2026-12-01'],
  ])('settled on day %s of the year is booked on %s', async (day, booked) => {
    const events = await readBank('nacha-return', overwrite(2, 76, day));
    const [line] = events.flatMap((event) => (event.kind === 'line' ? [event.line] : []));
    expect(line?.bookedDay).toBe(booked);
  });
});

describe('an ACH return file that contradicts itself is flagged:', () => {
  test.each([
    ['an amount', 3, 30, '0000012501', ['TOTAL_DIFFERS 8:33', 'TOTAL_DIFFERS 13:44']],
    ['the bank of an entry', 3, 4, '09100002', ['TOTAL_DIFFERS 8:11', 'TOTAL_DIFFERS 13:22']],
    ['records of a batch', 8, 5, '000004', ['COUNT_DIFFERS 8:5']],
    ['debits of a batch', 8, 21, '000000004566', ['TOTAL_DIFFERS 8:21']],
    ['credits of the file', 13, 44, '000000012501', ['TOTAL_DIFFERS 13:44']],
    ['batches', 13, 2, '000003', ['COUNT_DIFFERS 13:1']],
    ['blocks', 13, 8, '000001', ['COUNT_DIFFERS 13:1']],
    [
      'money of a notice of change',
      10,
      30,
      '0000000001',
      ['TOTAL_DIFFERS 10:1', 'TOTAL_DIFFERS 12:33', 'TOTAL_DIFFERS 13:44'],
    ],
    [
      'a return that is a collection',
      3,
      2,
      '26',
      ['TOTAL_DIFFERS 8:21', 'TOTAL_DIFFERS 8:33', 'TOTAL_DIFFERS 13:32', 'TOTAL_DIFFERS 13:44'],
    ],
  ])('%s', async (_, line, column, text, expected) => {
    const problems = await problemsOf('nacha-return', overwrite(line, column, text));
    expect(problems.map((one) => one.split(' ').slice(0, 2).join(' '))).toEqual(expected);
  });
});

describe('an ACH return file is refused', () => {
  const upTo = (count: number): string => `${lines.slice(0, count).join('\n')}\n`;
  test.each([
    ['that is empty', '', /^EMPTY_FILE/],
    ['without its control record', upTo(12), /^TRUNCATED 12:null/],
    ['without the control record of a batch', lines.filter((_, index) => index !== 7).join('\n'), /^TRUNCATED 8:1/],
    ['that ends within a batch', `${upTo(6)}${lines[12] ?? ''}\n`, /^TRUNCATED/],
    ['that ends within its last block', upTo(17), /^TRUNCATED/],
    ['that ends within a record', sample.slice(0, 700), /^BAD_FIELD_COUNT 8:\d+ A record has \d+ characters/],
    [
      'with a record that is too long',
      change('PAYOUT-1 ', 'PAYOUT-1 ').replace('PAYOUT-1 ', 'PAYOUT-1  '),
      /^BAD_FIELD_COUNT 3:95/,
    ],
    ['that is a page of the web', '<html>\n</html>', /^NOT_A_STATEMENT 1:/],
    ['of another format', overwrite(1, 35, '080'), /^NOT_A_STATEMENT 1:1/],
    ['with NUL', overwrite(3, 56, '\0'), /^BAD_ENCODING 3:56/],
    ['with letters in an amount', overwrite(3, 30, 'x'), /^BAD_AMOUNT 3:30/],
    ['with the code of a payment that is sent', overwrite(3, 2, '22'), /^UNKNOWN_TYPE 3:2/],
    ['with a reason that is none', overwrite(4, 4, 'X03'), /^UNKNOWN_TYPE 4:4/],
    ['with a change that is none', overwrite(11, 4, 'R01'), /^UNKNOWN_TYPE 11:4/],
    ['with an entry without a reason', lines.filter((_, index) => index !== 3).join('\n'), /^UNKNOWN_TYPE 3:1/],
    ['with advices', overwrite(2, 51, 'ADV'), /^UNKNOWN_TYPE 2:1/],
    ['with a record of no type', overwrite(7, 1, '4'), /^BAD_RECORD 7:1/],
    ['with an entry outside of a batch', lines.filter((_, index) => index !== 1).join('\n'), /^BAD_RECORD 2:1/],
    ['with a day that is none', overwrite(1, 24, '261301'), /^BAD_DATE 1:1/],
    ['with a settlement on no day', overwrite(2, 76, '367'), /^BAD_DATE 2:76/],
    ['with something behind it', `${sample}${lines[0] ?? ''}\n`, /^BAD_RECORD 21:1/],
  ])('%s', async (_, bytes, expected) => {
    expect(await refusalOf('nacha-return', bytes)).toMatch(expected);
  });
});
