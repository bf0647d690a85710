import type { BatchDay } from '../kernel/batchDay.js';
import { isLatinName, latinNameMax, readIban } from '../kernel/iban.js';
import { formatMinor, scaleOf } from '../kernel/money.js';
import type { PayoutInstruction } from './channel.js';

/** Who pays, as the bank knows them. */
export interface Debtor {
  readonly name: string;
  readonly iban: string;
  readonly bic: string | null;
}

/** What a payment file says of itself; the same whenever it is written. */
export interface PaymentFileHeader {
  readonly messageId: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly executionDay: BatchDay;
  readonly debtor: Debtor;
}

/** One payment of a file; `instructionId` is unique in it. */
export type FilePayment = Omit<PayoutInstruction, 'channelReference'> & { readonly instructionId: string };

/** Why a payout cannot be in a payment file, or null. Nothing of where it goes is repeated. */
export function fileFault({ destination, holder }: Pick<PayoutInstruction, 'destination' | 'holder'>): string | null {
  if (readIban(destination) === null) return 'The destination is no IBAN, or one that is mistyped.';
  if (!isLatinName(holder)) {
    return `The holder is not 1 to ${String(latinNameMax)} of the characters that banks take: A-Z a-z 0-9 / - ? : ( ) . , ' + and blanks.`;
  }
  return null;
}

/** Under which id payments of one currency stand together in a file. */
export function paymentGroupId(messageId: string, currency: string): string {
  return `${messageId}-${currency}`;
}

/**
 * A customer credit transfer initiation, ISO 20022 pain.001.001.09: payments of a currency stand together, in the order
 * given, each with its key as end-to-end id; counts and sums are exact. For payments without a `fileFault`.
 */
export function paymentFile(header: PaymentFileHeader, payments: readonly FilePayment[]): string {
  const { messageId, createdAt, debtor } = header;
  const currencies = [...new Set(payments.map(({ currency }) => currency))].sort();
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09">',
    '<CstmrCdtTrfInitn>',
    '<GrpHdr>',
    element('MsgId', messageId),
    element('CreDtTm', `${createdAt.slice(0, 19)}Z`),
    ...totals(payments),
    `<InitgPty>${element('Nm', debtor.name)}</InitgPty>`,
    '</GrpHdr>',
    ...currencies.flatMap((currency) =>
      paymentGroup(
        header,
        currency,
        payments.filter((payment) => payment.currency === currency),
      ),
    ),
    '</CstmrCdtTrfInitn>',
    '</Document>',
    '',
  ].join('\n');
}

function paymentGroup(header: PaymentFileHeader, currency: string, payments: readonly FilePayment[]): string[] {
  const { messageId, executionDay, debtor } = header;
  // Euro goes by SEPA, whose charges are always shared by its own rule.
  const isSepa = currency === 'EUR';
  return [
    '<PmtInf>',
    element('PmtInfId', paymentGroupId(messageId, currency)),
    element('PmtMtd', 'TRF'),
    element('BtchBookg', 'false'),
    ...totals(payments),
    ...(isSepa ? [`<PmtTpInf><SvcLvl>${element('Cd', 'SEPA')}</SvcLvl></PmtTpInf>`] : []),
    `<ReqdExctnDt>${element('Dt', executionDay)}</ReqdExctnDt>`,
    `<Dbtr>${element('Nm', debtor.name)}</Dbtr>`,
    `<DbtrAcct><Id>${element('IBAN', debtor.iban)}</Id></DbtrAcct>`,
    `<DbtrAgt><FinInstnId>${
      debtor.bic === null ? `<Othr>${element('Id', 'NOTPROVIDED')}</Othr>` : element('BICFI', debtor.bic)
    }</FinInstnId></DbtrAgt>`,
    element('ChrgBr', isSepa ? 'SLEV' : 'SHAR'),
    ...payments.map(transfer),
    '</PmtInf>',
  ];
}

function transfer(payment: FilePayment): string {
  const { instructionId, idempotencyKey, amountMinor, currency, holder, destination, batchDay } = payment;
  return [
    '<CdtTrfTxInf>',
    `<PmtId>${element('InstrId', instructionId)}${element('EndToEndId', idempotencyKey)}</PmtId>`,
    `<Amt><InstdAmt Ccy="${escaped(currency)}">${formatMinor(amountMinor, currency)}</InstdAmt></Amt>`,
    `<Cdtr>${element('Nm', holder)}</Cdtr>`,
    `<CdtrAcct><Id>${element('IBAN', readIban(destination) ?? '')}</Id></CdtrAcct>`,
    `<RmtInf>${element('Ustrd', `Payout ${batchDay}`)}</RmtInf>`,
    '</CdtTrfTxInf>',
  ].join('');
}

/** How many there are, and the sum of the bare figures, as the message asks for it, whatever their currencies. */
function totals(payments: readonly FilePayment[]): string[] {
  const scale = Math.max(0, ...payments.map(({ currency }) => scaleOf(currency) ?? 0));
  const sum = payments.reduce(
    (total, { amountMinor, currency }) => total + amountMinor * 10n ** BigInt(scale - (scaleOf(currency) ?? 0)),
    0n,
  );
  const digits = String(sum).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const text = scale === 0 ? whole : `${whole}.${digits.slice(-scale)}`;
  return [element('NbOfTxs', String(payments.length)), element('CtrlSum', text)];
}

function element(name: string, text: string): string {
  return `<${name}>${escaped(text)}</${name}>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
