import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { bankFile, claimed, problemsOf, readBank, refusalOf, told } from '../support/bankFiles.js';
import { camtFaults } from '../support/camtRules.js';

const v2 = bankFile('camt053-v02.xml').toString('utf8');
const change = (from: string, to: string, text = v2): string => {
  expect(text).toContain(from);
  return text.replace(from, to);
};

const samples = [
  ['camt053-v02.xml', 'camt.053.001.02'],
  ['camt053-v04.xml', 'camt.053.001.04'],
  ['camt053-v08.xml', 'camt.053.001.08'],
  ['camt052-v06.xml', 'camt.052.001.06'],
  ['camt054-v08.xml', 'camt.054.001.08'],
] as const;

describe('our samples', () => {
  test.each(samples)('%s keeps the rules of the published schema of %s', (file, schema) => {
    expect(bankFile(file).includes(schema)).toBe(true);
    expect(camtFaults(bankFile(file).toString('latin1'))).toEqual([]);
  });
  test.each([
    ['<Sts>BOOK</Sts>', '<Sts><Cd>BOOK</Cd></Sts>'],
    ['<TtlNetNtryAmt>135.5</TtlNetNtryAmt>', '<TtlNetNtry><Amt>135.5</Amt></TtlNetNtry>'],
    ['<Nm>Jane Payer</Nm>', '<Pty><Nm>Jane Payer</Nm></Pty>'],
    ['<BIC>CHASUS33XXX</BIC>', '<BICFI>CHASUS33XXX</BICFI>'],
    ['<Amt Ccy="EUR">99.00</Amt>', '<Amt>99.00</Amt>'],
    ['<CdtDbtInd>CRDT</CdtDbtInd>\n        <RvslInd>', '<RvslInd>'],
    ['<Id>STMT-231</Id>', ''],
  ])('the rules find %s made %s', (from, to) => {
    expect(camtFaults(change(from, to))).not.toEqual([]);
  });

  // The schemas are not ours to hand on; with copies of them, xmllint has the last word.
  const folder = process.env['SETTLE_TEST_CAMT_XSD'];
  if (folder !== undefined) {
    test.each(samples)('%s is valid by the schema of %s', (file, schema) => {
      const paths = [join(folder, `${schema}.xsd`), join('fixtures/statements/bank', file)];
      const linted = spawnSync('xmllint', ['--noout', '--schema', ...paths], { encoding: 'utf8' });
      expect(linted.stderr).toContain('validates');
    });
  }

  test.each(samples)('%s is claimed by its own format alone', (file, schema) => {
    expect(claimed(bankFile(file))).toEqual([schema.slice(0, 8)]);
  });
});

