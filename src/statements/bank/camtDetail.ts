import type { LineKind } from '../statement.js';
import { amountOf, isCreditAt, type CamtAmount } from './camtNodes.js';
import { referenceOf } from './references.js';
import { allOf, at, textAt, type XmlNode } from './xml.js';

/** One transaction (TxDtls) of an entry, or what an entry without any says of itself. Money is signed: positive comes in. */
export interface CamtDetail {
  readonly line: number;
  /** Null where none is stated in the currency of the entry. */
  readonly signedMinor: bigint | null;
  /** Amounts before charges, unsigned, in the currency of the entry. */
  readonly grossMinors: readonly bigint[];
  /** What the charges may be in all, as cost: by their total, or by their sum. */
  readonly feeMinors: readonly bigint[];
  readonly type: string | null;
  readonly isReturn: boolean;
  readonly endToEndId: string | null;
  readonly servicerReference: string | null;
  readonly otherReferences: readonly (string | null)[];
}

/** Of a TxDtls, or of an Ntry for what is stated at that level. */
export function detailOf(node: XmlNode, currency: string, entryIsCredit: boolean): CamtDetail {
  const isCredit = isCreditAt(node) ?? entryIsCredit;
  const stated = [['Amt'], ['AmtDtls', 'TxAmt', 'Amt'], ['AmtDtls', 'InstdAmt', 'Amt']]
    .map((path) => at(node, ...path))
    .filter((amount) => amount !== undefined)
    .map((amount) => amountOf(amount, `${node.name} amount`))
    .filter((amount) => amount.currency === currency)
    .map(({ minor }) => minor);
  const [first] = stated;
  const refs = at(node, 'Refs');
  const reference = (name: string): string | null => (refs === undefined ? null : referenceOf(textAt(refs, name)));
  const type = typeOf(node);
  return {
    line: node.line,
    signedMinor: first === undefined ? null : isCredit ? first : -first,
    grossMinors: stated,
    feeMinors: chargesOf(node, currency),
    type,
    isReturn: at(node, 'RtrInf') !== undefined || (type !== null && returnTypes.test(type)),
    endToEndId: reference('EndToEndId'),
    servicerReference: reference('AcctSvcrRef'),
    otherReferences: [
      ...[
        'InstrId',
        'TxId',
        'UETR',
        'PmtInfId',
        'MsgId',
        'AcctOwnrTxId',
        'AcctSvcrTxId',
        'ClrSysRef',
        'MndtId',
        'ChqNb',
      ].map(reference),
      ...structuredReferences(node),
    ],
  };
}

/** References by which the payer was asked to pay. */
function structuredReferences(node: XmlNode): (string | null)[] {
  const remittance = at(node, 'RmtInf');
  if (remittance === undefined) return [];
  return allOf(remittance, 'Strd')
    .slice(0, 10)
    .map((one) => referenceOf(textAt(one, 'CdtrRefInf', 'Ref')));
}

/** "PMNT/ICDT/ESCT", else the bank's own code. */
export function typeOf(node: XmlNode): string | null {
  const code = at(node, 'BkTxCd');
  if (code === undefined) return null;
  const domain = [
    textAt(code, 'Domn', 'Cd'),
    textAt(code, 'Domn', 'Fmly', 'Cd'),
    textAt(code, 'Domn', 'Fmly', 'SubFmlyCd'),
  ];
  return domain[0] === undefined ? (textAt(code, 'Prtry', 'Cd') ?? null) : domain.filter(Boolean).join('/');
}

/** Charges stand flat up to version 3 of the messages, below Rcrd from version 4 on, with their total beside them. */
function chargesOf(node: XmlNode, currency: string): bigint[] {
  const found: bigint[] = [];
  let sum = 0n;
  for (const charges of allOf(node, 'Chrgs')) {
    const total = at(charges, 'TtlChrgsAndTaxAmt');
    if (total !== undefined) keep(amountOf(total, 'Chrgs/TtlChrgsAndTaxAmt'), currency, found);
    const records = at(charges, 'Amt') === undefined ? allOf(charges, 'Rcrd') : [charges];
    for (const record of records) {
      const amount = at(record, 'Amt');
      if (amount === undefined) continue;
      const { minor, currency: of } = amountOf(amount, 'Chrgs amount');
      if (of === currency) sum += isCreditAt(record) === true ? -minor : minor;
    }
  }
  return [...found, sum].filter((fee) => fee !== 0n);
}

function keep({ minor, currency: of }: CamtAmount, currency: string, found: bigint[]): void {
  if (of === currency) found.push(minor);
}

const returnTypes = /\/(?:RRTN|RPCR|UPCT|UPCQ|UPDD|UPRT|RRCT|RRDD|PRDD|ARET)$/;
const feeTypes = /\/(?:CHRG|FEES|COMM|COME|COMI|COMT)$/;
const ownTransfers = /^[A-Z]{4}\/(?:ICCN|RCCN|CAPL)\//;

export function kindOf(type: string | null, isCredit: boolean, isReturn: boolean, isReversal: boolean): LineKind {
  if (isReversal) return isCredit ? 'RETURN' : 'OTHER';
  if (isReturn) return isCredit ? 'RETURN' : 'DISPUTE';
  if (type !== null && feeTypes.test(type)) return 'FEE';
  if (type !== null && ownTransfers.test(type)) return 'TRANSFER';
  if (type !== null && /\/INTR$/.test(type)) return 'OTHER';
  return isCredit ? 'PAYMENT' : 'PAYOUT';
}
