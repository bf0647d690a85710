import { describe, expect, test } from '@jest/globals';
import { statementProfile } from '../../src/configStatements.js';
import type { CsvProfile } from '../../src/statements/profile.js';
import { csvTable } from '../../src/statements/providers/csv.js';
import { noSettings, readAll, refusalOf, refusedAt, rowOf, sample } from '../support/statements.js';

/** A profile as it stands in the config. */
function profileOf(written: object): CsvProfile {
  return statementProfile.parse(written);
}

const portuguese = profileOf({
  encoding: 'windows-1252',
  separator: ';',
  preambleLines: 2,
  footer: { starts: 'Total' },
  decimals: { point: ',', groups: ['.'] },
  dates: 'DMY',
  timeZone: 'Europe/Lisbon',
  columns: {
    date: 'Data Liquidação',
    time: 'Hora',
    amount: 'Montante Bruto',
    fee: 'Comissão',
    net: 'Montante Líquido',
    currency: 'Moeda',
    type: 'Tipo',
    ourReference: 'Referência',
    key: ['Nº Lote', 'Referência', 'Tipo'],
  },
  types: { Compra: 'PAYMENT', Devolução: 'REFUND' },
});

const inAndOut = profileOf({
  separator: '\t',
  decimals: { groups: ['\u202f', ' '] },
  dates: 'DMY',
  currency: 'EUR',
  columns: { date: 'Date', credit: 'In', debit: 'Out', balance: 'Balance', channelReference: 'Ref', key: ['Ref'] },
  sign: { by: 'columns' },
});

const simple = (changes: object = {}): CsvProfile =>
  profileOf({ currency: 'EUR', columns: { date: 'Day', amount: 'Amount', ourReference: 'Ref' }, ...changes });

test('a table of another country: windows-1252, semicolons, decimal comma, a preamble, a row of sums', async () => {
  const reading = await readAll(csvTable, sample('table-pt.csv'), { ...noSettings, profile: portuguese });
  expect(reading.lines.map(rowOf)).toEqual([
    '4 PAYMENT Compra CREDIT EUR 4500 | fee 36 net 4464 | ORD91 / - /  | key L0918-4471|ORD91|Compra | balance - batch - | DONE 2026-11-29T09:15:00.000000Z 2026-11-29',
    '5 PAYMENT Compra CREDIT EUR 125000 | fee 1000 net 124000 | ORD92 / - /  | key L0918-4471|ORD92|Compra | balance - batch - | DONE 2026-11-29T10:00:00.000000Z 2026-11-29',
    '6 REFUND Devolução DEBIT EUR 2000 | fee 0 net -2000 | REF92 / - /  | key L0918-4471|REF92|Devolução | balance - batch - | DONE 2026-11-29T11:30:00.000000Z 2026-11-29',
  ]);
  expect(reading.problems).toEqual([]);
});

test('a table with columns for both ways, thin blanks between thousands and a balance', async () => {
  const reading = await readAll(csvTable, sample('table-columns.tsv'), { ...noSettings, profile: inAndOut });
  expect(reading.lines.map(rowOf)).toEqual([
    '2 PAYMENT  CREDIT EUR 100050 | fee - net - | - / A1 /  | key A1 | balance 110050 batch - | DONE - 2026-11-03',
    '3 PAYOUT  DEBIT EUR 50 | fee - net - | - / A2 /  | key A2 | balance 110000 batch - | DONE - 2026-11-03',
    '4 PAYOUT  DEBIT EUR 110000 | fee - net - | - / A3 /  | key A3 | balance 0 batch - | DONE - 2026-11-04',
  ]);
  expect(reading.balances.map(({ kind, minor }) => `${kind} ${String(minor)}`)).toEqual(['OPENING 10000', 'CLOSING 0']);
});

