import type { StatementFormat } from '../statement.js';
import { adyenSettlement } from './adyen.js';
import { alipayAccount } from './alipayAccount.js';
import { alipayTitle } from './alipay.js';
import { alipayTrade } from './alipayTrade.js';
import { csvTable } from './csv.js';
import { paypalSettlement, paypalTransactions } from './paypal.js';
import { squareTransactions } from './square.js';
import { stripeActivity, stripePayouts } from './stripe.js';
import { wechatFund } from './wechatFund.js';
import { wechatTrade } from './wechatTrade.js';

/** Files and reports of wallets and processors. None of them loads a package. */
export const providerFormats: readonly StatementFormat[] = [
  wechatTrade,
  wechatFund,
  alipayTrade,
  alipayAccount,
  stripePayouts,
  stripeActivity,
  paypalSettlement,
  paypalTransactions,
  adyenSettlement,
  squareTransactions,
  csvTable,
];

/**
 * Whether a file only repeats, added up, what another file of the same archive lists: Alipay puts a summary beside each
 * bill. It has no lines, and is passed over in an archive.
 */
export function isCompanion(bytes: Buffer): boolean {
  return /^#支付宝(业务|账务)汇总查询$/.test(alipayTitle(bytes));
}
