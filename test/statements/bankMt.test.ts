import { describe, expect, test } from '@jest/globals';
import type { StatementLine } from '../../src/statements/statement.js';
import { bankFile, claimed, problemsOf, readBank, refusalOf, told } from '../support/bankFiles.js';

const sample = bankFile('mt940.sta').toString('latin1');
const report = bankFile('mt942.sta').toString('latin1');
const change = (from: string, to: string, text = sample): string => {
  expect(text).toContain(from);
  return text.replace(from, to);
};

const goldenStatement = [
  'open 37040044/0532013000 no. 231/1 more of 2026-12-30 to 2026-12-31',
  'OPENING 1000.00 EUR 2026-12-30',
  '6 PAYOUT NTRF 2026-12-31 -119.00 EUR our 20261229-PAYMENT-000000000001 bank BANK-1',
  '11 OTHER NTRF 2027-01-02 -20.50 EUR our P20261230-2 bank BANK-2',
  '13 RETURN NTRF 2027-01-02 30.50 EUR our 20261220-R bank BANK-3 also REF/4711-0000000000001',
  '17 PAYMENT S051 2026-12-31 1000.00 EUR our ORDER-9 bank - also X',
  'CLOSING 1891.00 EUR 2026-12-31',
  'close',
  'open 37040044/0532013000 no. 231/2 of 2026-12-31 to 2026-12-31',
  'OPENING 1891.00 EUR 2026-12-31',
  '26 FEE NCHG 2027-01-01 -1891.00 EUR our - bank BANK-5',
  'CLOSING 0.00 EUR 2026-12-31',
  'close',
];
const goldenReport = [
  'open 37040044/0532013000 no. 700/1 of - to 2026-11-28 intraday',
  '7 PAYOUT NTRF 2026-11-28 -119.00 EUR our 20261128-A bank BANK-11',
  '9 PAYMENT NTRF 2026-11-28 7.50 EUR our - bank BANK-12',
  'close',
];

/** A message of our own around statement lines; 62F is right unless another is given. */
function message(lines: readonly string[], { currency = 'EUR', closing = '0,', end = '-' } = {}): string {
  return [
    ':20:X',
    ':25:ACCOUNT',
    ':28C:1/1',
    `:60F:C261130${currency}0,`,
    ...lines,
    `:62F:C261130${currency}${closing}`,
    end,
  ]
    .filter((line) => line !== '')
    .map((line) => `${line}\r\n`)
    .join('');
}

async function lineOf(...lines: string[]): Promise<StatementLine> {
  const events = await readBank('mt940', message(lines));
  const [found] = events.flatMap((event) => (event.kind === 'line' ? [event.line] : []));
  if (found === undefined) throw new Error('no line');
  return found;
}