describe('amounts are read as the profile writes them, and not otherwise', () => {
  test.each([
    ['-1.00', {}, -100n],
    ['\u22121.00', {}, -100n],
    ['1.00-', { negative: ['trailing'] }, -100n],
    ['(1.00)', { negative: ['parentheses'] }, -100n],
    ['1.00 DR', { negative: ['DR'] }, -100n],
    ['1.00CR', { negative: ['DR'] }, 100n],
    ['$1,234.50', { groups: [','], symbols: ['$'] }, 123_450n],
    ["1'234'567.89", { groups: ["'"] }, 123_456_789n],
    ['1\u00a0234,5', { point: ',', groups: ['\u00a0'] }, 123_450n],
    ['-3.000', { point: ',', groups: ['.'] }, -300_000n],
    ['-3.000', {}, -300n],
    ['-0.00', {}, 0n],
    ['1.00-', {}, 'BAD_AMOUNT'],
    ['1,234.56', {}, 'BAD_AMOUNT'],
    ['1.234,56', {}, 'BAD_AMOUNT'],
    ['1,23', { groups: [','] }, 'BAD_AMOUNT'],
    ['12,34.56', { groups: [','] }, 'BAD_AMOUNT'],
    ['0,123.00', { groups: [','] }, 'BAD_AMOUNT'],
    ['(1.00', { negative: ['parentheses'] }, 'BAD_AMOUNT'],
    ['--1.00', {}, 'BAD_AMOUNT'],
    ['+1.00', {}, 'BAD_AMOUNT'],
    ['1.', {}, 'BAD_AMOUNT'],
    ['.5', {}, 'BAD_AMOUNT'],
    ['1e2', {}, 'BAD_AMOUNT'],
    ['0x10', {}, 'BAD_AMOUNT'],
    ['１２', {}, 'BAD_AMOUNT'],
    ['NaN', {}, 'BAD_AMOUNT'],
    ['1.001', {}, 'TOO_MANY_DECIMALS'],
    ['99999999999999999999', {}, 'AMOUNT_OUT_OF_RANGE'],
  ])('%s with %j', async (text, decimals, expected) => {
    const table = `Day,Amount,Ref\n2026-11-29,"${text}",A\n`;
    const settings = { ...noSettings, profile: simple({ decimals }) };
    if (typeof expected === 'string') expect((await refusalOf(csvTable, table, settings))?.code).toBe(expected);
    else {
      const [line] = (await readAll(csvTable, table, settings)).lines;
      expect((line?.direction === 'DEBIT' ? -1n : 1n) * (line?.amountMinor ?? 7n)).toBe(expected);
    }
  });
});

describe('dates are read in the order of the profile', () => {
  test.each([
    ['2026-11-03', 'YMD', '2026-11-03'],
    ['20261103', 'YMD', '2026-11-03'],
    ['2026/11/3', 'YMD', '2026-11-03'],
    ['03/11/2026', 'DMY', '2026-11-03'],
    ['11/03/2026', 'MDY', '2026-11-03'],
    ['13/11/2026', 'MDY', null],
    ['29.02.2027', 'DMY', null],
    ['03/11/26', 'DMY', null],
    ['03/11-2026', 'DMY', null],
    ['2026-11-03T25:00:00', 'YMD', null],
  ])('%s as %s', async (text, dates, expected) => {
    const settings = { ...noSettings, profile: simple({ dates, timeZone: 'UTC' }) };
    const table = `Day,Amount,Ref\n${text},1,A\n`;
    if (expected === null) expect((await refusalOf(csvTable, table, settings))?.code).toMatch(/^BAD_(DATE|TIME)$/);
    else expect((await readAll(csvTable, table, settings)).lines[0]?.bookedDay).toBe(expected);
  });

  test('a time that the clocks skip is refused, one that they show twice is the first', async () => {
    const settings = { ...noSettings, profile: simple({ timeZone: 'Europe/Berlin' }) };
    const table = (time: string): string => `Day,Amount,Ref\n${time},1,A\n`;
    expect((await refusalOf(csvTable, table('2026-03-29 02:30'), settings))?.code).toBe('BAD_TIME');
    const [line] = (await readAll(csvTable, table('2026-10-25 02:30'), settings)).lines;
    expect(line?.occurredAt).toBe('2026-10-25T00:30:00.000000Z');
  });
});

