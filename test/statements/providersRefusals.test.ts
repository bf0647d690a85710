import { describe, expect, test } from '@jest/globals';
import { providerFormats } from '../../src/statements/providers/index.js';
import type { StatementFormat } from '../../src/statements/statement.js';
import { noSettings, readAll, refusalOf, refusedAt, sample } from '../support/statements.js';

const settings = { ...noSettings, currency: 'USD' };

function formatOf(name: string): StatementFormat {
  const found = providerFormats.find((format) => format.name === name);
  if (found === undefined) throw new Error(`No format ${name}`);
  return found;
}

/** A sample with one thing changed, which must be there once. */
function changed(file: string, from: string, to: string): string {
  const isChinese = file.startsWith('alipay');
  const text = isChinese ? new TextDecoder('gb18030').decode(sample(file)) : sample(file).toString();
  if (text.split(from).length !== 2) throw new Error(`${file} has ${JSON.stringify(from)} not once.`);
  return text.replace(from, () => to);
}

/** What stands at a place; null where only the file is named. */
function textAt(text: string, line: number | null, column: number | null): string | null {
  if (line === null) return null;
  return (
    text
      .split('\n')
      [line - 1]?.slice((column ?? 1) - 1)
      .replace(/\r$/, '') ?? null
  );
}

