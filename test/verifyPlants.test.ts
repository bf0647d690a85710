import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../src/db/transaction.js';
import { reconcileDay } from '../src/reconciliation/reconcile.js';
import { verifyBooks } from '../src/reconciliation/verify.js';
import { onEachDatabase } from './support/databases.js';
import { withoutTriggers } from './support/plants.js';
import { emptyBooks, smallDays, writeBooks } from './support/books.js';

// One single change at a time in every money table, such as a bug, a crash or a hand on the database would leave behind.
// `settle verify` (or `settle reconcile`, where it says so) must name the check and the row.

type Plant = [what: string, statements: string | string[], check: string, key: string, by?: 'reconcile'];

const day = `batch_day = '2026-11-29'`;
const order = (set: string, id = 1020): string => `update settlement_order set ${set} where id = ${String(id)}`;
const net = (set: string): string => `update net set ${set} where biz_no = 'S7.1.2'`;
const chunk = (set: string): string => `update chunk set ${set} where run_id = 7 and chunk_no = 1`;
const outbox = (set: string): string => `update outbox set ${set} where biz_no = 'S7.1.2'`;
const payload = (from: string, to: string): string => outbox(`payload = replace(payload, '${from}', '${to}')`);
const journal = (set: string): string => `update journal_entry set ${set} where id = 502`;
const leg = (set: string, which: string, id = 502): string =>
  `update ledger_entry set ${set} where journal_entry_id = ${String(id)} and ${which}`;
const source = (set: string): string =>
  `update source_total set ${set} where ${day} and currency = 'USD' and type = 'PAYMENT'`;

const claimed = `state = 'SUCCESS', version = 2, run_id = 7, chunk_no = 1, finished_at = '2026-11-30'`;
const unclaimed = `state = 'INIT', version = 0, run_id = null, chunk_no = null, finished_at = null, cancel_code = null`;
const credit = `ledger_account = 'MERCHANT_PAYABLE' and side = 'CREDIT'`;
const cardDebit = `ledger_account = 'CHANNEL_RECEIVABLE' and sub_account = 'CARD' and side = 'DEBIT'`;

/** Copies a row, with some columns replaced by other SQL. */
const copy = (table: string, columns: string, where: string, changes: Record<string, string>): string => {
  const selected = columns.split(' ').map((column) => changes[column] ?? column);
  return `insert into ${table} (${columns.replaceAll(' ', ', ')}) select ${selected.join(', ')} from ${table} where ${where}`;
};
const orderColumns =
  'id order_no account_no batch_day type amount_minor currency channel occurred_at state version run_id chunk_no finished_at cancel_code';
const netColumns = 'run_id chunk_no net_no account_no currency orders amount_minor biz_no';
const chunkColumns = 'run_id chunk_no batch_day lane first_id last_id orders nets committed_at';
const outboxColumns = 'id topic biz_no batch_day account_no orders payload state created_at sent_at';
const journalColumns = 'id biz_no type batch_day booking_day ledger_entries posted_at';
const legColumns = 'journal_entry_id line_no ledger_account sub_account side amount_minor currency';

