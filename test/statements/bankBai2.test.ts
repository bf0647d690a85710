import { describe, expect, test } from '@jest/globals';
import { bankFile, claimed, problemsOf, readBank, refusalOf, told } from '../support/bankFiles.js';

const sample = bankFile('bai2.txt').toString();
const change = (from: string, to: string, text = sample): string => {
  expect(text).toContain(from);
  return text.replace(from, to);
};

const golden = [
  'open 0975312468 no. - of 2026-11-30 to 2026-11-30',
  'OPENING 5000.00 USD 2026-11-30',
  'CLOSING 5552.50 USD 2026-11-30',
  '6 RETURN 257 2026-11-30 500.00 USD our P20261128-R bank BANK-B1',
  '7 PAYMENT 142 2026-11-30 200.00 USD our ORDER-1 bank BANK-B2 also E2E-1',
  '10 PAYOUT 495 2026-11-30 -142.50 USD our - bank BANK-B3',
  '11 FEE 698 2026-11-30 -5.00 USD our - bank -',
  'close',
  'open 1000 no. - of 2026-12-01 to 2026-12-01 intraday',
  'close',
];

/** One account around records of our own; controls are right for the total and the records that are given. */
function file(records: readonly string[], { total = '0', account = '03,1,,/' } = {}): string {
  const lines = [...account.split('\n'), ...records];
  return [
    '01,A,B,261201,0500,1,,,2/',
    '02,B,A,1,261130,2359,USD,2/',
    ...lines,
    `49,${total},${String(lines.length + 1)}/`,
    `98,${total},1,${String(lines.length + 3)}/`,
    `99,${total},1,${String(lines.length + 5)}/`,
    '',
  ].join('\n');
}