describe('a file that cannot be read for certain is refused with its place', () => {
  test.each([
    // What was cut off or does not belong there.
    ['wechat-trade', 'wechat-all.csv', '\n总交易单数', '\n`总交易单数', 'BAD_FIELD_COUNT', '`总交易单数'],
    ['wechat-trade', 'wechat-all.csv', '`229.00,`54.00\n', '`229.00', 'BAD_FIELD_COUNT', '`4,`227.50'],
    ['wechat-trade', 'wechat-all.csv', '`229.00,`54.00\n', '`229.00,`54.00\n`1\n', 'BAD_RECORD', '`1'],
    ['wechat-trade', 'wechat-all.csv', '交易状态,', '', 'MISSING_COLUMN', '交易时间'],
    ['wechat-trade', 'wechat-all.csv', '设备号,', '商户号,', 'DUPLICATE_COLUMN', '商户号,微信订单号'],
    [
      'wechat-trade',
      'wechat-all.csv',
      '\n`2026-11-29 12:30:00',
      '\n2026-11-29 12:30:00',
      'BAD_RECORD',
      '2026-11-29 12:30',
    ],
    ['wechat-fund', 'wechat-fund.csv', '资金流水总笔数', '`资金流水总笔数', 'BAD_FIELD_COUNT', '`资金流水总笔数'],
    ['alipay-trade', 'alipay-trade.csv', '#导出时间：[2026年11月30日 05:46:49]\r\n', '', 'TRUNCATED', '#退款合计'],
    ['alipay-trade', 'alipay-trade.csv', '05:46:49]\r\n', '05:46', 'TRUNCATED', '#导出时间'],
    [
      'alipay-trade',
      'alipay-trade.csv',
      '#退款合计：1笔，商家实收退款共-20.00元，商家优惠退款共0.00元\r\n',
      '',
      'TRUNCATED',
      '#导出时间',
    ],
    [
      'alipay-trade',
      'alipay-trade.csv',
      '#支付宝业务明细查询',
      '#支付宝交易记录明细查询',
      'NOT_A_STATEMENT',
      '#支付宝交易记录',
    ],
    ['paypal-stl', 'paypal-stl.csv', '"FF",4\r\n', '', 'TRUNCATED', '"RC"'],
    ['paypal-stl', 'paypal-stl.csv', '"SC",4\r\n', '', 'BAD_RECORD', '"RF","AUD"'],
    [
      'stripe-payout-reconciliation',
      'stripe-payout.csv',
      'STRIPE PAYOUT,,,\n',
      'STRIPE PAYOUT,,,',
      'TRUNCATED',
      'po_1,2026-11-30',
    ],
    [
      'stripe-payout-reconciliation',
      'stripe-payout.csv',
      'STRIPE PAYOUT,,,\n',
      'STRIPE PAYOUT,\n',
      'BAD_FIELD_COUNT',
      'po_1,2026-11-30',
    ],
    ['adyen-settlement-detail', 'adyen.csv', ',Batch Number', ',Batch', 'MISSING_COLUMN', 'Company Account'],
    // Amounts: one grammar, no guess.
    ['wechat-trade', 'wechat-all.csv', '`128.50', '`128,50', 'BAD_AMOUNT', '128,50'],
    ['wechat-trade', 'wechat-all.csv', '`128.50', '`1.2850E+2', 'BAD_AMOUNT', '1.2850E+2'],
    ['wechat-trade', 'wechat-all.csv', '`128.50', '`1e308', 'BAD_AMOUNT', '1e308'],
    ['wechat-trade', 'wechat-all.csv', '`128.50', '`', 'BAD_AMOUNT', ',`0.00,`0,`0'],
    ['wechat-trade', 'wechat-all.csv', '`128.50', '`128.505', 'TOO_MANY_DECIMALS', '128.505'],
    ['wechat-trade', 'wechat-all.csv', '`128.50', '`128500000000000000000.00', 'AMOUNT_OUT_OF_RANGE', '1285000000'],
    ['wechat-trade', 'wechat-all.csv', '`128.50', '`-128.50', 'BAD_DIRECTION', 'SUCCESS'],
    ['alipay-trade', 'alipay-trade.csv', '-20.00,-20.00', '-20.00,20.00', 'BAD_DIRECTION', '20.00,0.00'],
    ['alipay-account', 'alipay-account.csv', '95.00,,1124.67', '95.00,95.00,1124.67', 'BAD_DIRECTION', '95.00,95.00'],
    ['stripe-payout-reconciliation', 'stripe-payout.csv', '45.99,0.89', '45.999,0.89', 'TOO_MANY_DECIMALS', '45.999'],
    ['stripe-balance-activity', 'stripe-activity.csv', '"1200"', '"1200.5"', 'TOO_MANY_DECIMALS', '"1200.5"'],
    ['stripe-balance-activity', 'stripe-activity.csv', '"1200"', '"1,200"', 'BAD_AMOUNT', '"1,200"'],
    ['paypal-stl', 'paypal-stl.csv', '"CR",5200,"AUD","DR"', '"CR",52.00,"AUD","DR"', 'BAD_AMOUNT', '52.00,"AUD"'],
    ['square-transactions', 'square.csv', '"$1,236.88"', '"$12,36.88"', 'BAD_AMOUNT', '"$12,36.88"'],
    // Words, currencies, times.
    ['wechat-trade', 'wechat-all.csv', '`REVOKED', '`CLOSED', 'UNKNOWN_TYPE', 'CLOSED'],
    ['wechat-trade', 'wechat-all.csv', '`PROCESSING', '`DONE', 'UNKNOWN_TYPE', 'DONE'],
    ['wechat-trade', 'wechat-all.csv', 'CMB_DEBIT,`CNY', 'CMB_DEBIT,`YUAN', 'UNKNOWN_CURRENCY', 'YUAN'],
    ['wechat-trade', 'wechat-all.csv', '`2026-11-29 08:00:01', '`2026-11-31 08:00:01', 'BAD_TIME', '2026-11-31'],
    ['wechat-trade', 'wechat-all.csv', '`2026-11-29 08:00:01', '`29/11/2026 08:00', 'BAD_TIME', '29/11/2026'],
    ['wechat-fund', 'wechat-fund.csv', '`收入,`128.50', '`其他,`128.50', 'BAD_DIRECTION', '其他'],
    ['stripe-payout-reconciliation', 'stripe-payout.csv', 'gbp,45.99', 'zzz,45.99', 'UNKNOWN_CURRENCY', 'zzz'],
    ['paypal-stl', 'paypal-stl.csv', '"T1107"', '"refund"', 'UNKNOWN_TYPE', '"refund"'],
    ['paypal-stl', 'paypal-stl.csv', '"DR",1000,', '"",1000,', 'BAD_DIRECTION', '"",1000'],
    ['paypal-trr', 'paypal-trr.csv', '"P",0', '"Q",0', 'UNKNOWN_TYPE', '"Q"'],
    [
      'adyen-settlement-detail',
      'adyen.csv',
      '2026-11-27 10:22:31,CET,Settled',
      '2026-11-27 10:22:31,CST,Settled',
      'BAD_TIME',
      'CST,Settled',
    ],
    ['square-transactions', 'square.csv', 'Pending', 'Perhaps', 'UNKNOWN_TYPE', 'Perhaps'],
    [
      'square-transactions',
      'square.csv',
      '2026-11-28,23:50:48,Eastern Time (US & Canada)',
      '28/11/2026,23:50:48,London',
      'BAD_DATE',
      '28/11/2026',
    ],
    // What a spreadsheet does to long numbers.
    ['wechat-trade', 'wechat-all.csv', '4200001111202611290000000001', '4.2E+27', 'MANGLED_ID', '4.2E+27'],
    ['alipay-trade', 'alipay-trade.csv', '2026112922001458860515315454\t', '2.02611E+27', 'MANGLED_ID', '2.02611E+27'],
    ['stripe-payout-reconciliation', 'stripe-payout.csv', ',ch_1,"Order', ',#REF!,"Order', 'MANGLED_ID', '#REF!'],
    ['square-transactions', 'square.csv', ',TX1,', ',"=HYPERLINK(""x"")",', 'MANGLED_ID', '"=HYPERLINK'],
    // Quotes.
    [
      'stripe-payout-reconciliation',
      'stripe-payout.csv',
      '"Order 1, blue"',
      '"Order 1, blue',
      'BROKEN_QUOTE',
      '"Order 1, blue,',
    ],
    [
      'stripe-payout-reconciliation',
      'stripe-payout.csv',
      '"Order 1, blue"',
      '"Order 1", blue',
      'BAD_FIELD_COUNT',
      'po_1,2026-11-30',
    ],
    [
      'stripe-payout-reconciliation',
      'stripe-payout.csv',
      '"Order 1, blue"',
      '"Order 1" blue',
      'BROKEN_QUOTE',
      ' blue,',
    ],
    ['stripe-payout-reconciliation', 'stripe-payout.csv', '"Order 1, blue"', 'Order "1"', 'BROKEN_QUOTE', '"1"'],
    ['stripe-payout-reconciliation', 'stripe-payout.csv', 'Radar', 'Ra\rdar', 'BAD_RECORD', '\rdar'],
  ])('%s: %s with %j as %j: %s at %j', async (format, file, from, to, code, at) => {
    const text = changed(file, from, to);
    const refusal = await refusalOf(formatOf(format), text, settings);
    expect(refusal?.code).toBe(code);
    expect(textAt(text, refusal?.line ?? null, refusal?.column ?? null)?.slice(0, at.length)).toBe(at);
  });

  test.each([
    ['<html><body>502 Bad Gateway</body></html>'],
    ['<!DOCTYPE html>\n<html>'],
    ['<xml><return_code><![CDATA[FAIL]]></return_code><return_msg><![CDATA[No Bill Exist]]></return_msg></xml>'],
    ['{"code":"NO_STATEMENT_EXIST","message":"账单文件不存在"}'],
    ['[{"error":"x"}]'],
  ])('an error page in place of a table: %s', async (page) => {
    expect(providerFormats.filter(({ sniff }) => sniff(Buffer.from(page)))).toEqual([]);
    for (const name of [
      'wechat-trade',
      'wechat-fund',
      'alipay-trade',
      'stripe-balance-activity',
      'adyen-settlement-detail',
    ]) {
      const refusal = await refusalOf(formatOf(name), page);
      expect(refusal?.code).toBe('NOT_A_STATEMENT');
      expect(refusal?.message).toContain(page.split('\n')[0]?.slice(0, 20));
    }
  });

  test.each(providerFormats.filter(({ name }) => name !== 'csv').map(({ name }) => [name] as const))(
    '%s: an empty file, NUL bytes and a cell of 5 MB',
    async (name) => {
      const format = formatOf(name);
      expect(await refusedAt(format, '', settings)).toBe('EMPTY_FILE null:null');
      expect((await refusalOf(format, Buffer.alloc(4096), settings))?.code).toBe('BAD_ENCODING');
      const huge = `RH,${'x'.repeat(5 * 1024 * 1024)}`;
      expect((await refusalOf(format, huge, settings, 65_536))?.code).toBe('RECORD_TOO_LONG');
    },
  );

  test('bytes that are not of the encoding, with line and column', async () => {
    const latin = Buffer.from(sample('stripe-payout.csv').toString().replace('Radar', 'Gebühr'), 'latin1');
    const column = 4 + (sample('stripe-payout.csv').toString().split('\n')[5] ?? '').indexOf('Radar');
    expect(await refusedAt(formatOf('stripe-payout-reconciliation'), latin)).toBe(`BAD_ENCODING 6:${String(column)}`);
    const replaced = sample('stripe-payout.csv').toString().replace('Radar', 'Geb\uFFFDhr');
    expect(await refusedAt(formatOf('stripe-payout-reconciliation'), replaced)).toBe(
      `BAD_ENCODING 6:${String(column)}`,
    );
    const chinese = Buffer.concat([sample('alipay-trade.csv').subarray(0, 700), Buffer.from([0xff, 0xff])]);
    expect((await refusalOf(formatOf('alipay-trade'), chinese))?.code).toBe('BAD_ENCODING');
    const noMark = sample('paypal-stl-utf16.txt').subarray(2);
    expect((await refusalOf(formatOf('paypal-stl'), noMark))?.message).toContain('UTF-16');
  });

  test('a number that says only "$" needs the currency of the settings', async () => {
    const refusal = await refusalOf(formatOf('square-transactions'), sample('square.csv'));
    expect(refusal?.code).toBe('UNKNOWN_CURRENCY');
    expect(textAt(sample('square.csv').toString(), 2, refusal?.column ?? null)?.slice(0, 11)).toBe('"$1,270.00"');
  });
});