const orders: Plant[] = [
  ['an order one unit larger', order('amount_minor = amount_minor + 1'), 'net', '7/1/2'],
  ['an order one unit smaller', order('amount_minor = amount_minor - 1'), 'net', '7/1/2'],
  ['an order of 2^63 - 1 one unit smaller', order('amount_minor = amount_minor - 1', 1160), 'net', '7/2/4'],
  ['a zero order that is worth one unit', order('amount_minor = 1', 1110), 'net', '7/2/3'],
  ['a negative adjustment that is positive', order('amount_minor = 30', 1080), 'net', '7/1/3'],
  ['a payment that became a fee', order(`type = 'FEE'`), 'net', '7/1/2'],
  ['a payment that became an adjustment', order(`type = 'ADJUSTMENT'`), 'payload', 'S7.1.2'],
  ['an order of another currency', order(`currency = 'JPY'`), 'net', '7/1/2'],
  ['an order of another account', order(`account_no = 'M2'`), 'net', '7/1/3'],
  ['an order of an account without a net', order(`account_no = 'M8'`), 'net', '1020'],
  ['an order of another channel', order(`channel = 'WALLET'`), 'payload', 'S7.1.2'],
  [
    'a posted order that is PROCESSING again',
    order(`state = 'PROCESSING', version = 1, finished_at = null`),
    'order-state',
    '1020',
  ],
  [
    'a posted order that is PROCESSING again',
    order(`state = 'PROCESSING', version = 1, finished_at = null`),
    'orders-left',
    '1020',
    'reconcile',
  ],
  ['a posted order that is INIT again', order(unclaimed), 'net', '7/1/2'],
  ['a posted order that is INIT again', order(unclaimed), 'batch-totals', 'USD', 'reconcile'],
  ['a posted order that was cancelled', order(`state = 'CANCELED', cancel_code = 'X'`), 'order-state', '1020'],
  ['a posted order that failed', order(`state = 'FAILED', cancel_code = 'X'`), 'batch-totals', 'USD', 'reconcile'],
  ['an order moved once too often', order('version = 3'), 'order-state', '1020'],
  ['an INIT order that was moved', order('version = 2', 1130), 'order-state', '1130'],
  ['an order of another chunk', order('chunk_no = 2'), 'order-chunk', '1020'],
  ['an order of another run', order('run_id = 6'), 'order-chunk', '1020'],
  ['an order of a run that never was', order('run_id = 99'), 'order-chunk', '1020'],
  ['an order of another batch day', order(`batch_day = '2026-11-28'`), 'order-chunk', '1020'],
  ['an order of a day without a batch', order(`batch_day = '2026-12-01'`), 'order-chunk', '1020'],
  ['a missing order', 'delete from settlement_order where id = 1020', 'net', '7/1/2'],
  ['a missing order', 'delete from settlement_order where id = 1020', 'batch-totals', 'USD', 'reconcile'],
  [
    'an order that is there twice',
    copy('settlement_order', orderColumns, 'id = 1020', { id: '1021', order_no: `'O1021'` }),
    'net',
    '7/1/2',
  ],
  [
    'a second copy outside its chunk',
    copy('settlement_order', orderColumns, 'id = 1020', { id: '1161', order_no: `'O1161'` }),
    'order-chunk',
    '1161',
  ],
  ['a quarantined order that was settled', order(claimed, 1130), 'order-chunk', '1130'],
  [
    'a quarantined order one unit larger',
    order('amount_minor = amount_minor + 1', 1130),
    'source-total',
    'USD PAYMENT',
  ],
  ['a quarantined order one unit larger', order('amount_minor = 78', 1130), 'batch-totals', 'USD', 'reconcile'],
  ['a missing quarantined order', 'delete from settlement_order where id = 1130', 'batch', '2026-11-29'],
  [
    'a quarantined order that was cancelled',
    order(`state = 'CANCELED', finished_at = '2026-11-30', cancel_code = 'X'`, 1130),
    'source-total',
    'USD PAYMENT',
  ],
  ['a withdrawn order that is back', order(unclaimed, 1140), 'withdrawn-order', '1140'],
  ['a withdrawn order one unit larger', order('amount_minor = 41', 1140), 'batch-totals', 'USD', 'reconcile'],
  ['a late order that was settled unseen', order(claimed, 1180), 'order-chunk', '1180'],
];

const nets: Plant[] = [
  ['a net one unit larger', net('amount_minor = amount_minor + 1'), 'net', '7/1/2'],
  ['a net one unit smaller', net('amount_minor = amount_minor - 1'), 'batch-totals', 'USD', 'reconcile'],
  ['a net one unit smaller', net('amount_minor = amount_minor - 1'), 'sub-ledger', 'M1 USD', 'reconcile'],
  ['a net that counts an order more', net('orders = orders + 1'), 'net', '7/1/2'],
  ['a net of another currency', net(`currency = 'KWD'`), 'net', '7/1/2'],
  ['a net of another account', net(`account_no = 'M6'`), 'net', '7/1/2'],
  ['a net of another business number', net(`biz_no = 'S7.1.9'`), 'net-message', 'S7.1.9'],
  ['a net of another number', net('net_no = 9'), 'net', '7/1/9'],
  ['a net of another chunk', net('chunk_no = 2, net_no = 9'), 'chunk', '7/1'],
  ['a net of a chunk that never was', net('run_id = 99'), 'chunk', '99/1/2'],
  ['a missing net', `delete from net where biz_no = 'S7.1.2'`, 'net-message', 'S7.1.2'],
  ['a missing net', `delete from net where biz_no = 'S7.1.2'`, 'batch-totals', 'USD', 'reconcile'],
  ['a missing zero net', `delete from net where biz_no = 'S7.2.3'`, 'net', '1110'],
  [
    'a net that is there twice',
    copy('net', netColumns, `biz_no = 'S7.1.2'`, { net_no: '9', biz_no: `'S7.1.9'` }),
    'net',
    '7/1/9',
  ],
  [
    'two nets of one business number',
    copy('net', netColumns, `biz_no = 'S7.1.2'`, { net_no: '9' }),
    'net-message',
    'S7.1.2',
  ],
];

