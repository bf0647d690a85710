import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { exitCodes } from '../../src/kernel/errors.js';
import { FileChannel, fileRules } from '../../src/payouts/channels/file.js';
import { PaymentFolder } from '../../src/payouts/channels/paymentFolder.js';
import { importAnswers, type AnswersImported } from '../../src/payouts/importAnswers.js';
import { readStatusReport } from '../../src/payouts/pain002.js';
import { payoutStory } from '../../src/payouts/views.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from '../support/databases.js';
import { givenOrders, runDay } from '../support/day.js';
import { alerts, payoutBalances, payoutLines, plan, submit } from '../support/payouts.js';

const uri = 'urn:iso:std:iso:20022:tech:xsd:pain.002.001.10';

interface Said {
  messageId?: string;
  on: string;
  file?: string;
  group?: string;
  groupId?: string;
  payments?: string[];
}

/** A report as banks write it. */
function report({ messageId = 'R1', on, file, group, groupId, payments = [] }: Said): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="${uri}">
<CstmrPmtStsRpt>
<GrpHdr><MsgId>${messageId}</MsgId><CreDtTm>2026-11-30T10:00:00Z</CreDtTm></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>${on}</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>${
    file === undefined ? '' : `<GrpSts>${file}</GrpSts>`
  }</OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><OrgnlPmtInfId>${groupId ?? `${on}-EUR`}</OrgnlPmtInfId>${group === undefined ? '' : `<PmtInfSts>${group}</PmtInfSts>`}
