import { idProblem } from '../kernel/ids.js';
import { parseInstant } from '../kernel/instant.js';
import { shown } from '../kernel/printable.js';
import type { RowFault, RowFaultCode } from '../orders/importProblems.js';
import { idFault } from '../orders/orderRow.js';
import { readAddress, readHash } from './address.js';
import { readAmountRaw } from './amounts.js';
import type { DepositOrder } from './deposit.js';

/** The columns of a file of deposit orders, in the order in which `readDepositRow` takes their values. */
export const depositColumns = {
  required: ['out_trade_no', 'chain_name', 'token', 'receiver', 'amount_raw', 'created_at', 'scene'],
  optional: ['provider', 'account_no', 'expires_at', 'required_confirmations', 'transaction_hash', 'log_index'],
} as const;

/** A deposit order as a file tells it. */
export type DepositRow = Omit<DepositOrder, 'id' | 'status' | 'version'>;

export const columnOf: Readonly<Record<keyof DepositRow, string>> = {
  outTradeNo: 'out_trade_no',
  provider: 'provider',
  chainName: 'chain_name',
  token: 'token',
  receiver: 'receiver',
  amountRaw: 'amount_raw',
  requiredConfirmations: 'required_confirmations',
  scene: 'scene',
  accountNo: 'account_no',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  transactionHash: 'transaction_hash',
  logIndex: 'log_index',
};

class Refused extends Error {
  constructor(readonly fault: RowFault) {
    super(fault.message);
  }
}

/** Reads one row. The checks have a fixed order and the first that fails is the row's fault. */
export function readDepositRow(values: readonly (string | null)[]): DepositRow | RowFault {
  const [outTradeNo, chainName, token, receiver, amountRaw, createdAt, scene, ...optional] = values.map(
    (value) => value ?? '',
  ) as [string, string, string, string, string, string, string, ...string[]];
  const [provider = '', accountNo = '', expiresAt = '', confirmations = '', hash = '', logIndex = ''] = optional;
  try {
    return {
      outTradeNo: id('BAD_ORDER_NO', 'out_trade_no', outTradeNo),
      chainName: word('chain-not-configured', 'chain_name', chainName),
      token: address('token', token),
      receiver: address('receiver', receiver),
      amountRaw: amount(amountRaw),
      createdAt: instant('created_at', createdAt),
      scene: word('order-invalid', 'scene', scene),
      provider: provider === '' ? 'web3' : word('order-invalid', 'provider', provider),
      accountNo: accountNo === '' ? null : id('BAD_ACCOUNT_NO', 'account_no', accountNo),
      expiresAt: expiresAt === '' ? null : later(instant('expires_at', expiresAt), instant('created_at', createdAt)),
      requiredConfirmations: confirmations === '' ? null : whole('required_confirmations', confirmations, 1),
      transactionHash: hash === '' ? null : transaction(hash),
      logIndex: logIndex === '' ? null : whole('log_index', logIndex, 0),
    };
  } catch (error) {
    if (error instanceof Refused) return error.fault;
    throw error;
  }
}

/** Names the columns in which two orders of one number differ; none means that one repeats the other. */
export function differingColumns(a: DepositRow, b: DepositRow): string[] {
  return (Object.keys(columnOf) as (keyof DepositRow)[]).filter((key) => a[key] !== b[key]).map((key) => columnOf[key]);
}

function refuse(code: RowFaultCode, message: string): never {
  throw new Refused({ code, message });
}

function id(code: RowFaultCode, column: string, text: string): string {
  const fault = idFault(code, column, text);
  if (fault !== null) throw new Refused(fault);
  return text;
}

function word(code: RowFaultCode, column: string, text: string): string {
  if (idProblem(text) !== null || !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/.test(text)) {
    refuse(code, `${column} ${shown(text)} is not a name of up to 40 letters, digits, points and dashes.`);
  }
  return text;
}

function address(column: string, text: string): string {
  const read = readAddress(text);
  if (typeof read === 'string') return read;
  const why =
    read.problem === 'address-checksum-invalid'
      ? 'has a wrong checksum (EIP-55): a digit of it is mistyped'
      : 'is not an address of 20 bytes, 0x and 40 digits, or is the zero address';
  return refuse(read.problem, `${column} ${shown(text)} ${why}.`);
}

function amount(text: string): string {
  if (readAmountRaw(text) === null) {
    refuse(
      'amount-raw-invalid',
      `amount_raw ${shown(text)} is not a whole number from 1 to 2^256 - 1 in plain digits.`,
    );
  }
  return text;
}

function instant(column: string, text: string): string {
  const read = parseInstant(text);
  if (read !== null) return read;
  return refuse(
    'BAD_INSTANT',
    `${column} ${shown(text)} is not an instant with an offset, such as 2026-11-29T10:00:00Z.`,
  );
}

function later(expiresAt: string, createdAt: string): string {
  if (expiresAt <= createdAt) refuse('order-invalid', `expires_at ${shown(expiresAt)} is not after created_at.`);
  return expiresAt;
}

function whole(column: string, text: string, minimum: number): number {
  if (!/^(0|[1-9][0-9]{0,8})$/.test(text) || Number(text) < minimum) {
    refuse('order-invalid', `${column} ${shown(text)} is not a whole number from ${String(minimum)}.`);
  }
  return Number(text);
}

function transaction(text: string): string {
  const hash = readHash(text);
  return (
    hash ?? refuse('transaction-hash-invalid', `transaction_hash ${shown(text)} is not 32 bytes, 0x and 64 digits.`)
  );
}