const chunks: Plant[] = [
  ['a chunk that counts an order more', chunk('orders = orders + 1'), 'chunk', '7/1'],
  ['a chunk that counts an order less', chunk('orders = orders - 1'), 'chunk', '7/1'],
  ['a chunk that counts a net more', chunk('nets = nets + 1'), 'chunk', '7/1'],
  ['a chunk of another batch day', chunk(`batch_day = '2026-11-28'`), 'order-chunk', '1010'],
  ['a chunk of a day without a batch', chunk(`batch_day = '2026-12-01'`), 'batch', '2026-12-01'],
  ['a chunk of another batch day', chunk(`batch_day = '2026-11-28'`), 'batch-totals', 'USD', 'reconcile'],
  ['a chunk that begins after its orders', chunk('first_id = 1011'), 'order-chunk', '1010'],
  ['a chunk that ends before its orders', chunk('last_id = 1079'), 'order-chunk', '1080'],
  ['a missing chunk', 'delete from chunk where run_id = 7 and chunk_no = 1', 'order-chunk', '1010'],
  [
    'a chunk that is there twice',
    copy('chunk', chunkColumns, 'run_id = 7 and chunk_no = 1', { chunk_no: '3' }),
    'chunk',
    '7/3',
  ],
];

const messages: Plant[] = [
  ['a message of another topic', outbox(`topic = 'OTHER'`), 'net-message', 'S7.1.2'],
  ['a message of another business number', outbox(`biz_no = 'S7.1.9'`), 'net-message', 'S7.1.9'],
  ['a message of another batch day', outbox(`batch_day = '2026-11-28'`), 'net-message', 'S7.1.2'],
  ['a message of another account', outbox(`account_no = 'M2'`), 'net-message', 'S7.1.2'],
  ['a message of no account', outbox('account_no = null'), 'net-message', 'S7.1.2'],
  ['a message that counts an order more', outbox('orders = orders + 1'), 'net-message', 'S7.1.2'],
  ['a message that counts an order more', outbox('orders = orders + 1'), 'batch-totals', 'USD', 'reconcile'],
  ['a missing message', `delete from outbox where biz_no = 'S7.1.2'`, 'net-message', 'S7.1.2'],
  ['a missing message', `delete from outbox where biz_no = 'S7.1.2'`, 'batch-totals', 'USD', 'reconcile'],
  [
    'a message that is there twice',
    copy('outbox', outboxColumns, 'id = 502', { id: '999', biz_no: `'S7.1.9'` }),
    'net-message',
    'S7.1.9',
  ],
  ['a message that waits again', outbox(`state = 'NEW', sent_at = null`), 'batch', 'S7.1.2'],
  ['a message that waits again', outbox(`state = 'NEW', sent_at = null`), 'orders-left', 'S7.1.2', 'reconcile'],
  ['a parked message', outbox(`state = 'PARKED', sent_at = null, last_error = 'x'`), 'batch', 'S7.1.2'],
  ['a payload with another net', payload('"netMinor":"1585"', '"netMinor":"1586"'), 'payload', 'S7.1.2'],
  ['a payload with another account', payload('"accountNo":"M1"', '"accountNo":"M2"'), 'payload', 'S7.1.2'],
  ['a payload with another currency', payload('"USD"', '"EUR"'), 'payload', 'S7.1.2'],
  ['a payload with another day', payload('2026-11-29', '2026-11-28'), 'payload', 'S7.1.2'],
  ['a payload line one unit larger', payload('"1500"', '"1501"'), 'payload', 'S7.1.2'],
  ['a payload line with an order more', payload('"orders":2', '"orders":3'), 'payload', 'S7.1.2'],
  ['a payload line of another channel', payload('"WALLET"', '"CARD"'), 'payload', 'S7.1.2'],
  ['a payload line of another type', payload('"REFUND"', '"FEE"'), 'payload', 'S7.1.2'],
  [
    'a payload without a line',
    payload(',{"type":"FEE","channel":"CARD","orders":1,"amountMinor":"15"}', ''),
    'payload',
    'S7.1.2',
  ],
  ['a payload that misses an order', payload('1020,', ''), 'payload', 'S7.1.2'],
  ['a payload that names a foreign order', payload('1050"', '1050,1060"'), 'payload', 'S7.1.2'],
  ['a payload that names a range of orders', payload('1010,1020', '1010-1020'), 'payload', 'S7.1.2'],
  ['a payload that names an order twice', payload('1020,', '1020,1020,'), 'payload', 'S7.1.2'],
  ['a payload that is cut off', outbox('payload = substr(payload, 1, 40)'), 'payload', 'S7.1.2'],
  ['a payload without its version', payload('"v":1', '"v":2'), 'payload', 'S7.1.2'],
];