describe('a file that can be read and contradicts itself is read, and says so', () => {
  test.each([
    ['wechat-trade', 'wechat-all.csv', '`4,`227.50', '`5,`227.50', ['COUNT_DIFFERS: 5,`227.50,']],
    ['wechat-trade', 'wechat-all.csv', '`227.50', '`227.49', ['TOTAL_DIFFERS: 227.49,`54']],
    ['wechat-trade', 'wechat-all.csv', '`0.77000', '`0.78000', ['TOTAL_DIFFERS: 1.04000,`2']],
    [
      'wechat-fund',
      'wechat-fund.csv',
      '`1127.73',
      '`1127.74',
      ['BALANCE_DIFFERS: 1127.74,`s', 'BALANCE_DIFFERS: 1078.73,`1'],
    ],
    ['wechat-fund', 'wechat-fund.csv', '`4.0', '`3.0', ['COUNT_DIFFERS: 3.0,`1049.']],
    ['alipay-trade', 'alipay-trade.csv', '共105.00元', '共105.01元', ['TOTAL_DIFFERS: -']],
    ['alipay-trade', 'alipay-trade.csv', '退款合计：1笔', '退款合计：2笔', ['COUNT_DIFFERS: -']],
    [
      'alipay-account',
      'alipay-account.csv',
      ',1124.10,',
      ',1124.11,',
      ['BALANCE_DIFFERS: 1124.11,支付', 'BALANCE_DIFFERS: 1124.67,支付'],
    ],
    ['alipay-account', 'alipay-account.csv', '共520.57元', '共520.58元', ['TOTAL_DIFFERS: -']],
    ['stripe-payout-reconciliation', 'stripe-payout.csv', '-20.00,15.00', '-20.00,15.01', ['NET_DIFFERS: -35.00,dis']],
    [
      'stripe-payout-reconciliation',
      'stripe-payout.csv',
      '-24.50,0.00,-24.50',
      '-24.00,0.00,-24.00',
      ['BALANCE_DIFFERS: -'],
    ],
    ['paypal-stl', 'paypal-stl.csv', '"SC",4', '"SC",5', ['COUNT_DIFFERS: 5']],
    [
      'paypal-stl',
      'paypal-stl.csv',
      '"SF","JPY",0,10000,0,50',
      '"SF","JPY",0,10000,0,51',
      ['TOTAL_DIFFERS: "SF","JPY"', 'TOTAL_DIFFERS: "RF","JPY"'],
    ],
    [
      'paypal-stl',
      'paypal-stl.csv',
      '"SF","AUD",5200,5000,45,225,"CR",900',
      '"SF","AUD",5200,5000,45,225,"CR",901',
      ['BALANCE_DIFFERS: "SF","AUD"'],
    ],
    [
      'adyen-settlement-detail',
      'adyen.csv',
      'Balance to next batch,,,,,EUR,39.48',
      'Balance to next batch,,,,,EUR,39.47',
      ['BALANCE_DIFFERS: -'],
    ],
    ['adyen-settlement-detail', 'adyen.csv', ',0.89\n', ',0.9\n', ['FEE_DIFFERS: 0.9']],
    ['adyen-settlement-detail', 'adyen.csv', '0.9137', '0.9237', ['NET_DIFFERS: 0.9237,EUR']],
    ['adyen-settlement-detail', 'adyen.csv', ',45.99,1,', ',46.99,1,', ['NET_DIFFERS: EUR,,45.1,']],
    ['square-transactions', 'square.csv', '"$1,236.88"', '"$1,236.89"', ['NET_DIFFERS: "$1,236.89']],
    [
      'square-transactions',
      'square.csv',
      '$50.00,Tapped,$20.00',
      '$50.00,Tapped,$10.00',
      ['TOTAL_DIFFERS: $70.00,Poi'],
    ],
  ])('%s: %s with %j as %j', async (format, file, from, to, expected) => {
    const text = changed(file, from, to);
    const reading = await readAll(formatOf(format), text, settings);
    const found = reading.problems.map(
      ({ code, line, column }) => `${code}: ${textAt(text, line, column)?.slice(0, 10) ?? '-'}`,
    );
    expect(found).toEqual(expected);
    expect(reading.lines.length).toBeGreaterThan(0);
  });
});