describe('a BAI2 file', () => {
  test('is read as it stands', async () => {
    expect(claimed(sample)).toEqual(['bai2']);
    expect(told(await readBank('bai2', sample))).toEqual(golden);
  });
  test.each([
    ['CR and LF', sample.replaceAll('\n', '\r\n')],
    ['lines filled up with blanks', sample.replaceAll(/^.*$/gm, (line) => line.padEnd(80))],
    ['blank lines', sample.replaceAll('\n', '\n\n')],
    ['no mark at the end of records', sample.replaceAll('/\n', '\n')],
    ['no currency of the group', change(',USD,2/', ',,2/')],
  ])('with %s tells the same', async (_, text) => {
    expect(claimed(text)).toEqual(['bai2']);
    const strip = (texts: string[]): string[] => texts.map((one) => one.replace(/^\d+ /, ''));
    expect(strip(told(await readBank('bai2', text)))).toEqual(strip(golden));
  });
  test('is the same in any chunks', async () => {
    for (const chunkBytes of [1, 50]) expect(told(await readBank('bai2', sample, { chunkBytes }))).toEqual(golden);
  });
  test('takes its currency from the account, else the group, else the settings, else dollars', async () => {
    const none = file(['16,142,100,Z,,/'], { total: '100' }).replace(',USD,', ',,');
    const currencyOf = async (text: string, currency: string | null): Promise<unknown> =>
      (await readBank('bai2', text, { currency })).flatMap((event) =>
        event.kind === 'line' ? [event.line.currency] : [],
      );
    expect(await currencyOf(none, null)).toEqual(['USD']);
    expect(await currencyOf(none, 'CAD')).toEqual(['CAD']);
    expect(await currencyOf(change('2359,,', '2359,JPY,', none), 'CAD')).toEqual(['JPY']);
    expect(await currencyOf(change('03,1,,', '03,1,EUR,', none), 'CAD')).toEqual(['EUR']);
  });

  test.each([
    ['all on one line', '03,1,,010,10,,,015,110,,,100,100,1,/'],
    ['cut between groups', '03,1,,010,10,,,015,110,,/\n88,100,100,1,/'],
    ['cut behind a type', '03,1,,010/\n88,10,,,015/\n88,110,,,100,100,1,/'],
    ['cut behind a type, with a comma too many', '03,1,,010,/\n88,10,,,015,/\n88,110,,,100,100,1,/'],
    ['cut behind an amount', '03,1,,010,10/\n88,,,015,110,,,100,100/\n88,1,/'],
    ['cut behind an amount, with a comma too many', '03,1,,010,10,,,015,110,,,100,100,/\n88,1,/'],
    ['with a comma too many behind the last group', '03,1,,010,10,,,015,110,,,100,100,1,,/'],
    ['with a group that says nothing', '03,1,,,,,,010,10,,,015,110,,,100,100,1,/'],
    ['with days of availability', '03,1,,010,10,,S,1,2,3,015,110,,V,261130,2359,100,100,1,D,2,0,40,1,60/'],
    ['with days that are cut', '03,1,,010,10,,S,1/\n88,2,3,015,110,,V,261130/\n88,,100,100,1,D,2,0,40/\n88,1,60/'],
  ])('an account %s has the same balances and totals', async (_, account) => {
    const text = file(['16,142,100,Z,,/'], { total: '320', account });
    expect(told(await readBank('bai2', text)).slice(1, 4)).toEqual([
      'OPENING 0.10 USD 2026-11-30',
      'CLOSING 1.10 USD 2026-11-30',
      expect.stringContaining('PAYMENT 142'),
    ]);
    expect(await problemsOf('bai2', text)).toEqual([]);
    expect(await problemsOf('bai2', text.replace('16,142,100', '16,142,101'))).not.toEqual([]);
  });

  test.each`
    record                                            | bank    | our          | because
    ${'16,142,100,Z,B,C,TEXT/'}                       | ${'B'}  | ${'C'}       | ${'all fields'}
    ${'16,142,100,,B,C/'}                             | ${'B'}  | ${'C'}       | ${'no text'}
    ${'16,142,100/'}                                  | ${null} | ${null}      | ${'the least'}
    ${'16,142,100,S,1,2,3,B,C/'}                      | ${'B'}  | ${'C'}       | ${'three amounts'}
    ${'16,142,100,S,100,0,0/\n88,B,C/\n88,TEXT'}      | ${'B'}  | ${'C'}       | ${'references in the continuation'}
    ${'16,142,100,V,261201,,B,C,TEXT'}                | ${'B'}  | ${'C'}       | ${'a value date without time'}
    ${'16,142,100,D,1,0,100,B,C,A,B/'}                | ${'B'}  | ${'C'}       | ${'a list of days'}
    ${'16,142,100,Z,B,AB/GS/1,TEXT 08/18, AND MORE/'} | ${'B'}  | ${'AB/GS/1'} | ${'slashes within'}
    ${'16,142,100,Z,,,TEXT/\n88,EREF: E-1\n88,99,1'}  | ${null} | ${'E-1'}     | ${'a continuation that looks like numbers'}
    ${'16,142,100,0,0,000000'}                        | ${null} | ${null}      | ${'zeros are no reference'}
  `('$record names $bank and $our: $because', async ({ record, bank, our }) => {
    const text = file((record as string).split('\n'), { total: '100' });
    const [line] = (await readBank('bai2', text)).flatMap((event) => (event.kind === 'line' ? [event.line] : []));
    expect([line?.channelReference, line?.ourReference, line?.amountMinor]).toEqual([bank, our, 100n]);
    expect(await problemsOf('bai2', text)).toEqual([]);
  });

  test.each`
    type     | kind          | direction
    ${'195'} | ${'PAYMENT'}  | ${'CREDIT'}
    ${'399'} | ${'PAYMENT'}  | ${'CREDIT'}
    ${'257'} | ${'RETURN'}   | ${'CREDIT'}
    ${'275'} | ${'TRANSFER'} | ${'CREDIT'}
    ${'354'} | ${'OTHER'}    | ${'CREDIT'}
    ${'447'} | ${'PAYOUT'}   | ${'DEBIT'}
    ${'557'} | ${'DISPUTE'}  | ${'DEBIT'}
    ${'698'} | ${'FEE'}      | ${'DEBIT'}
    ${'930'} | ${'PAYMENT'}  | ${'CREDIT'}
    ${'970'} | ${'PAYOUT'}   | ${'DEBIT'}
  `('type $type is a $kind: $direction', async ({ type, kind, direction }) => {
    const events = await readBank('bai2', file([`16,${String(type)},5,Z,,/`], { total: '5' }));
    const [line] = events.flatMap((event) => (event.kind === 'line' ? [event.line] : []));
    expect([line?.kind, line?.direction]).toEqual([kind, direction]);
  });
});