const journals: Plant[] = [
  [
    'a missing journal entry',
    ['delete from ledger_entry where journal_entry_id = 502', 'delete from journal_entry where id = 502'],
    'message-posted',
    'S7.1.2',
  ],
  [
    'a missing journal entry',
    ['delete from ledger_entry where journal_entry_id = 502', 'delete from journal_entry where id = 502'],
    'batch-totals',
    'USD',
    'reconcile',
  ],
  ['a missing empty journal entry', 'delete from journal_entry where id = 506', 'message-posted', 'S7.2.3'],
  ['ledger entries without their journal entry', 'delete from journal_entry where id = 502', 'ledger-entry', '502/1'],
  ['a journal entry of another business number', journal(`biz_no = 'S7.1.9'`), 'message-posted', '502'],
  ['a journal entry of another type', journal(`type = 'PAYOUT'`), 'journal-entry', '502'],
  ['a journal entry of another batch day', journal(`batch_day = '2026-11-28'`), 'journal-entry', '502'],
  ['a journal entry of another day', journal(`batch_day = '2026-11-28'`), 'batch-totals', 'USD', 'reconcile'],
  ['a journal entry of a day without a batch', journal(`batch_day = '2026-12-01'`), 'batch', '2026-12-01'],
  ['a journal entry that counts a line more', journal('ledger_entries = ledger_entries + 1'), 'ledger-entry', '502'],
  ['a journal entry of another id', journal('id = 999'), 'message-posted', '999'],
  [
    'a journal entry that was posted twice',
    [
      copy('journal_entry', journalColumns, 'id = 502', { id: '999', biz_no: `'S7.1.9'` }),
      copy('ledger_entry', legColumns, 'journal_entry_id = 502', { journal_entry_id: '999' }),
    ],
    'message-posted',
    '999',
  ],
  [
    'a journal entry that was posted twice',
    [
      copy('journal_entry', journalColumns, 'id = 502', { id: '999', biz_no: `'S7.1.9'` }),
      copy('ledger_entry', legColumns, 'journal_entry_id = 502', { journal_entry_id: '999' }),
    ],
    'sub-ledger',
    'M1 USD',
    'reconcile',
  ],
  [
    'an empty journal entry too many',
    copy('journal_entry', journalColumns, 'id = 506', { id: '999', biz_no: `'S7.1.9'` }),
    'batch-totals',
    'journal entries',
    'reconcile',
  ],
];

