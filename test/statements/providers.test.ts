import { describe, expect, test } from '@jest/globals';
import { isCompanion, providerFormats } from '../../src/statements/providers/index.js';
import type { StatementFormat } from '../../src/statements/statement.js';
import { noSettings, readAll, rowOf, sample } from '../support/statements.js';

/**
 * Each layout of each format, read to the last field. A line is: place, kind, type, way, currency, minor units; fee and net;
 * our number / their number / others; key; balance and batch; state, instant, day.
 */
const layouts = [
  {
    file: 'wechat-all.csv',
    format: 'wechat-trade',
    head: '1900000001 - - -',
    lines: [
      '2 PAYMENT SUCCESS CREDIT CNY 12850 | fee 77 net - | ORD1 / 4200001111202611290000000001 /  | key 4200001111202611290000000001|0|SUCCESS | balance - batch - | DONE 2026-11-29T00:00:01.000000Z 2026-11-29',
      '3 PAYMENT SUCCESS CREDIT CNY 9900 | fee 59 net - | ORD2 / 4200001111202611290000000002 /  | key 4200001111202611290000000002|0|SUCCESS | balance - batch - | DONE 2026-11-29T04:30:00.000000Z 2026-11-29',
      '4 REFUND REFUND DEBIT CNY 4900 | fee -29 net - | REF2 / 50300000001 / ORD2 4200001111202611290000000002 | key 4200001111202611290000000002|50300000001|REFUND | balance - batch - | PENDING 2026-11-29T10:45:10.000000Z 2026-11-29',
      '5 REFUND REVOKED DEBIT CNY 500 | fee -3 net - | ORD3 / 50300000002 / 4200001111202611290000000003 | key 4200001111202611290000000003|50300000002|REVOKED | balance - batch - | DONE 2026-11-29T15:59:59.000000Z 2026-11-29',
    ],
    balances: [],
  },
  {
    file: 'wechat-success.csv',
    format: 'wechat-trade',
    head: '1900000001 - - -',
    lines: [
      '2 PAYMENT SUCCESS CREDIT CNY 1 | fee 0 net - | ORD11 / 4200001111202611290000000011 /  | key 4200001111202611290000000011|0|SUCCESS | balance - batch - | DONE 2026-11-29T10:46:41.000000Z 2026-11-29',
      '3 PAYMENT SUCCESS CREDIT CNY 304 | fee 2 net - | ORD12 / 4200001111202611290000000012 /  | key 4200001111202611290000000012|0|SUCCESS | balance - batch - | DONE 2026-11-29T11:00:00.000000Z 2026-11-29',
    ],
    balances: [],
  },
  {
    file: 'wechat-refund.csv',
    format: 'wechat-trade',
    head: '1900000001 - - -',
    lines: [
      '2 REFUND REFUND DEBIT CNY 202 | fee -1 net - | REF21 / 50300000021 / ORD21 4200001111202611280000000021 | key 4200001111202611280000000021|50300000021|REFUND | balance - batch - | DONE 2026-11-29T12:53:36.000000Z 2026-11-29',
    ],
    balances: [],
  },
  {
    file: 'wechat-old.csv',
    format: 'wechat-trade',
    head: '10000100 - - -',
    lines: [
      '2 PAYMENT SUCCESS CREDIT CNY 1 | fee 0 net - | 1415640626 / 1001690740201411100005734289 /  | key 1001690740201411100005734289|0|SUCCESS | balance - batch - | DONE 2014-11-10T08:33:45.000000Z 2014-11-10',
      '3 PAYMENT SUCCESS CREDIT CNY 2 | fee 0 net - | 1415635270 / 1002780740201411100005729794 /  | key 1002780740201411100005729794|0|SUCCESS | balance - batch - | DONE 2014-11-10T08:46:14.000000Z 2014-11-10',
    ],
    balances: [],
  },
  {
    file: 'wechat-fund.csv',
    format: 'wechat-fund',
    head: '- - - -',
    lines: [
      '2 PAYMENT 交易 CREDIT CNY 12850 | fee - net - | ORD1 / 4200001111202611290000000001 /  | key 4200001111202611290000000001|4200001111202611290000000001|交易|收入 | balance 112850 batch - | DONE 2026-11-29T00:00:02.000000Z 2026-11-29',
      '3 FEE 扣除交易手续费 DEBIT CNY 77 | fee - net - | ORD1 / 4200001111202611290000000001 /  | key 4200001111202611290000000001|4200001111202611290000000001|扣除交易手续费|支出 | balance 112773 batch - | DONE 2026-11-29T00:00:02.000000Z 2026-11-29',
      '4 REFUND 退款 DEBIT CNY 4900 | fee - net - | REF2 / 50300000001 / 4200001111202611290000000002 | key 4200001111202611290000000002|50300000001|退款|支出 | balance 107873 batch - | DONE 2026-11-29T10:45:12.000000Z 2026-11-29',
      '5 PAYOUT 企业付款 DEBIT CNY 30000 | fee - net - | PAY-7 / 1000200030004 /  | key 1000200030004|1000200030004|企业付款|支出 | balance 77873 batch - | DONE 2026-11-29T12:00:00.000000Z 2026-11-29',
      '6 TRANSFER 提现 DEBIT CNY 70000 | fee - net - | - / 1000200030005 /  | key 1000200030005|1000200030005|提现|支出 | balance 7873 batch - | DONE 2026-11-29T14:00:00.000000Z 2026-11-29',
    ],
    balances: ['OPENING CNY 100000', 'CLOSING CNY 7873'],
  },
  {
    file: 'alipay-trade.csv',
    format: 'alipay-trade',
    head: '20880211096250000156 - 2026-11-29 2026-11-29',
    lines: [
      '6 PAYMENT 交易 CREDIT CNY 9500 | fee 57 net - | ORD31 / 2026112922001458860515315453 /  | key 2026112922001458860515315453|交易| | balance - batch - | DONE 2026-11-29T02:55:23.000000Z 2026-11-29',
      '7 PAYMENT 交易 CREDIT CNY 1000 | fee 6 net - | ORD32 / 2026112922001458860515315454 /  | key 2026112922001458860515315454|交易| | balance - batch - | DONE 2026-11-29T03:00:09.000000Z 2026-11-29',
      '8 REFUND 退款 DEBIT CNY 2000 | fee -12 net - | re_31_1 / 2026112922001458860515315453 / ORD31 | key 2026112922001458860515315453|退款|re_31_1 | balance - batch - | DONE 2026-11-29T04:56:48.000000Z 2026-11-29',
    ],
    balances: [],
  },
  {
    file: 'alipay-account.csv',
    format: 'alipay-account',
    head: '20880211096250000156 - 2026-11-29 2026-11-29',
    lines: [
      '6 TRANSFER 提现 DEBIT CNY 50000 | fee - net - | - / 2026112900004004 / 70001004 | key 70001004 | balance 60410 batch - | DONE 2026-11-29T15:00:00.000000Z 2026-11-29',
      '7 REFUND 交易退款 DEBIT CNY 2000 | fee - net - | ORD31 / 2026112922001458860515315453 / 70001003 | key 70001003 | balance 110410 batch - | DONE 2026-11-29T04:56:48.000000Z 2026-11-29',
      '8 FEE 收费 DEBIT CNY 57 | fee - net - | ORD31 / 2026112922001458860515315453 / 70001002 | key 70001002 | balance 112410 batch - | DONE 2026-11-29T02:55:24.000000Z 2026-11-29',
      '9 PAYMENT 在线支付 CREDIT CNY 9500 | fee - net - | ORD31 / 2026112922001458860515315453 / 70001001 | key 70001001 | balance 112467 batch - | DONE 2026-11-29T02:55:23.000000Z 2026-11-29',
    ],
    balances: ['OPENING CNY 102967', 'CLOSING CNY 60410'],
  },
  {
    file: 'alipay-account-old.csv',
    format: 'alipay-account',
    head: '20880211096250000156 - 2012-12-29 2012-12-29',
    lines: [
      '6 PAYMENT 在线支付 CREDIT CNY 227400 | fee - net - | 3226563 / 2012122923922029 / 54632446537371 | key 54632446537371 | balance 1453303 batch - | DONE 2012-12-29T13:02:06.000000Z 2012-12-29',
      '7 PAYOUT 转账 DEBIT CNY 39300 | fee - net - | 3226533 / 2012122948927762 / 54629090595411 | key 54629090595411 | balance 1225903 batch - | DONE 2012-12-29T12:31:32.000000Z 2012-12-29',
    ],
    balances: ['OPENING CNY 1265203', 'CLOSING CNY 1453303'],
  },
  {
    file: 'stripe-payout.csv',
    format: 'stripe-payout-reconciliation',
    head: '- - - -',
    lines: [
      '2 PAYMENT charge CREDIT GBP 4599 | fee 89 net 4510 | ORD41 / ch_1 / pi_1 txn_1 | key txn_1 | balance - batch po_1 | DONE 2026-11-27T23:22:31.000000Z 2026-11-28',
      '3 REFUND refund DEBIT GBP 500 | fee 0 net -500 | ORD41 / re_1 / ch_1 pi_1 txn_2 | key txn_2 | balance - batch po_1 | DONE 2026-11-28T12:00:00.000000Z 2026-11-28',
      '4 DISPUTE dispute DEBIT GBP 2000 | fee 1500 net -3500 | ORD40 / dp_1 / ch_2 pi_2 txn_3 | key txn_3 | balance - batch po_1 | DONE 2026-11-28T13:00:00.000000Z 2026-11-28',
      '5 DISPUTE dispute_reversal CREDIT GBP 2000 | fee 0 net 2000 | - / dp_0 / ch_0 pi_0 txn_4 | key txn_4 | balance - batch po_1 | DONE 2026-11-28T14:00:00.000000Z 2026-11-28',
      '6 FEE fee DEBIT GBP 60 | fee 0 net -60 | - / fee_1 / txn_5 | key txn_5 | balance - batch po_1 | DONE 2026-11-28T15:00:00.000000Z 2026-11-28',
      '7 TRANSFER payout DEBIT GBP 2450 | fee 0 net -2450 | - / po_1 / txn_6 | key txn_6 | balance - batch po_1 | DONE 2026-11-30T00:00:00.000000Z 2026-11-30',
    ],
    balances: [],
  },
  {
    file: 'stripe-activity.csv',
    format: 'stripe-balance-activity',
    head: '- - - -',
    lines: [
      '2 PAYMENT charge CREDIT JPY 1200 | fee 43 net 1157 | - / ch_11 / txn_11 | key txn_11 | balance - batch - | DONE 2026-11-29T10:00:00.000000Z 2026-11-29',
      '3 PAYOUT transfer DEBIT JPY 1000 | fee 0 net -1000 | settle-2026-11-29-A1-JPY / tr_12 / txn_12 | key txn_12 | balance - batch - | DONE 2026-11-29T11:00:00.000000Z 2026-11-29',
      '4 PAYMENT charge CREDIT KWD 1500 | fee 55 net 1445 | - / ch_13 / txn_13 | key txn_13 | balance - batch - | DONE 2026-11-29T12:00:00.000000Z 2026-11-29',
    ],
    balances: [],
  },
  {
    file: 'paypal-stl.csv',
    format: 'paypal-stl',
    head: 'MERCHANT01 - 2026-11-29 2026-11-29',
    lines: [
      '5 PAYMENT T0006 CREDIT AUD 5200 | fee 225 net - | ORD51 / 5TY05013RG002845M / 4H84400000000001A | key 5TY05013RG002845M|T0006|AUD|CR|2026-11-29T08:00:30.000000Z | balance - batch - | DONE 2026-11-29T08:00:30.000000Z 2026-11-29',
      '6 REFUND T1107 DEBIT AUD 1000 | fee -45 net - | ORD51 / 7XY05013RG002846N / 5TY05013RG002845M | key 7XY05013RG002846N|T1107|AUD|DR|2026-11-29T18:00:00.000000Z | balance - batch - | DONE 2026-11-29T18:00:00.000000Z 2026-11-29',
      '7 TRANSFER T0400 DEBIT AUD 4000 | fee 0 net - | - / 8AB05013RG002847P /  | key 8AB05013RG002847P|T0400|AUD|DR|2026-11-30T04:00:00.000000Z | balance - batch - | DONE 2026-11-30T04:00:00.000000Z 2026-11-29',
      '8 PAYOUT T0001 DEBIT JPY 10000 | fee 50 net - | PAY-8 / 9CD05013RG002848Q / 5TY05013RG002845M | key 9CD05013RG002848Q|T0001|JPY|DR|2026-11-30T05:00:01.000000Z | balance - batch - | DONE 2026-11-30T05:00:01.000000Z 2026-11-29',
    ],
    balances: ['OPENING AUD 900', 'CLOSING AUD 920', 'OPENING JPY 50', 'CLOSING JPY -10000'],
  },
  {
    file: 'paypal-stl-utf16.txt',
    format: 'paypal-stl',
    head: 'MERCHANT01 - 2026-11-29 2026-11-29',
    lines: [
      '5 PAYMENT T0006 CREDIT AUD 5200 | fee 225 net - | ORD51 / 5TY05013RG002845M / 4H84400000000001A | key 5TY05013RG002845M|T0006|AUD|CR|2026-11-29T08:00:30.000000Z | balance - batch - | DONE 2026-11-29T08:00:30.000000Z 2026-11-29',
      '6 REFUND T1107 DEBIT AUD 1000 | fee -45 net - | ORD51 / 7XY05013RG002846N / 5TY05013RG002845M | key 7XY05013RG002846N|T1107|AUD|DR|2026-11-29T18:00:00.000000Z | balance - batch - | DONE 2026-11-29T18:00:00.000000Z 2026-11-29',
      '7 TRANSFER T0400 DEBIT AUD 4000 | fee 0 net - | - / 8AB05013RG002847P /  | key 8AB05013RG002847P|T0400|AUD|DR|2026-11-30T04:00:00.000000Z | balance - batch - | DONE 2026-11-30T04:00:00.000000Z 2026-11-29',
      '8 PAYOUT T0001 DEBIT JPY 10000 | fee 50 net - | PAY-8 / 9CD05013RG002848Q / 5TY05013RG002845M | key 9CD05013RG002848Q|T0001|JPY|DR|2026-11-30T05:00:01.000000Z | balance - batch - | DONE 2026-11-30T05:00:01.000000Z 2026-11-29',
    ],
    balances: ['OPENING AUD 900', 'CLOSING AUD 920', 'OPENING JPY 50', 'CLOSING JPY -10000'],
  },
  {
    file: 'paypal-trr.csv',
    format: 'paypal-trr',
    head: 'MERCHANT01 - 2026-11-29 2026-11-29',
    lines: [
      '5 PAYMENT T0006 CREDIT EUR 10000 | fee 285 net - | ORD61 / 1AA05013RG002845M /  | key 1AA05013RG002845M|T0006|EUR|CR|2026-11-28T23:00:30.000000Z | balance - batch - | DONE 2026-11-28T23:00:30.000000Z 2026-11-29',
      '7 DISPUTE T1110 DEBIT EUR 10000 | fee 0 net - | ORD61 / 3CC05013RG002845M / 1AA05013RG002845M | key 3CC05013RG002845M|T1110|EUR|DR|2026-11-29T01:00:00.000000Z | balance - batch - | DONE 2026-11-29T01:00:00.000000Z 2026-11-29',
    ],
    balances: [],
  },
  {
    file: 'adyen.csv',
    format: 'adyen-settlement-detail',
    head: 'Shop 134 - -',
    lines: [
      '2 PAYMENT Settled CREDIT EUR 4599 | fee 89 net 4510 | ORD71 / 8815000000000001 / 8825000000000001 | key Settled|8815000000000001|8825000000000001|134 | balance - batch 134 | DONE 2026-11-27T09:22:31.000000Z 2026-11-27',
      '3 PAYMENT Settled CREDIT EUR 10000 | fee 100 net 9900 | ORD72 / 8815000000000002 / 8825000000000002 | key Settled|8815000000000002|8825000000000002|134 | balance - batch 134 | DONE 2026-11-27T10:00:00.000000Z 2026-11-27',
      '4 PAYMENT Settled CREDIT EUR 4569 | fee 20 net 4549 | ORD73 / 8815000000000003 / 8825000000000003 | key Settled|8815000000000003|8825000000000003|134 | balance - batch 134 | DONE 2026-11-27T11:00:00.000000Z 2026-11-27',
      '5 REFUND Refunded DEBIT EUR 500 | fee 10 net -510 | REF71 / 8835000000000001 / ORD71 8815000000000001 | key Refunded|8815000000000001|8835000000000001|134 | balance - batch 134 | DONE 2026-11-28T11:00:00.000000Z 2026-11-28',
      '6 DISPUTE Chargeback DEBIT EUR 2000 | fee 1500 net -3500 | ORD70 / 8845000000000001 / 8815000000000000 | key Chargeback|8815000000000000|8845000000000001|134 | balance - batch 134 | DONE 2026-11-28T12:00:00.000000Z 2026-11-28',
      '7 FEE Fee DEBIT EUR 1001 | fee 0 net -1001 | - / Transaction Fees November 2026 /  | key - | balance - batch 134 | DONE 2026-11-29T00:00:00.000000Z 2026-11-29',
      '8 TRANSFER Balancetransfer DEBIT EUR 3948 | fee 0 net -3948 | - / Balance to next batch /  | key - | balance - batch 134 | DONE 2026-11-29T01:00:00.000000Z 2026-11-29',
      '9 TRANSFER MerchantPayout DEBIT EUR 10000 | fee 0 net -10000 | - / TX00000000001XT batch 134, Shop /  | key - | balance - batch 134 | DONE 2026-11-29T02:00:00.000000Z 2026-11-29',
    ],
    balances: [],
  },
  {
    file: 'square.csv',
    format: 'square-transactions',
    head: '- - - -',
    lines: [
      '2 PAYMENT Payment CREDIT USD 127000 | fee 3312 net 123688 | ORD81 / PM1 / TX1 | key TX1|PM1|Payment | balance - batch DEP1 | DONE 2026-11-29T04:50:48.000000Z 2026-11-28',
      '4 PAYMENT Payment CREDIT USD 5000 | fee 140 net 4860 | - / PM3 / TX3 | key TX3|PM3|Payment | balance - batch DEP1 | DONE 2026-11-29T05:05:00.000000Z 2026-11-29',
      '5 REFUND Refund DEBIT USD 5000 | fee -130 net -4870 | - / PM4 / TX4 | key TX4|PM4|Refund | balance - batch DEP1 | DONE 2026-11-29T22:00:00.000000Z 2026-11-29',
    ],
    balances: [],
  },
];