describe('a BAI2 file that contradicts itself is flagged:', () => {
  test.each([
    [
      'an amount',
      '16,257,50000',
      '16,257,50001',
      ['TOTAL_DIFFERS 13:1', 'BALANCE_DIFFERS 3:1', 'TOTAL_DIFFERS 3:1', 'TOTAL_DIFFERS 14:1', 'TOTAL_DIFFERS 19:1'],
    ],
    [
      'the closing balance',
      '+00000000555250',
      '+00000000555251',
      ['TOTAL_DIFFERS 13:1', 'BALANCE_DIFFERS 3:1', 'TOTAL_DIFFERS 14:1', 'TOTAL_DIFFERS 19:1'],
    ],
    ['records of an account', '49,1224750,11', '49,1224750,12', ['COUNT_DIFFERS 13:1']],
    ['accounts of a group', '98,1224750,1,13', '98,1224750,2,13', ['COUNT_DIFFERS 14:1']],
    ['groups of the file', '99,1224750,2,19', '99,1224750,1,19', ['COUNT_DIFFERS 19:1']],
    ['records of the file', '99,1224750,2,19', '99,1224750,2,18', ['COUNT_DIFFERS 19:1']],
    ['the total of the file', '99,1224750,', '99,1224751,', ['TOTAL_DIFFERS 19:1']],
    ['the number of credits', '100,70000,2', '100,70000,3', ['COUNT_DIFFERS 3:1']],
  ])('%s', async (_, from, to, expected) => {
    const problems = await problemsOf('bai2', change(from, to));
    expect(problems.map((text) => text.split(' ').slice(0, 2).join(' '))).toEqual(expected);
  });
  test('a control record of some banks leaves a count out: it is not flagged, another number is', async () => {
    expect(await problemsOf('bai2', change('98,1224750,1,13', '98,1224750,13'))).toEqual([]);
    expect(await problemsOf('bai2', change('98,1224750,1,13', '98,1224750,1'))).toEqual([]);
    expect(await problemsOf('bai2', change('98,1224750,1,13', '98,1224750,7'))).toHaveLength(1);
  });
  test('a closing balance that nothing leads to', async () => {
    expect(await problemsOf('bai2', file([], { account: '03,1,,015,5,,/', total: '5' }))).toEqual([
      expect.stringMatching(/^BALANCE_DIFFERS 3:1 .*no opening \(010\)/),
    ]);
  });
});

describe('a BAI2 file is refused', () => {
  const upTo = (text: string): string => sample.slice(0, sample.indexOf(text));
  test.each([
    ['that is empty', '', /^EMPTY_FILE/],
    ['without the end of the file', upTo('99,1224750'), /^TRUNCATED .*file trailer \(99\)/],
    ['without the end of a group', change('98,1224750,1,13/\n', ''), /^TRUNCATED 14:1 .*trailer \(98\)/],
    ['without the end of an account', change('49,1224750,11/\n', ''), /^TRUNCATED 13:1 .*trailer \(49\)/],
    ['that is cut within its last record', sample.slice(0, -3), /^TRUNCATED/],
    ['with NUL', change('COFFEE', 'COF\0FEE'), /^BAD_ENCODING 7:/],
    ['with a record of 5 MB', change('COFFEE', 'x'.repeat(5_000_000)), /^RECORD_TOO_LONG/],
    ['with a record of no end', change('88,MORE TEXT/\n', '88,MORE\n'.repeat(3000)), /^RECORD_TOO_LONG/],
    ['of version 1', change(',80,,2/', ',80,,1/'), /^NOT_A_STATEMENT 1:1/],
    ['that is a page of the web', '<html>\n</html>', /^BAD_RECORD 1:1/],
    [
      'with a group that is deleted',
      change('02,123456789,122099999,1,261130', '02,123456789,122099999,2,261130'),
      /^UNKNOWN_TYPE 2:1/,
    ],
    ['with a day that is none', change('261130,2359', '261131,2359'), /^BAD_DATE/],
    ['with an unknown currency', change(',USD,', ',USX,'), /^UNKNOWN_CURRENCY 3:1/],
    ['with a point in an amount', change('16,257,50000', '16,257,500.00'), /^BAD_AMOUNT 6:1/],
    ['with an amount below zero', change('16,257,50000', '16,257,-50000'), /^BAD_AMOUNT 6:1/],
    [
      'with an amount that no database holds',
      change('16,257,50000', `16,257,9${'0'.repeat(18)}9`),
      /^AMOUNT_OUT_OF_RANGE/,
    ],
    ['with a balance that no database holds', change('010,500000', `010,9${'0'.repeat(19)}`), /^AMOUNT_OUT_OF_RANGE/],
    ['with a type that moves nothing', change('16,257', '16,100'), /^UNKNOWN_TYPE 6:1/],
    ['with a type that is none', change('16,257', '16,2x7'), /^UNKNOWN_TYPE/],
    ['with a funds type that is none', change('16,257,50000,V', '16,257,50000,Q'), /^BAD_RECORD/],
    ['with a line that begins no record', change('88,MORE', 'MORE'), /^BAD_RECORD 8:1/],
    ['with a continuation of nothing', `88,X/\n${sample}`, /^BAD_RECORD 1:1/],
    ['with a transaction outside of an account', change('98,1224750', '16,142,1,Z,,/\n98,1224750'), /^BAD_RECORD/],
    ['with a control total that is none', change('49,1224750,', '49,x,'), /^BAD_AMOUNT/],
    ['with an account without number', change('03,0975312468,', '03,,'), /^BAD_RECORD/],
  ])('%s', async (_, bytes, expected) => {
    expect(await refusalOf('bai2', bytes)).toMatch(expected);
  });
});