const ledger: Plant[] = [
  ['a ledger entry one unit larger', leg('amount_minor = amount_minor + 1', credit), 'journal-balance', '502'],
  ['a ledger entry one unit smaller', leg('amount_minor = amount_minor - 1', cardDebit), 'trial-balance', 'USD'],
  [
    'a debit one unit larger',
    leg('amount_minor = amount_minor + 1', cardDebit),
    'trial-balance',
    '502 USD',
    'reconcile',
  ],
  [
    'both sides one unit larger',
    [leg('amount_minor = amount_minor + 1', credit), leg('amount_minor = amount_minor + 1', cardDebit)],
    'journal-entry',
    '502',
  ],
  [
    'both sides one unit larger',
    [leg('amount_minor = amount_minor + 1', credit), leg('amount_minor = amount_minor + 1', cardDebit)],
    'sub-ledger',
    'M1 USD',
    'reconcile',
  ],
  [
    'an entry of 2^63 - 1 one unit smaller',
    leg('amount_minor = amount_minor - 1', credit, 507),
    'sub-ledger',
    'M6 JPY',
    'reconcile',
  ],
  ['a debit that is a credit', leg(`side = 'CREDIT'`, cardDebit), 'journal-balance', '502'],
  [
    'debits and credits exchanged',
    `update ledger_entry set side = case side when 'DEBIT' then 'CREDIT' else 'DEBIT' end where journal_entry_id = 502`,
    'journal-entry',
    '502',
  ],
  ['a ledger entry of another currency', leg(`currency = 'EUR'`, credit), 'journal-balance', '502'],
  ['a journal entry of another currency', leg(`currency = 'EUR'`, '1 = 1'), 'journal-entry', '502'],
  ['a journal entry of another currency', leg(`currency = 'EUR'`, '1 = 1'), 'sub-ledger', 'M1 EUR', 'reconcile'],
  ['a credit to another merchant', leg(`sub_account = 'M2'`, credit), 'journal-entry', '502'],
  ['a credit to another merchant', leg(`sub_account = 'M2'`, credit), 'sub-ledger', 'M2 USD'],
  [
    'the merchants of two journal entries exchanged',
    `update ledger_entry set sub_account = case sub_account when 'M6' then 'M7' else 'M6' end
      where journal_entry_id in (507, 508) and ledger_account = 'MERCHANT_PAYABLE'`,
    'journal-entry',
    '507',
  ],
  ['a debit to another channel', leg(`sub_account = 'BANK'`, cardDebit), 'journal-entry', '502'],
  ['a debit without its channel', leg(`sub_account = ''`, cardDebit), 'journal-entry', '502'],
  [
    'a fee that became a suspense',
    leg(`ledger_account = 'SUSPENSE'`, `ledger_account = 'FEE_INCOME'`),
    'journal-entry',
    '502',
  ],
  ['an account the chart does not have', leg(`ledger_account = 'OTHER'`, credit), 'ledger-entry', '502/2'],
  [
    'a missing ledger entry',
    `delete from ledger_entry where journal_entry_id = 502 and ${credit}`,
    'ledger-entry',
    '502',
  ],
  [
    'a ledger entry that is there twice',
    copy('ledger_entry', legColumns, `journal_entry_id = 502 and ${credit}`, { line_no: '9' }),
    'ledger-entry',
    '502',
  ],
  [
    'both sides there twice, and counted',
    [
      copy('ledger_entry', legColumns, `journal_entry_id = 501`, { line_no: 'line_no + 2' }),
      'update journal_entry set ledger_entries = 4 where id = 501',
    ],
    'journal-entry',
    '501',
  ],
  [
    'a ledger entry of another journal entry',
    leg('journal_entry_id = 501, line_no = 9', credit),
    'journal-balance',
    '501',
  ],
  ['a ledger entry of no journal entry', leg('journal_entry_id = 999, line_no = 9', credit), 'ledger-entry', '999/9'],
];