${payments.join('\n')}
</OrgnlPmtInfAndSts>
</CstmrPmtStsRpt>
</Document>
`;
}

const payment = (key: string, status: string, { reason = '', amount = '' } = {}): string =>
  `<TxInfAndSts><OrgnlEndToEndId>${key}</OrgnlEndToEndId><TxSts>${status}</TxSts>${
    reason === ''
      ? ''
      : `<StsRsnInf><Rsn><Cd>${reason}</Cd></Rsn><AddtlInf>account DE89 is closed</AddtlInf></StsRsnInf>`
  }${amount === '' ? '' : `<OrgnlTxRef><Amt>${amount}</Amt></OrgnlTxRef>`}</TxInfAndSts>`;

/** In pieces, as files are read. */
async function* pieces(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 100) {
    await Promise.resolve();
    yield bytes.subarray(at, at + 100);
  }
}

describe('a report', () => {
  const good = report({ on: 'P1', payments: [payment('K1', 'ACSC')] });
  const read = (xml: string): Promise<unknown> => readStatusReport(pieces(xml));

  test('is read with what it says of the file, of groups and of payments', async () => {
    const xml = report({
      on: 'P1',
      file: 'PART',
      group: 'PART',
      payments: [payment('K1', 'RJCT', { reason: 'AC04', amount: '<InstdAmt Ccy="EUR">1.00</InstdAmt>' })],
    });
    expect(await read(xml)).toMatchObject({
      messageId: 'R1',
      originalMessageId: 'P1',
      file: { status: 'PART' },
      groups: [{ groupId: 'P1-EUR', status: 'PART' }],
      payments: [
        {
          endToEndId: 'K1',
          instructionId: null,
          status: 'RJCT',
          reasons: ['AC04'],
          amount: { text: '1.00', currency: 'EUR' },
          line: 7,
        },
      ],
    });
  });

  test('may have a prefix for its names, and comments', async () => {
    const prefixed = good
      .replaceAll(/<(\/?)([A-Z])/g, '<$1p:$2')
      .replace('xmlns=', 'xmlns:p=')
      .replace('<p:GrpHdr>', '<!-- a comment --><p:GrpHdr>');
    expect(await read(prefixed)).toMatchObject({ payments: [{ endToEndId: 'K1', status: 'ACSC' }] });
  });

  test.each`
    what                        | change                                                                                          | code                 | message
    ${'cut off'}                | ${(xml: string) => xml.slice(0, -20)}                                                           | ${'BAD_XML'}         | ${'Line 9'}
    ${'of mixed-up tags'}       | ${(xml: string) => xml.replace('</TxSts>', '')}                                                 | ${'BAD_XML'}         | ${'Line 7'}
    ${'two documents'}          | ${(xml: string) => xml + xml.split('\n').slice(1).join('\n')}                                   | ${'BAD_XML'}         | ${'Line 11'}
    ${'one that has a DOCTYPE'} | ${(xml: string) => xml.replace('<Document', '<!DOCTYPE Document [<!ENTITY a "ha">]><Document')} | ${'BAD_XML'}         | ${'document type'}
    ${'one that uses entities'} | ${(xml: string) => xml.replace('ACSC', '&a;')}                                                  | ${'BAD_XML'}         | ${'Line 7'}
    ${'another message'}        | ${(xml: string) => xml.replace('pain.002.001.10', 'camt.053.001.08')}                           | ${'NOT_A_REPORT'}    | ${'Line 2'}
    ${'another root'}           | ${(xml: string) => xml.replaceAll('CstmrPmtStsRpt', 'CstmrDrctDbtInitn')}                       | ${'NOT_A_REPORT'}    | ${'Line 3'}
    ${'on no file'}             | ${(xml: string) => xml.replace(/<OrgnlMsgId>.*?<\/OrgnlMsgId>/, '')}                            | ${'NOT_A_REPORT'}    | ${'lacks'}
    ${'with an endless id'}     | ${(xml: string) => xml.replace('K1', 'K'.repeat(36))}                                           | ${'NOT_A_REPORT'}    | ${'Line 7'}
    ${'with an endless text'}   | ${(xml: string) => xml.replace('K1', 'K'.repeat(20_000))}                                       | ${'RECORD_TOO_LONG'} | ${'Line 7'}
    ${'nested without an end'}  | ${(xml: string) => xml.replace('ACSC', '<a>'.repeat(50))}                                       | ${'BAD_XML'}         | ${'nested'}
    ${'empty'}                  | ${() => ''}                                                                                     | ${'EMPTY_FILE'}      | ${'no content'}
  `('that is $what is refused', async ({ change, code, message }) => {
    await expect(read((change as (xml: string) => string)(good))).rejects.toMatchObject({
      code: code as string,
      message: expect.stringContaining(message as string),
    });
  });
});

describe.each(databaseKinds)('answers of a bank [%s]', (kind) => {
  let place: TestDatabase;
  let dir: string;
  let on: string;
  let keys: string[];
  const rules = { ...fileRules, checkAfterMs: [0], checks: 3, currencies: null, maximum: new Map<string, bigint>() };
  beforeEach(async () => {
    dir = mkdtempSync(`${tmpdir()}/settle-answers-`);
    place = await createTestDatabase(kind);
    await givenOrders(
      place.database,
      ['A1', 'A2', 'A3'].map((accountNo, at) => ({ orderNo: accountNo, accountNo, minor: 100 + at, currency: 'EUR' })),
    );
    expect((await runDay(place.database)).exitCode).toBe(exitCodes.OK);
    const route = { channel: 'bank', destination: 'GB82WEST12345698765432', holder: 'Anna', maximumMinor: null };
    await plan(place.database, { routesOf: () => Promise.resolve(() => route) });
    const debtor = { name: 'Payment Company', iban: 'DE89370400440532013000', bic: null };
    const settings = { debtor, paymentsPerFile: 10, namespace: 'test', executionDay: () => '2026-11-30' };
    const none = (): Promise<null> => Promise.resolve(null);
    await submit(place.database, new FileChannel('bank', rules, settings, new PaymentFolder(dir), none));
    const stored = await place.database.read((session) =>
      session.tuples('select idempotency_key, channel_reference from payout order by id'),
    );
    keys = stored.map(([key]) => String(key));
    on = String(stored[0]?.[1]);
  });
  afterEach(async () => {
    await place.drop();
    rmSync(dir, { recursive: true });
  });

  const take = (xml: string): Promise<AnswersImported> =>
    importAnswers(place.database, { name: 'bank', rules }, pieces(xml), {
      actor: 'test',
      now: () => '2026-11-30T12:00:00.000Z',
      onOutcome: () => undefined,
    });
  const states = async (): Promise<string> =>
    (await payoutLines(place.database)).map((line) => line.split(' ')[3]).join(' ');
  const moves = async (): Promise<number> =>
    (await place.database.read((session) => session.tuples('select id from payout_move'))).length;

  test('settled is paid, rejected is refused with its reason, and the rest is noted; each is booked', async () => {
    const [a = '', b = '', c = ''] = keys;
    const xml = report({
      on,
      file: 'PART',
      payments: [payment(a, 'ACSC'), payment(b, 'RJCT', { reason: 'AC04' }), payment(c, 'ACSP')],
    });
    expect(await take(xml)).toMatchObject({ isRepeat: false, moved: { paid: 1, refused: 1, manual: 0 }, noted: 1 });
    expect(await states()).toBe('SUCCESS FAILED UNKNOWN');
    expect(await payoutBalances(place.database)).toEqual([
      'CHANNEL_CASH bank -100',
      'MERCHANT_PAYABLE A1 100',
      'MERCHANT_PAYABLE A3 102',
      'PAYOUT_IN_TRANSIT A3 -102',
    ]);
    const story = await place.database.read((session) => payoutStory(session, '2'));
    expect(story?.moves.at(-1)).toMatchObject({ to: 'FAILED', reason: 'RJCT AC04' });
    const later = await place.database.read((session) => payoutStory(session, '3'));
    expect(later?.payout).toMatchObject({ lastCode: 'BANK_ACSP', channelReference: on });
  });

  test('the same report again changes nothing, and says so', async () => {
    const xml = report({ on, group: 'ACSC' });
    await take(xml);
    const before = await moves();
    expect(await take(xml)).toMatchObject({ isRepeat: true, moved: { paid: 0, refused: 0, manual: 0 }, noted: 0 });
    expect(await take(report({ on, group: 'ACSC', messageId: 'R2' }))).toMatchObject({ isRepeat: false, known: 3 });
    expect(await moves()).toBe(before);
  });

  test('two that take a report at once take it once', async () => {
    const xml = report({ on, file: 'ACSC' });
    const both = await Promise.all([take(xml), take(xml)]);
    expect(both.map(({ isRepeat }) => isRepeat).sort()).toEqual([false, true]);
    expect(await payoutBalances(place.database)).toContain('CHANNEL_CASH bank -303');
  });

  test.each`
    file         | group        | one          | then
    ${'ACSC'}    | ${undefined} | ${undefined} | ${'SUCCESS SUCCESS SUCCESS'}
    ${undefined} | ${'ACCC'}    | ${undefined} | ${'SUCCESS SUCCESS SUCCESS'}
    ${'RJCT'}    | ${undefined} | ${undefined} | ${'FAILED FAILED FAILED'}
    ${'ACCP'}    | ${'ACSC'}    | ${undefined} | ${'SUCCESS SUCCESS SUCCESS'}
    ${'PDNG'}    | ${undefined} | ${'RJCT'}    | ${'FAILED UNKNOWN UNKNOWN'}
    ${'PART'}    | ${'PART'}    | ${'CANC'}    | ${'FAILED UNKNOWN UNKNOWN'}
  `('file $file, group $group, first payment $one: $then', async ({ file, group, one, then }) => {
    const said = { file: file as string | undefined, group: group as string | undefined };
    const payments = one === undefined ? [] : [payment(keys[0] ?? '', one as string)];
    await take(report({ on, payments, ...(JSON.parse(JSON.stringify(said)) as object) }));
    expect(await states()).toBe(then);
  });

  test('another amount than was asked for is for a person', async () => {
    const amount = '<InstdAmt Ccy="EUR">0.99</InstdAmt>';
    const [a = '', b = ''] = keys;
    const stated = '<InstdAmt Ccy="EUR">1.01</InstdAmt>';
    const xml = report({ on, payments: [payment(a, 'ACSC', { amount }), payment(b, 'ACSC', { amount: stated })] });
    expect(await take(xml)).toMatchObject({ moved: { paid: 1, refused: 0, manual: 1 } });
    expect(await states()).toBe('MANUAL SUCCESS UNKNOWN');
    expect(await alerts(place.database)).toHaveLength(1);
  });

  test('what contradicts a final answer moves nothing, and raises an alert', async () => {
    await take(report({ on, file: 'ACSC' }));
    const balances = await payoutBalances(place.database);
    const xml = report({ on, messageId: 'R2', payments: [payment(keys[0] ?? '', 'RJCT')] });
    expect(await take(xml)).toMatchObject({ contradictions: 1 });
    expect(await states()).toBe('SUCCESS SUCCESS SUCCESS');
    expect(await payoutBalances(place.database)).toEqual(balances);
    expect(await alerts(place.database)).toHaveLength(1);
  });

  test.each`
    what                                | said                                                 | code
    ${'a payment of no file'}           | ${{ payments: [payment('nobody', 'ACSC')] }}         | ${'UNKNOWN_PAYMENT'}
    ${'another file'}                   | ${{ on: 'P9' }}                                      | ${'UNKNOWN_PAYMENT'}
    ${'a group that is not in it'}      | ${{ groupId: 'P9-EUR' }}                             | ${'UNKNOWN_PAYMENT'}
    ${'a status that nobody knows'}     | ${{ file: 'ACSX' }}                                  | ${'UNKNOWN_STATUS'}
    ${'a status of every object'}       | ${{ file: 'constructor' }}                           | ${'UNKNOWN_STATUS'}
    ${'a file settled and a rejection'} | ${{ file: 'ACSC', group: 'RJCT' }}                   | ${'CONTRADICTS_ITSELF'}
    ${'an amount that is none'}         | ${{ amount: '<InstdAmt Ccy="EUR">1,00</InstdAmt>' }} | ${'NOT_A_REPORT'}
  `('a report with $what is refused whole', async ({ said, code }) => {
    const { amount = '', ...rest } = said as Partial<Said> & { amount?: string };
    const first = payment(keys[1] ?? '', 'ACSC', { amount });
    const payments = [first, ...(rest.payments ?? [])];
    await expect(take(report({ on, ...rest, payments }))).rejects.toMatchObject({ code: code as string });
    expect(await states()).toBe('UNKNOWN UNKNOWN UNKNOWN');
    expect(await place.database.read((session) => session.tuples('select 1 from payment_answer_file'))).toEqual([]);
  });
});