const settings = { ...noSettings, currency: 'USD' };

function formatOf(name: string): StatementFormat {
  const found = providerFormats.find((format) => format.name === name);
  if (found === undefined) throw new Error(`No format ${name}`);
  return found;
}

describe.each(layouts)('$file', ({ file, format, head, lines, balances }) => {
  test('is claimed by its format and by no other', () => {
    const bytes = sample(file);
    expect(providerFormats.filter((one) => one.sniff(bytes)).map(({ name }) => name)).toEqual([format]);
    expect(isCompanion(bytes)).toBe(false);
  });

  test('is read exactly, and proves itself', async () => {
    const reading = await readAll(formatOf(format), sample(file), settings);
    expect(reading.lines.map(rowOf)).toEqual(lines);
    expect(reading.balances.map(({ kind, currency, minor }) => `${kind} ${currency} ${String(minor)}`)).toEqual(
      balances,
    );
    expect(reading.problems).toEqual([]);
    const heads = reading.heads.map(({ accountRef, sequence, fromDay, toDay }) =>
      [accountRef ?? '-', sequence === null ? '-' : String(sequence.number), fromDay ?? '-', toDay ?? '-'].join(' '),
    );
    expect(heads).toEqual([head]);
  });

  test.each([1, 2, 3, 64])('says the same in chunks of %d bytes', async (chunk) => {
    const reading = await readAll(formatOf(format), sample(file), settings, chunk);
    expect(reading.lines.map(rowOf)).toEqual(lines);
  });
});