const golden = {
  'camt053-v02.xml': [
    'open DE89370400440532013000 no. 231/1 of 2026-11-30 to 2026-11-30',
    '108 PAYOUT PMNT/ICDT/ESCT 2026-11-30 -100.00 EUR our 20261129-A bank BANK-BATCH-1 also P1, P20261130-000001-EUR, P20261130-000001-5f0c1b2a of batch BANK-BATCH-1',
    '119 PAYOUT PMNT/ICDT/ESCT 2026-11-30 -150.00 EUR our 20261129-B bank BANK-BATCH-1 also P2, P20261130-000001-EUR, P20261130-000001-5f0c1b2a of batch BANK-BATCH-1',
    '132 PAYMENT PMNT/RCDT/XBCT 2026-11-30 100.00 EUR fee 1.00 net 99.00 our - bank BANK-2 also TX-2 at 2026-12-01T04:30:00.000000Z',
    '182 RETURN NTRF+166 2026-11-30 57.50 EUR our 20261120-R bank BANK-3',
    '204 PAYOUT PMNT/ICDT/ESCT 2026-11-30 -40.00 EUR our P20261130-000002-EUR bank BANK-4 for 94',
    '228 FEE ACMT/MDOP/CHRG 2026-11-30 -2.00 EUR our - bank BANK-4',
    'OPENING 1000.00 EUR 2026-11-27',
    'CLOSING 864.50 EUR 2026-11-30',
    'close',
  ],
  'camt053-v04.xml': [
    'open NL91ABNA0417164300 no. 9/1 of 2026-11-30 to 2026-11-30',
    '51 PAYOUT PMNT/ICDT/XBCT 2026-11-30 -100.00 EUR fee 1.25 net -101.25 our P41 bank BANK-41',
    'OPENING 0.00 EUR 2026-11-30',
    'CLOSING -101.25 EUR 2026-11-30',
    'close',
  ],
  'camt053-v08.xml': [
    'open CH9300762011623852957 no. 12/1 of 2026-11-30 to 2026-11-30',
    '70 PAYMENT PMNT/RCDT/VCOM 2026-11-30 60.00 CHF our - bank TX-8-1 also 7a562c67-ca16-48ba-b074-65581be6f001, 210000000003139471430009017 of batch CH9300762011623852957|2026-11-30|line 47',
    '101 PAYMENT PMNT/RCDT/VCOM 2026-11-30 41.50 CHF fee 1.50 net 40.00 our ORDER-77 bank - of batch CH9300762011623852957|2026-11-30|line 47',
    'OPENING -50.00 CHF 2026-11-30',
    'CLOSING 50.00 CHF 2026-11-30',
    'close',
    'open 0235-0008 JPY no. - of 2026-11-30 to 2026-11-30',
    '151 RETURN PMNT/ICDT/RRTN 2026-11-30 123456789012345678 JPY our 20261128-J bank BANK-J',
    'OPENING 0 JPY 2026-11-30',
    'CLOSING 123456789012345678 JPY 2026-11-30',
    'close',
  ],
  'camt052-v06.xml': [
    'open DE89370400440532013000 no. 700/2 more of - to 2026-11-30 intraday',
    '45 PAYMENT 166 2026-11-30 25.00 EUR our - bank BANK-52',
    'OPENING 10.00 EUR 2026-11-30',
    'CLOSING 35.00 EUR 2026-11-30',
    'close',
  ],
  'camt054-v08.xml': [
    'open CH9300762011623852957 no. - of - to - intraday',
    '46 PAYMENT PMNT/RCDT/VCOM 2026-11-30 5.00 CHF our E-1 bank BANK-54 of batch BANK-54',
    '53 PAYMENT PMNT/RCDT/VCOM 2026-11-30 2.35 CHF our E-2 bank BANK-54 of batch BANK-54',
    'close',
  ],
};

describe('a camt message', () => {
  test.each(samples)('%s is read as it stands', async (file, schema) => {
    expect(told(await readBank(schema.slice(0, 8), bankFile(file)))).toEqual(golden[file]);
  });

  test.each([
    ['another version of the namespace', change('camt.053.001.02', 'camt.053.001.13')],
    ['version 3', change('camt.053.001.02', 'camt.053.001.03')],
    ['a prefix', v2.replaceAll(/<(\/?)(?=[A-Z])/g, '<$1n:').replace('xmlns=', 'xmlns:n=')],
    ['UTF-16', Buffer.from(`\uFEFF${v2.replace('UTF-8', 'UTF-16')}`, 'utf16le')],
    ['UTF-16 the other way', Buffer.from(`\uFEFF${v2.replace('UTF-8', 'UTF-16')}`, 'utf16le').swap16()],
    ['ISO-8859-1', Buffer.from(v2.replace('UTF-8', 'ISO-8859-1'), 'latin1')],
    ['a byte order mark', `\uFEFF${v2}`],
    ['no declaration', v2.slice(v2.indexOf('\n') + 1).replace('<Document', '\n<Document')],
    ['lines that end with CR and LF', v2.replaceAll('\n', '\r\n')],
    ['an envelope', v2.replace('<Document', '<Envelope><Document').replace('</Document>', '</Document></Envelope>')],
    [
      'amounts with every decimal',
      v2.replaceAll(
        /(Ccy="EUR">)(\d+)(\.\d+)?(?=<)/g,
        (_, before: string, whole: string, fraction = '.') =>
          `${before}0${whole}${(fraction as string).padEnd(6, '0')}`,
      ),
    ],
    ['its state below a code', v2.replaceAll(/<Sts>(\w+)<\/Sts>/g, '<Sts><Cd>$1</Cd></Sts>')],
  ])('with %s tells the same', async (_, bytes) => {
    expect(claimed(bytes)).toEqual(['camt.053']);
    const lines = told(await readBank('camt.053', bytes));
    const strip = (texts: string[]): string[] => texts.map((text) => text.replace(/^\d+ /, ''));
    expect(strip(lines)).toEqual(strip(golden['camt053-v02.xml']));
  });

  test('is the same in any chunks', async () => {
    const bytes = bankFile('camt053-v02.xml');
    for (const chunkBytes of [1, 7, 600]) {
      expect(told(await readBank('camt.053', bytes, { chunkBytes }))).toEqual(golden['camt053-v02.xml']);
    }
  });

  test('takes times without an offset by the zone of the settings, and not those that its clocks left out', async () => {
    const at = async (time: string): Promise<unknown> => {
      const bytes = v2.replace('2026-11-30T23:30:00-05:00', time);
      const events = await readBank('camt.053', bytes, { timeZone: 'Europe/Berlin' });
      const line = events.find((event) => event.kind === 'line' && event.line.channelReference === 'BANK-2');
      return line?.kind === 'line' ? [line.line.bookedDay, line.line.occurredAt] : null;
    };
    expect(await at('2026-11-30T23:30:00.25')).toEqual(['2026-11-30', '2026-11-30T22:30:00.250000Z']);
    expect(await at('2026-03-29T02:30:00')).toEqual(['2026-03-29', null]);
  });

  test('carries what makes a line itself: bank reference, account, day, way and amount', async () => {
    const keys = (await readBank('camt.053', v2)).flatMap((event) =>
      event.kind === 'line' ? [event.line.lineKey] : [],
    );
    expect(keys).toEqual([
      'BANK-BATCH-1|DE89370400440532013000|2026-11-30|D|10000|0',
      'BANK-BATCH-1|DE89370400440532013000|2026-11-30|D|15000|1',
      'BANK-2|DE89370400440532013000|2026-11-30|C|9900',
      'BANK-3|DE89370400440532013000|2026-11-30|C|5750',
      'BANK-4|DE89370400440532013000|2026-11-30|D|4000',
      'BANK-4|DE89370400440532013000|2026-11-30|D|200',
    ]);
  });
});