describe('what is not as the profile says is refused', () => {
  const table = 'Day,Amount,Ref\n2026-11-29,1.00,A\nTotal,1.00,\n';
  test.each([
    ['no profile', table, null, 'UNKNOWN_FORMAT null:null'],
    ['a column that is missing', 'Day,Ref\n', simple(), 'MISSING_COLUMN 1:null'],
    [
      'a total that is missing',
      'Day,Amount,Ref\n2026-11-29,1.00,A\n',
      simple({ footer: { starts: 'Total' } }),
      'TRUNCATED 2:null',
    ],
    [
      'a row behind the total',
      `${table}2026-11-29,1.00,A\n`,
      simple({ footer: { starts: 'Total' } }),
      'BAD_RECORD 4:1',
    ],
    ['a total without sums', 'Day,Amount,Ref\nTotal,,\n', simple({ footer: { starts: 'Total' } }), 'TRUNCATED 2:null'],
    ['a last line without an end', 'Day,Amount,Ref\n2026-11-29,1.00,A', simple(), 'TRUNCATED 2:null'],
    ['no currency', 'Day,Amount,Ref\n2026-11-29,1.00,A\n', simple({ currency: null }), 'UNKNOWN_CURRENCY 2:null'],
    ['a column named __proto__', 'Day,Amount,Ref,__proto__\n2026-11-29,1.00,A,x\n', simple(), 'read'],
    [
      'a word that is no type',
      'Day,Amount,Ref,T\n2026-11-29,1.00,A,toString\n',
      simple({ columns: { date: 'Day', amount: 'Amount', type: 'T' }, types: { Sale: 'PAYMENT' } }),
      'UNKNOWN_TYPE 2:19',
    ],
    [
      'a word that is no status',
      'Day,Amount,Ref,S\n2026-11-29,1.00,A,odd\n',
      simple({ columns: { date: 'Day', amount: 'Amount', status: 'S' }, statuses: { done: ['ok'] } }),
      'UNKNOWN_TYPE 2:19',
    ],
    [
      'a word that is no way',
      'Day,Amount,Ref,W\n2026-11-29,1.00,A,up\n',
      simple({
        columns: { date: 'Day', amount: 'Amount', direction: 'W' },
        sign: { by: 'words', credit: ['in'], debit: ['out'] },
      }),
      'BAD_DIRECTION 2:19',
    ],
    ['a time without a zone', 'Day,Amount,Ref\n2026-11-29 10:00,1.00,A\n', simple(), 'BAD_TIME 2:1'],
  ])('%s', async (_what, text, profile, expected) => {
    expect(await refusedAt(csvTable, text, { ...noSettings, profile })).toBe(expected);
  });

  test('sums and net amounts that differ are told', async () => {
    const wrong = Buffer.from(
      sample('table-pt.csv').toString('latin1').replace('1.275,00', '1.275,01').replace('44,64', '44,63'),
      'latin1',
    );
    const { problems } = await readAll(csvTable, wrong, { ...noSettings, profile: portuguese });
    expect(problems.map(({ code, line }) => `${code} ${String(line)}`)).toEqual([
      'NET_DIFFERS 4',
      'TOTAL_DIFFERS 7',
      'TOTAL_DIFFERS 7',
    ]);
  });

  test('a header that is repeated on each page is no row; rows that did not move are passed over', async () => {
    const profile = simple({
      columns: { date: 'Day', amount: 'Amount', status: 'S' },
      statuses: { done: ['ok'], ignored: ['pending'] },
    });
    const text = 'Day,Amount,S\n2026-11-29,1.00,ok\nDay,Amount,S\n2026-11-29,2.00,pending\n';
    const { lines } = await readAll(csvTable, text, { ...noSettings, profile });
    expect(lines.map(({ amountMinor }) => amountMinor)).toEqual([100n]);
  });
});

test.each([
  [{ columns: { date: 'D' } }, 'amount'],
  [{ columns: { date: 'D', amount: 'A' }, sign: { by: 'columns' } }, 'credit'],
  [{ columns: { date: 'D', amount: 'A' }, sign: { by: 'words', credit: ['in'], debit: ['out'] } }, 'direction'],
  [{ columns: { date: 'D', amount: 'A' }, types: {} }, 'type'],
  [{ columns: { date: 'D', amount: 'A' }, decimals: { point: ',', groups: [','] } }, 'decimals'],
  [{ columns: { date: 'D', amount: 'A' }, timeZone: 'Mars/Phobos' }, 'timeZone'],
  [{ columns: { date: 'D', amount: 'A', colour: 'C' } }, 'columns'],
])('a profile that cannot work is refused by the config: %j', (written, path) => {
  const result = statementProfile.safeParse(written);
  expect(result.error?.issues.some((issue) => issue.path.map(String).includes(path))).toBe(true);
});