test('every format has a layout here, and names of its own', () => {
  const names = providerFormats.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => name !== 'csv').sort()).toEqual(
    [...new Set(layouts.map(({ format }) => format))].sort(),
  );
});

test('the summary that Alipay puts beside a bill is known, and is no bill', () => {
  const bytes = sample('alipay-trade-summary.csv');
  expect(isCompanion(bytes)).toBe(true);
  expect(providerFormats.filter((one) => one.sniff(bytes))).toEqual([]);
});

test('an empty day of WeChat is a bill with nothing in it', async () => {
  const [header = ''] = sample('wechat-all.csv').toString().split('\n');
  const bill = `${header}\n总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\n\`0,\`0.00,\`0.00,\`0.00,\`0.00000,\`0.00,\`0.00\n`;
  const reading = await readAll(formatOf('wechat-trade'), bill);
  expect(reading).toMatchObject({ lines: [], problems: [], closes: 1 });
});

test('a settlement report without a transaction has no columns, and is known by its balances', async () => {
  const report = [
    '"RH",2026/11/30 17:41:54 +0400,"R","MERCHANT01",009,',
    '"FH",01',
    '"SH",2026/11/29 00:00:00 +0400,2026/11/29 23:59:59 +0400,"MERCHANT01",""',
    '"SF","USD",0,0,0,0,"CR",7,"CR",7,"CR",0,"CR",0,"CR",0,"CR",0,0',
    '"SC",0',
    '"RC",0',
    '"FF",0',
    '',
  ].join('\n');
  expect(providerFormats.filter((one) => one.sniff(Buffer.from(report))).map(({ name }) => name)).toEqual([
    'paypal-stl',
  ]);
  const reading = await readAll(formatOf('paypal-stl'), report);
  expect(reading.balances.map(({ minor }) => minor)).toEqual([7n, 7n]);
});