describe('a batch booking', () => {
  const batch = async (bytes: string): Promise<string[]> =>
    told(await readBank('camt.053', bytes)).filter((text) => /^\d+ .*(BANK-BATCH-1)|_DIFFERS/.test(text));

  test.each([
    ['lists fewer than it counts', change('<NbOfTxs>2<', '<NbOfTxs>3<').replace('>150.00<', '>149.00<'), 'for 3', []],
    ['states no amount for one', change('<Amt Ccy="EUR">150.00</Amt>', '<Amt Ccy="USD">150.00</Amt>'), 'for 2', []],
    [
      'does not count, and does not sum up',
      change('<NbOfTxs>2</NbOfTxs>', '').replace('>150.00<', '>149.00<'),
      'for 2',
      [],
    ],
    ['counts what it lists, and does not sum up', change('>150.00<', '>149.00<'), 'for 2', ['TOTAL_DIFFERS']],
  ])('that %s is one line', async (_, bytes, count, codes) => {
    const [line = '', ...problems] = await batch(bytes);
    expect(line).toContain('-250.00 EUR our P20261130-000001-EUR');
    expect(line).toContain(count);
    expect(problems.map((text) => text.split(' ')[0])).toEqual(codes);
  });
  test('that sums up and counts otherwise is listed, and said to contradict itself', async () => {
    const [first, second, problem] = await batch(change('<NbOfTxs>2<', '<NbOfTxs>3<'));
    expect([first, second].every((text) => text?.includes('of batch BANK-BATCH-1') === true)).toBe(true);
    expect(problem).toBe('COUNT_DIFFERS 81:13 The entry says that it holds 3 transactions, and lists 2.');
  });
  test('that lists one of many is not that one', async () => {
    const one = v2.replace(/<TxDtls>(?:(?!<\/TxDtls>)[^])*20261129-B[^]*?<\/TxDtls>/, '');
    expect((await batch(one)).map((text) => text.replace(/^\d+ /, ''))).toEqual([
      'PAYOUT PMNT/ICDT/ESCT 2026-11-30 -250.00 EUR our P20261130-000001-EUR bank BANK-BATCH-1 also P20261130-000001-5f0c1b2a, 1 for 2',
    ]);
  });
});