describe('an account statement (MT940)', () => {
  test('is read as it stands', async () => {
    expect(claimed(sample)).toEqual(['mt940']);
    expect(told(await readBank('mt940', sample))).toEqual(goldenStatement);
  });
  test.each([
    ['lines that end with LF', sample.replaceAll('\r\n', '\n')],
    ['lines that end with CR', sample.replaceAll('\r\n', '\r')],
    ['a byte order mark', `\uFEFF${sample}`],
    ['what frames a message on the wire', `\u0001${sample.replaceAll(/-\}[^\r]*/g, '$&\u0003')}\u001a`],
    ['no envelope', sample.replaceAll(/\{1:.*\{4:\r\n/g, '').replaceAll(/-\}.*/g, '-')],
    ['no mark of its end', sample.replaceAll(/\{1:.*\{4:\r\n/g, '').replaceAll(/-\}.*\r\n/g, '')],
    [
      'lines of the bank around it',
      sample.replaceAll(/\{1:.*\{4:/g, 'COBADEFF\r\n940\r\nCOBADEFF').replaceAll(/-\}.*/g, '-'),
    ],
    ['messages that share a line', sample.replaceAll(/\}\r\n\{1:/g, '}{1:')],
    ['blank lines', sample.replaceAll(':25:', '\r\n:25:').replaceAll(':62', '\r\n:62')],
    ['fields of the bank’s own', sample.replaceAll(':60F:', ':NS:22SETTLE\r\n23KONTO\r\n:60F:')],
  ])('with %s tells the same', async (_, text) => {
    expect(claimed(text)).toEqual(['mt940']);
    const strip = (texts: string[]): string[] => texts.map((one) => one.replace(/^\d+ /, ''));
    expect(strip(told(await readBank('mt940', text)))).toEqual(strip(goldenStatement));
  });
  test('is the same in any chunks', async () => {
    for (const chunkBytes of [1, 7, 100]) {
      expect(told(await readBank('mt940', sample, { chunkBytes }))).toEqual(goldenStatement);
    }
  });
  test('with names in ISO 8859-1 or UTF-8, or cut within a character, is read', async () => {
    for (const encoding of ['latin1', 'utf8'] as const) {
      const bytes = Buffer.from(change('ANNA OTT', 'ANNA ÖTT'), encoding);
      expect(told(await readBank('mt940', bytes))).toEqual(goldenStatement);
    }
    const cut = Buffer.from(change('ANNA OTT', 'ANNA Ö'), 'utf8');
    const at = cut.indexOf(0xc3);
    const bytes = Buffer.concat([cut.subarray(0, at + 1), Buffer.from('\r\n'), cut.subarray(at + 1)]);
    expect((await readBank('mt940', bytes)).filter(({ kind }) => kind === 'line')).toHaveLength(5);
  });

  test.each`
    text                                                    | day             | way         | minor       | type      | our                                    | bank       | because
    ${':61:2611301130D119,NTRFA//B'}                        | ${'2026-11-30'} | ${'DEBIT'}  | ${11_900n}  | ${'NTRF'} | ${'A'}                                 | ${'B'}     | ${'no decimals'}
    ${':61:261130C0,5NMSCNONREF'}                           | ${'2026-11-30'} | ${'CREDIT'} | ${50n}      | ${'NMSC'} | ${null}                                | ${null}    | ${'no entry date, no bank reference'}
    ${':61:261130    D65,00NOVBNL47INGB9999'}               | ${'2026-11-30'} | ${'DEBIT'}  | ${6_500n}   | ${'NOVB'} | ${'NL47INGB9999'}                      | ${null}    | ${'blanks for the entry date'}
    ${':61:2611301130CR1000,00N051NONREF'}                  | ${'2026-11-30'} | ${'CREDIT'} | ${100_000n} | ${'N051'} | ${null}                                | ${null}    | ${'a credit with funds code R'}
    ${':61:2611301130DD212,39NMSCNONREF//'}                 | ${'2026-11-30'} | ${'DEBIT'}  | ${21_239n}  | ${'NMSC'} | ${null}                                | ${null}    | ${'a debit with funds code D'}
    ${':61:2611301130RC5,00NTRFNONREF//B'}                  | ${'2026-11-30'} | ${'DEBIT'}  | ${500n}     | ${'NTRF'} | ${null}                                | ${'B'}     | ${'the reversal of a credit takes money'}
    ${':61:2611301130RDR5,00NTRFNONREF//B'}                 | ${'2026-11-30'} | ${'CREDIT'} | ${500n}     | ${'NTRF'} | ${null}                                | ${'B'}     | ${'the reversal of a debit brings it'}
    ${':61:261130C000000000123,4S   X'}                     | ${'2026-11-30'} | ${'CREDIT'} | ${12_340n}  | ${'S'}    | ${'X'}                                 | ${null}    | ${'a type of blanks, leading zeros'}
    ${':61:261130C1,NMSC341/1X//O/341'}                     | ${'2026-11-30'} | ${'CREDIT'} | ${100n}     | ${'NMSC'} | ${'341/1X'}                            | ${'O/341'} | ${'slashes in references'}
    ${':61:261231C1,NMSCA-LONG-REFERENCE-OF-35-CHARACTERS'} | ${'2026-12-31'} | ${'CREDIT'} | ${100n}     | ${'NMSC'} | ${'A-LONG-REFERENCE-OF-35-CHARACTERS'} | ${null}    | ${'more than 16 characters'}
    ${':61:2612310102C1,NMSC'}                              | ${'2027-01-02'} | ${'CREDIT'} | ${100n}     | ${'NMSC'} | ${null}                                | ${null}    | ${'entry over the new year'}
    ${':61:2701021231C1,NMSC'}                              | ${'2026-12-31'} | ${'CREDIT'} | ${100n}     | ${'NMSC'} | ${null}                                | ${null}    | ${'value over the new year'}
    ${':61:2803010229C1,NMSC'}                              | ${'2028-02-29'} | ${'CREDIT'} | ${100n}     | ${'NMSC'} | ${null}                                | ${null}    | ${'a leap day'}
    ${':61:2702300301C1,NMSC'}                              | ${'2027-03-01'} | ${'CREDIT'} | ${100n}     | ${'NMSC'} | ${null}                                | ${null}    | ${'value on 30 February, as banks count interest'}
  `('$text: $because', async ({ text, day, way, minor, type, our, bank }) => {
    const line = await lineOf(text as string);
    expect([line.bookedDay, line.direction, line.amountMinor, line.channelType]).toEqual([day, way, minor, type]);
    expect([line.ourReference, line.channelReference]).toEqual([our, bank]);
  });

  test.each`
    text                                                                     | our                                      | because
    ${['166?00X?20EREF+A-1?21KREF+K-1']}                                     | ${'A-1'}                                 | ${'a part each'}
    ${['166?00X?20EREF+123456789012345678901?2122?22MREF+M']}                | ${'123456789012345678901'}               | ${'26 characters end a part'}
    ${['166?00X?20EREF+1234567890123456789012?2134?22SVWZ+T']}               | ${'123456789012345678901234'}            | ${'a full part runs on'}
    ${['171?00X?20EREF+TRX-0A4A47C3-F846-4729?21-8A1B-5DF620F?22MREF+CAC9']} | ${'TRX-0A4A47C3-F846-4729-8A1B-5DF620F'} | ${'a full part runs on'}
    ${['166?00X?20EREF+ A B ?21SVWZ+T']}                                     | ${'A B'}                                 | ${'blanks around'}
    ${['166?00X?2', '0EREF+A-2?', '21SVWZ+T']}                               | ${'A-2'}                                 | ${'the mark of a part is cut by the line end'}
    ${['166?00X?20EREF+NOTPROVIDED?21KREF+K-2']}                             | ${'K-2'}                                 | ${'NOTPROVIDED is none'}
    ${['/TRTP/SEPA OVERBOEKING/EREF/E-3/REMI/TEXT']}                         | ${'E-3'}                                 | ${'words between slashes'}
    ${['/EREF/NOTPROVIDED/REMI/TEXT']}                                       | ${'REF-61'}                              | ${'then the reference of the line'}
    ${['EREF+E-4', 'SVWZ+TEXT']}                                             | ${'E-4'}                                 | ${'a line each'}
    ${['FREE TEXT, ?20 AND ALL']}                                            | ${'REF-61'}                              | ${'no structure'}
    ${['']}                                                                  | ${'REF-61'}                              | ${'no text'}
  `(':86:$text names $our: $because', async ({ text, our }) => {
    const [first = '', ...rest] = text as string[];
    expect((await lineOf(':61:261130C1,NTRFREF-61//B', `:86:${first}`, ...rest)).ourReference).toBe(our);
  });

  test('has text that starts like a tag or an end, and goes on behind the closing balance', async () => {
    const text = message([
      ':61:261130C1,NTRFA//B',
      ':86:TEXT',
      ':26:37 UHR',
      ':20:15 UHR',
      '-',
      '- STRICH',
      ':61',
      ':62F',
      ':61:261130D1,NTRFC//D',
    ]).replace('\r\n-\r\n:', '\r\n-\r\n:');
    const withEnd = text.replace(/-\r\n$/, ':64:C261130EUR0,\r\n:86:NOCH\r\n:61:EIN TEXT\r\n-\r\n');
    expect((await readBank('mt940', withEnd)).filter(({ kind }) => kind === 'line')).toHaveLength(2);
    expect(await problemsOf('mt940', withEnd)).toEqual([]);
  });
  test('takes 28 and a number of 0, which numbers nothing', async () => {
    const of = async (text: string): Promise<unknown> => {
      const [open] = await readBank('mt940', message([]).replace(':28C:1/1', text));
      return open?.kind === 'open' ? open.statement.sequence : undefined;
    };
    expect(await of(':28:1810118101')).toEqual({ number: 1_810_118_101n, page: 1, lastPage: true });
    expect(await of(':28C:0')).toBeNull();
    expect(await of(':28C:00000/001')).toBeNull();
  });
});

describe('an account statement that contradicts itself is flagged:', () => {
  test.each([
    [
      'closing balance',
      ':62F:C261231EUR0,',
      ':62F:C261231EUR0,01',
      'BALANCE_DIFFERS 27:6 Opening balance 1891.00 and lines of -1891.00 do not make the closing balance 0.01 EUR.',
    ],
    [
      'an amount',
      'D119,',
      'D119,01',
      'BALANCE_DIFFERS 19:6 Opening balance 1000.00 and lines of 890.99 do not make the closing balance 1891.00 EUR.',
    ],
    [
      'a reversal taken for what it undoes',
      'RC20,5',
      'C20,5',
      'BALANCE_DIFFERS 19:6 Opening balance 1000.00 and lines of 932.00 do not make the closing balance 1891.00 EUR.',
    ],
  ])('%s', async (_, from, to, expected) => {
    expect(await problemsOf('mt940', change(from, to))).toEqual([expected]);
  });
  test('pages that do not join', async () => {
    const broken = change(':60M:C261231EUR1891,00', ':60M:C261231EUR1890,00').replace('00231/002', '00231/003');
    expect((await problemsOf('mt940', broken)).map((text) => text.split(' ').slice(0, 2))).toEqual([
      ['BALANCE_DIFFERS', '25:6'],
      ['SEQUENCE_DIFFERS', '25:6'],
      ['BALANCE_DIFFERS', '27:6'],
    ]);
  });
});

describe('an account statement is refused', () => {
  const cut = (until: string): string => sample.slice(0, sample.indexOf(until));
  test.each([
    ['that is empty', '', /^EMPTY_FILE/],
    ['in UTF-16', Buffer.from(`\uFEFF${sample}`, 'utf16le'), /^BAD_ENCODING 1:\d+/],
    ['with NUL', change('ANNA', 'AN\0A'), /^BAD_ENCODING 10:\d+ The character U\+0000/],
    ['that ends before the closing balance', cut(':62M:'), /^TRUNCATED 18:/],
    ['that ends within the closing balance', cut('1,00\r\n-}'), /^TRUNCATED/],
    ['that ends before the end of its envelope', cut('-}{5:'), /^TRUNCATED/],
    ['that ends before the mark that others of it have', message([]) + message([], { end: '' }), /^TRUNCATED/],
    [
      'whose message has no closing balance',
      cut(':62M:') + sample.slice(sample.indexOf(':20:')),
      /^TRUNCATED 22:1 A message begins within another/,
    ],
    ['with a page of the web', '<html><body>Please log in</body></html>', /^NOT_A_STATEMENT 1:1/],
    ['with a line of 5 MB', change('ANNA OTT', 'x'.repeat(5_000_000)), /^RECORD_TOO_LONG/],
    ['with a text without end', change('?\r\n32ANNA OTT', '\r\nX'.repeat(600)), /^RECORD_TOO_LONG/],
    [
      'with a line that is none',
      change(':61:2612311231D119,', ':61:XX2612311231D119,'),
      /^BAD_RECORD 6:5 :61: is "XX26/,
    ],
    ['with a point in an amount', change('D119,', 'D119.00'), /^BAD_AMOUNT/],
    ['without a comma in an amount', change('D119,', 'D119'), /^BAD_AMOUNT 6:5 .*"119"/],
    ['with two commas', change('D119,', 'D1,119,00'), /^BAD_AMOUNT/],
    ['with decimals that the currency does not have', change('D119,', 'D119,001'), /^TOO_MANY_DECIMALS/],
    ['with decimals of yen', message([':61:261130D1,50NTRF'], { currency: 'JPY' }), /^TOO_MANY_DECIMALS/],
    ['with an unknown currency', message([], { currency: 'DEM' }), /^UNKNOWN_CURRENCY 4:6/],
    ['with a balance that is none', change(':60F:C', ':60F:X'), /^BAD_RECORD 5:6/],
    ['with a day that is none', change('2612311231D', '2613311231D'), /^BAD_DATE/],
    ['with an entry on no day', change('2612311231D', '2612310230D'), /^BAD_DATE/],
    ['without an account', change(':25:37040044/0532013000\r\n', ''), /^BAD_RECORD/],
    ['whose lines stand before the opening balance', change(':60F:C261230EUR1000,\r\n', ''), /^BAD_RECORD 5:1/],
    ['that is an interim report', report, /^NOT_A_STATEMENT 4:6/],
    ['with something behind it', `${sample}Total: 5\r\n`, /^NOT_A_STATEMENT 32:1/],
  ])('%s', async (_, bytes, expected) => {
    expect(await refusalOf('mt940', bytes)).toMatch(expected);
  });
});

describe('an interim report (MT942)', () => {
  test('is read as it stands', async () => {
    expect(claimed(report)).toEqual(['mt942']);
    expect(told(await readBank('mt942', report))).toEqual(goldenReport);
  });
  test('may have no entries, and no sums', async () => {
    const empty = report.replace(/:61:[^]*:90D:[^]*:90C:.*\r\n/, '');
    expect(told(await readBank('mt942', empty + report))).toEqual(
      [goldenReport[0], 'close', ...goldenReport].map((text) => text?.replace(/^7 /, '14 ').replace(/^9 /, '16 ')),
    );
  });
  test('does not book what is only expected', async () => {
    const expected = change(':61:2611281128C7,5', ':61:2611281128EC7,5', report);
    expect((await readBank('mt942', expected)).filter(({ kind }) => kind === 'line')).toHaveLength(1);
    expect(await problemsOf('mt942', expected)).toEqual([]);
    expect(await problemsOf('mt942', change(':90C:1EUR7,50', ':90C:0EUR0,', expected))).toEqual([]);
  });
  test('counts a reversal by its mark or by the way of its money', async () => {
    const reversal = change(':61:2611281128C7,5', ':61:2611281128RD7,5', report);
    expect(await problemsOf('mt942', reversal)).toEqual([]);
    const byMark = change(':90D:1EUR119,00\r\n:90C:1EUR7,50', ':90D:2EUR126,50\r\n:90C:0EUR0,', reversal);
    expect(await problemsOf('mt942', byMark)).toEqual([]);
  });
  test.each([
    ['C7,5NTRF', 'C7,51NTRF', ['TOTAL_DIFFERS 11:6 The report says 1 credits of 7.50; there are 1 of 7.51.']],
    [':90D:1EUR', ':90D:2EUR', ['COUNT_DIFFERS 10:6 The report says 2 debits of 119.00; there are 1 of 119.00.']],
  ])('with %s made %s is flagged', async (from, to, expected) => {
    expect(await problemsOf('mt942', change(from, to, report))).toEqual(expected);
  });
  test.each([
    ['that ends before its sums', report.slice(0, report.indexOf(':90D:')), /^TRUNCATED/],
    ['without a floor limit', report.replaceAll(/:34F:.*\r\n/g, ''), /^BAD_RECORD/],
    ['that is an account statement', sample, /^NOT_A_STATEMENT 5:6/],
    ['with a time that is none', change('2611281815+0100', 'NOON', report), /^BAD_TIME/],
    ['with sums in another currency', change(':90D:1EUR', ':90D:1USD', report), /^BAD_RECORD/],
  ])('%s is refused', async (_, bytes, expected) => {
    expect(await refusalOf('mt942', bytes)).toMatch(expected);
  });
});