const frame: Plant[] = [
  ['a source that counts an order more', source('orders = orders + 1'), 'source-total', 'USD PAYMENT'],
  ['a source that counts an order less', source('orders = orders - 1'), 'batch-totals', 'USD', 'reconcile'],
  ['a source one unit larger', source(`amount_minor = '1919'`), 'source-total', 'USD PAYMENT'],
  ['a source one unit smaller', source(`amount_minor = '1917'`), 'batch-totals', 'USD', 'reconcile'],
  ['a source of another currency', source(`currency = 'EUR'`), 'source-total', 'EUR PAYMENT'],
  [
    'a source of another type',
    `update source_total set type = 'REFUND' where currency = 'JPY'`,
    'source-total',
    'JPY REFUND',
  ],
  ['a source of another day', source(`batch_day = '2026-11-27'`), 'batch', '2026-11-27'],
  ['a source of another day', source(`batch_day = '2026-11-27'`), 'batch-totals', 'USD', 'reconcile'],
  ['a missing source', `delete from source_total where ${day} and type = 'FEE'`, 'source-total', 'USD FEE'],
  [
    'a source that is there twice',
    copy('source_total', 'batch_day currency type orders amount_minor', `${day} and type = 'FEE'`, {
      type: `'ADJUSTMENT'`,
      currency: `'EUR'`,
    }),
    'source-total',
    'EUR ADJUSTMENT',
  ],
  ['a batch that counted an order more', `update batch set orders_at_close = 18 where ${day}`, 'batch', '2026-11-29'],
  ['a batch that counted an order less', `update batch set orders_at_close = 16 where ${day}`, 'batch', '2026-11-29'],
  ['a batch with a lower top id', `update batch set top_id = 1169 where ${day}`, 'batch', '2026-11-29'],
  ['a batch with a higher top id', `update batch set top_id = 1180 where ${day}`, 'orders-left', '1180', 'reconcile'],
  ['a missing batch', `delete from batch where ${day}`, 'batch', '2026-11-29'],
  ['a batch of another day', `update batch set batch_day = '2026-12-01' where ${day}`, 'batch', '2026-11-29'],
  ['a missing quarantine', 'delete from quarantine', 'orders-left', '1130', 'reconcile'],
  [
    'a quarantine that was released unseen',
    `update quarantine set active = null, released_at = '2026-11-30'`,
    'orders-left',
    '1130',
    'reconcile',
  ],
  ['a quarantine of another account', `update quarantine set account_no = 'M4'`, 'orders-left', '1130', 'reconcile'],
  ['a quarantine of another day', `update quarantine set batch_day = '2026-11-28'`, 'orders-left', '1130', 'reconcile'],
  ['a missing withdrawal', 'delete from withdrawn_order', 'source-total', 'USD PAYMENT'],
  ['a missing withdrawal', 'delete from withdrawn_order', 'batch-totals', 'USD', 'reconcile'],
  ['a withdrawal of another day', `update withdrawn_order set batch_day = '2026-11-28'`, 'withdrawn-order', '1140'],
  ['a withdrawal of another order', 'update withdrawn_order set order_id = 1150', 'withdrawn-order', '1150'],
  [
    'a withdrawal of a settled order',
    `update withdrawn_order set order_id = 1020, order_no = 'O1020'`,
    'withdrawn-order',
    '1020',
  ],
  ['a withdrawal of no order', 'update withdrawn_order set order_id = 9999', 'withdrawn-order', '9999'],
  [
    'a withdrawal too many',
    copy('withdrawn_order', 'order_id run_id batch_day order_no found_state noticed_at', 'order_id = 1140', {
      order_id: '1150',
      order_no: `'O1150'`,
    }),
    'source-total',
    'USD PAYMENT',
  ],
];

const booked = `booking_day = '2026-11-29'`;
const account = (set: string): string =>
  `update account_balance set ${set} where ${booked} and ledger_account = 'MERCHANT_PAYABLE' and sub_account = 'M1' and currency = 'USD'`;
const general = (set: string): string =>
  `update general_balance set ${set} where ${booked} and ledger_account = 'MERCHANT_PAYABLE' and currency = 'USD'`;
const m1 = '2026-11-29 MERCHANT_PAYABLE/M1 USD';