describe('a camt message that contradicts itself is flagged:', () => {
  test.each([
    [
      'closing balance',
      '>000000000000864.5<',
      '>864.51<',
      /^BALANCE_DIFFERS 41:\d+ Opening balance 1000.00 and lines of -135.50 do not make the closing balance 864.51 EUR\.$/,
    ],
    ['opening balance', 'PRCD', 'XPCD', /^BALANCE_DIFFERS .*opening balance in EUR is missing/],
    ['an amount', '>2.00<', '>2.01<', /^BALANCE_DIFFERS/],
    [
      'a currency of a balance',
      '<Amt Ccy="EUR">1000.00',
      '<Amt Ccy="USD">1000.00',
      /^BALANCE_DIFFERS .*closing balance in USD is missing/,
    ],
    [
      'a direction',
      '<CdtDbtInd>DBIT</CdtDbtInd>\n        <Sts>BOOK</Sts>',
      '<CdtDbtInd>CRDT</CdtDbtInd>\n        <Sts>BOOK</Sts>',
      /^BALANCE_DIFFERS/,
    ],
    [
      'the number of entries',
      '<NbOfNtries>5<',
      '<NbOfNtries>4<',
      /^COUNT_DIFFERS 66:\d+ TtlNtries says 4 entries; there are 6\.$/,
    ],
    [
      'the sum of credits',
      '<Sum>156.50<',
      '<Sum>156.51<',
      /^TOTAL_DIFFERS .*TtlCdtNtries\/Sum says 156.51; the entries make 156.50\.$/,
    ],
    ['the net amount', '>135.5<', '>135.6<', /^TOTAL_DIFFERS .*net amount/],
    [
      'the way of the net amount',
      '</TtlNetNtryAmt>\n          <CdtDbtInd>DBIT',
      '</TtlNetNtryAmt>\n          <CdtDbtInd>CRDT',
      /^TOTAL_DIFFERS .*net amount/,
    ],
  ])('%s', async (_, from, to, expected) => {
    const problems = await problemsOf('camt.053', change(from, to));
    expect(problems.filter((text) => expected.test(text))).toHaveLength(1);
  });

  test('a reversal whose mark the bank repeats: it is not flipped, and the balance says so', async () => {
    const [problem] = await problemsOf('camt.053', change('>000000000000864.5<', '>749.50<'));
    expect(problem).toMatch(/It would with the lines that are marked as reversals the other way round\.$/);
  });
  test('two opening balances that differ', async () => {
    const other = change('<Cd>CLAV</Cd>', '<Cd>OPBD</Cd>');
    expect(await problemsOf('camt.053', other)).toContainEqual(
      expect.stringMatching(/^BALANCE_DIFFERS .*another opening balance in EUR/),
    );
  });
  test('an interim report whose balances do not hold', async () => {
    const report = change('>35.00<', '>35.01<', bankFile('camt052-v06.xml').toString());
    expect(await problemsOf('camt.052', report)).toHaveLength(1);
  });
  test('a notification whose summary does not hold', async () => {
    const notification = change('<Sum>7.35<', '<Sum>7.36<', bankFile('camt054-v08.xml').toString());
    expect(await problemsOf('camt.054', notification)).toHaveLength(1);
  });
});

