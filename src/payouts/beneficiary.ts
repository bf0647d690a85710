import { scaleOf } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import type { RowFault } from '../orders/importProblems.js';
import { idFault } from '../orders/orderRow.js';

/** Where an account is paid out to. */
export interface Beneficiary {
  readonly accountNo: string;
  /** '' is every currency that has no beneficiary of its own. */
  readonly currency: string;
  /** Null: the channel that pays the currency. */
  readonly channel: string | null;
  /** As the channel names it: an IBAN, a wallet, an account of its own. Never printed or logged. */
  readonly destination: string;
  /** Whose it is; '' where the channel does not ask. */
  readonly holder: string;
}

/** The columns of a file of beneficiaries, in the order in which `readBeneficiaryRow` takes their values. */
export const beneficiaryColumns = {
  required: ['account_no', 'destination'],
  optional: ['currency', 'channel', 'holder'],
} as const;

/** What a bank or a wallet takes as an account or a name, with room to spare. */
const textMax = 140;
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/u;

/** Reads one row. A destination is not repeated in a fault: it may be the number of a bank account. */
export function readBeneficiaryRow(values: readonly (string | null)[]): Beneficiary | RowFault {
  const [accountNo = '', destination = '', currency = '', channel = '', holder = ''] = values.map(
    (value) => value ?? '',
  );
  const badAccountNo = idFault('BAD_ACCOUNT_NO', 'account_no', accountNo);
  if (badAccountNo !== null) return badAccountNo;
  for (const [column, text] of [
    ['destination', destination],
    ['holder', holder],
  ] as const) {
    const isMissing = text === '' && column === 'destination';
    if (isMissing || text.trim() !== text || text.length > textMax || unprintable.test(text)) {
      const must = `1 to ${String(textMax)} visible characters without blanks around them`;
      return { code: 'BAD_DESTINATION', message: `${column} must be ${must}.` };
    }
  }
  if (currency !== '' && scaleOf(currency) === undefined) {
    return { code: 'UNKNOWN_CURRENCY', message: `currency ${shown(currency)} is no code of ISO 4217.` };
  }
  const badChannel = channel === '' ? null : idFault('BAD_CHANNEL', 'channel', channel);
  return badChannel ?? { accountNo, currency, channel: channel === '' ? null : channel, destination, holder };
}

export function isSameBeneficiary(a: Beneficiary, b: Beneficiary): boolean {
  return a.channel === b.channel && a.destination === b.destination && a.holder === b.holder;
}