const balances: Plant[] = [
  ['a balance that closes with a unit more', account(`closing_minor = '-1680'`), 'balance', m1],
  [
    'a balance that closes with a unit more',
    account(`closing_minor = '-1680'`),
    'balances',
    'MERCHANT_PAYABLE/M1 USD',
    'reconcile',
  ],
  ['a balance that opens otherwise', account(`opening_minor = '-99'`), 'balance', m1],
  ['a balance that moved otherwise', account(`debit_minor = '216', credit_minor = '1802'`), 'balance', m1],
  ['a balance that moved otherwise', account(`debit_minor = '216'`), 'balances', 'MERCHANT_PAYABLE USD', 'reconcile'],
  [
    'a missing balance',
    `delete from account_balance where ${booked} and sub_account = 'M2'`,
    'balance',
    '2026-11-29 MERCHANT_PAYABLE/M2 USD',
  ],
  ['a balance of another account', account(`sub_account = 'M9'`), 'balance', '2026-11-29 MERCHANT_PAYABLE/M9 USD'],
  ['a balance of another day', account(`booking_day = '2026-11-27'`), 'balance', m1],
  [
    'a balance of a day without entries',
    account(`booking_day = '2026-12-01'`),
    'balance',
    '2026-12-01 MERCHANT_PAYABLE/M1 USD',
  ],
  [
    'a ledger account that closes otherwise',
    general(`closing_minor = '0'`),
    'balance',
    '2026-11-29 MERCHANT_PAYABLE USD',
  ],
  [
    'a ledger account that moved otherwise',
    general(`credit_minor = credit_minor + 0`).replace('credit_minor + 0', `'1'`),
    'balances',
    'MERCHANT_PAYABLE USD',
    'reconcile',
  ],
  [
    'a missing ledger account',
    `delete from general_balance where ${booked} and ledger_account = 'ADJUSTMENTS'`,
    'balances',
    'ADJUSTMENTS USD',
    'reconcile',
  ],
  ['balances of fewer entries', `update balanced_day set entries = 7 where ${booked}`, 'balance', '2026-11-29'],
];

const period: Plant[] = [
  [
    'books that are closed further than the batches',
    `update ledger_period set booking_day = '2027-01-02', closed_through = '2027-01-01'`,
    'period',
    '1',
  ],
  [
    'books that are closed less far than the batches',
    `update ledger_period set closed_through = '2026-11-28'`,
    'period',
    '1',
  ],
  ['books that were opened again', `update ledger_period set closed_through = null`, 'period', '1'],
  [
    'an open day that is not after the last batch',
    `update ledger_period set closed_through = '2026-11-28', booking_day = '2026-11-29'`,
    'period',
    '1',
  ],
  ['an entry that is booked before its business', journal(`booking_day = '2026-11-28'`), 'period', '502'],
  [
    'an entry that is booked later although it came in time',
    journal(`booking_day = '2026-12-01', run_id = 1`),
    'period',
    '502',
  ],
  [
    'an entry that is booked later although it came in time',
    journal(`booking_day = '2026-12-01', run_id = 1`),
    'hash-chain',
    '2',
  ],
  [
    'an entry of an open day that is booked later',
    ['update ledger_period set closed_through = null', journal(`booking_day = '2026-12-01'`)],
    'period',
    '502',
  ],
];

const plants: Plant[] = [
  ...period,
  ...balances,
  ...orders,
  ...nets,
  ...chunks,
  ...messages,
  ...journals,
  ...ledger,
  ...frame,
];

onEachDatabase('a planted change', (database) => {
  let found = 0;

  beforeAll(() => withoutTriggers(database().database));
  beforeEach(async () => {
    await emptyBooks(database().database);
    await writeBooks(database().database, smallDays);
  });

  describe.each(plants)('%s', (_what, statements, check, key, by) => {
    test(`is named by the ${by ?? 'verify'} check ${check} at ${key}`, async () => {
      await database().database.transact(
        repeatable('plant', async (trx) => {
          for (const sql of [statements].flat()) expect(await trx.change(sql)).toBeGreaterThan(0);
        }),
      );
      expect(await namedBy(by ?? 'verify', check)).toContain(key);
      found += 1;
    });
  });

  async function namedBy(by: 'verify' | 'reconcile', name: string): Promise<string[]> {
    if (by === 'reconcile') {
      const { checks, outcome } = await reconcileDay(database().database, '2026-11-29');
      expect(outcome).not.toBe('OK');
      return checks.find((check) => check.name === name)?.differences.map(({ key }) => key) ?? [];
    }
    const checks = await verifyBooks(database().database);
    const keys = checks.find((check) => check.name === name)?.contradictions.map(({ key }) => key) ?? [];
    // A day's check is named by the day, and by currency and type.
    return keys.map((one) => (name === 'source-total' ? one.replace(/^2026-11-29 /, '') : one));
  }

  afterAll(() => {
    process.stderr.write(`planted ${String(plants.length)} changes, found ${String(found)}\n`);
    expect(found).toBe(plants.length);
  });
});