describe('a camt file is refused', () => {
  const entity = change(
    '<Document',
    '<!DOCTYPE Document [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>\n<Document',
  );
  test.each([
    ['that is empty', '', /^EMPTY_FILE/],
    [
      'that ends within an element',
      v2.slice(0, v2.indexOf('</Ntry>')),
      /^TRUNCATED \d+:\d+ The file ends within the element "Ntry"\.$/,
    ],
    ['that ends within a tag', v2.slice(0, -5), /^TRUNCATED/],
    ['that declares a document type', entity, /^BAD_XML 2:\d+ The file declares a document type/],
    [
      'with an entity that nobody declares',
      change('Jane Payer', 'Jane &payer;'),
      /^BAD_XML 169:\d+ The file is not well-formed: undefined entity/,
    ],
    ['with tags that cross', change('</Refs>', '</AmtDtls>'), /^BAD_XML/],
    ['with something behind its end', `${v2}<Document/>`, /^BAD_XML/],
    ['that is a page of the web', '<html><head/><body><div><p>Log in</p></div></body></html>', /^NOT_A_STATEMENT/],
    [
      'that is another message',
      v2.replaceAll('BkToCstmrStmt', 'BkToCstmrAcctRpt'),
      /^NOT_A_STATEMENT 3:\d+ The element "BkToCstmrAcctRpt"/,
    ],
    ['without a statement', v2.replace(/<Stmt>[^]*<\/Stmt>/, ''), /^NOT_A_STATEMENT .*holds no Stmt/],
    ['with an encoding that it does not declare', Buffer.from(v2, 'latin1'), /^BAD_ENCODING/],
    [
      'that declares another encoding',
      change('UTF-8', 'windows-1252'),
      /^BAD_ENCODING 1:null The file declares the encoding "windows-1252"/,
    ],
    ['that declares UTF-16 and is not', change('UTF-8', 'UTF-16'), /^BAD_ENCODING/],
    ['with NUL', change('Jane Payer', 'Jane \0 Payer'), /^BAD_XML/],
    ['with a cell of 5 MB', change('Jane Payer', 'x'.repeat(5_000_000)), /^RECORD_TOO_LONG/],
    ['with an attribute of 5 MB', change('Ccy="EUR">99', `Ccy="${'x'.repeat(5_000_000)}">99`), /^RECORD_TOO_LONG/],
    ['that is nested without end', change('<Nm>Jane Payer</Nm>', '<a>'.repeat(100)), /^BAD_XML/],
    ['with an amount below zero', change('>99.00<', '>-99.00<'), /^BAD_AMOUNT 133:\d+ Ntry\/Amt is "-99\.00"/],
    ['with a comma in an amount', change('>99.00<', '>99,00<'), /^BAD_AMOUNT/],
    ['with thousands in an amount', change('>99.00<', '>1,099.00<'), /^BAD_AMOUNT/],
    ['with an exponent', change('>99.00<', '>1e308<'), /^BAD_AMOUNT/],
    ['with an empty amount', change('>99.00<', '><'), /^BAD_AMOUNT/],
    [
      'with decimals that the currency does not have',
      change('>99.00<', '>99.001<'),
      /^TOO_MANY_DECIMALS 133:\d+ .*EUR has 2 decimals/,
    ],
    ['with an amount of 19 digits', change('>99.00<', '>12345678901234567.89<'), /^AMOUNT_OUT_OF_RANGE/],
    [
      'with an amount that no database holds',
      change('<Amt Ccy="EUR">99.00', '<Amt Ccy="EUR">123456789012345678'),
      /^AMOUNT_OUT_OF_RANGE/,
    ],
    ['with an unknown currency', change('<Amt Ccy="EUR">99', '<Amt Ccy="EUX">99'), /^UNKNOWN_CURRENCY/],
    ['without a currency', change('<Amt Ccy="EUR">99', '<Amt>99'), /^UNKNOWN_CURRENCY/],
    ['without a direction', change('<CdtDbtInd>CRDT</CdtDbtInd>\n        <Sts>', '<Sts>'), /^BAD_DIRECTION/],
    [
      'with another direction',
      change('<CdtDbtInd>CRDT</CdtDbtInd>\n        <Sts>', '<CdtDbtInd>credit</CdtDbtInd><Sts>'),
      /^BAD_DIRECTION/,
    ],
    ['with another state', change('<Sts>PDNG', '<Sts>DONE'), /^UNKNOWN_TYPE .*Ntry\/Sts is "DONE"/],
    [
      'with a day that is none',
      change('<Dt>2026-11-30</Dt>\n        </BookgDt>', '<Dt>2026-02-29</Dt></BookgDt>'),
      /^BAD_DATE/,
    ],
    ['with a time that is none', change('T23:30:00-05:00', 'T25:30:00-05:00'), /^BAD_TIME/],
    [
      'that books an entry on no day',
      change('<BookgDt>\n          <DtTm>2026-11-30T23:30:00-05:00</DtTm>\n        </BookgDt>', ''),
      /^BAD_DATE/,
    ],
    ['with a number that is none', change('>231</Elctrnc', '>2x1</Elctrnc'), /^BAD_RECORD/],
    ['with a flag that is none', change('<RvslInd>true', '<RvslInd>yes'), /^BAD_RECORD/],
  ])('%s', async (_, bytes, expected) => {
    expect(await refusalOf('camt.053', bytes)).toMatch(expected);
  });
});
