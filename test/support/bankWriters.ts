import { formatMinor, scaleOf } from '../../src/kernel/money.js';

/** A day of an account, to be written in each of the banks' formats. */
export interface BankDay {
  readonly currency: string;
  readonly openingMinor: bigint;
  readonly lines: readonly BankDayLine[];
}

export interface BankDayLine {
  readonly isCredit: boolean;
  readonly minor: bigint;
  readonly our: string;
  readonly bank: string;
}

/** Balances and totals are those of `proven`: the lines themselves, or a day from which they differ. */
export type Writer = (day: BankDay, proven?: BankDay) => string;

interface Sums {
  readonly credits: bigint;
  readonly debits: bigint;
  readonly closing: bigint;
  readonly creditCount: number;
}

function sumsOf({ openingMinor, lines }: BankDay): Sums {
  const sum = (credit: boolean): bigint =>
    lines.reduce((total, { isCredit, minor }) => (isCredit === credit ? total + minor : total), 0n);
  const [credits, debits] = [sum(true), sum(false)];
  const creditCount = lines.filter(({ isCredit }) => isCredit).length;
  return { credits, debits, closing: openingMinor + credits - debits, creditCount };
}

const unsigned = (minor: bigint): bigint => (minor < 0n ? -minor : minor);
const markOf = (credit: boolean): string => (credit ? 'CRDT' : 'DBIT');

/** camt.053 of a version, each entry with its transaction as the version writes it. */
export const camt053 =
  (version: 2 | 4 | 8): Writer =>
  (day, proven = day) => {
    const { currency } = day;
    const sums = sumsOf(proven);
    const amount = (minor: bigint): string => `<Amt Ccy="${currency}">${formatMinor(unsigned(minor), currency)}</Amt>`;
    const balance = (code: string, minor: bigint): string =>
      `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${amount(minor)}<CdtDbtInd>${markOf(minor >= 0n)}</CdtDbtInd><Dt><Dt>2026-11-30</Dt></Dt></Bal>\n`;
    const entry = ({ isCredit, minor, our, bank }: BankDayLine): string => {
      const money = `${amount(minor)}<CdtDbtInd>${markOf(isCredit)}</CdtDbtInd>`;
      const state = version === 8 ? '<Sts><Cd>BOOK</Cd></Sts>' : '<Sts>BOOK</Sts>';
      const detail = `<Refs><EndToEndId>${our}</EndToEndId></Refs>${version === 2 ? '' : money}`;
      return `<Ntry>${money}${state}<BookgDt><Dt>2026-11-30</Dt></BookgDt><AcctSvcrRef>${bank}</AcctSvcrRef><BkTxCd><Prtry><Cd>X</Cd></Prtry></BkTxCd><NtryDtls><TxDtls>${detail}</TxDtls></NtryDtls></Ntry>\n`;
    };
    return [
      `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.0${String(version)}"><BkToCstmrStmt>`,
      '<GrpHdr><MsgId>M</MsgId><CreDtTm>2026-12-01T00:00:00Z</CreDtTm></GrpHdr>\n',
      '<Stmt><Id>S</Id><ElctrncSeqNb>7</ElctrncSeqNb><CreDtTm>2026-12-01T00:00:00Z</CreDtTm>',
      '<Acct><Id><Othr><Id>ACCOUNT</Id></Othr></Id></Acct>\n',
      balance('OPBD', day.openingMinor),
      balance('CLBD', sums.closing),
      `<TxsSummry><TtlNtries><NbOfNtries>${String(proven.lines.length)}</NbOfNtries></TtlNtries></TxsSummry>\n`,
      ...day.lines.map(entry),
      '</Stmt></BkToCstmrStmt></Document>',
    ].join('');
  };

export const mt940: Writer = (day, proven = day) => {
  const { currency } = day;
  const amount = (minor: bigint): string => {
    const text = formatMinor(unsigned(minor), currency);
    return text.includes('.') ? text.replace('.', ',') : `${text},`;
  };
  const balance = (minor: bigint): string => `${minor < 0n ? 'D' : 'C'}261130${currency}${amount(minor)}`;
  return [
    '{1:F01X}{2:O940X}{4:',
    ':20:S',
    ':25:ACCOUNT',
    ':28C:7/1',
    `:60F:${balance(day.openingMinor)}`,
    ...day.lines.flatMap(({ isCredit, minor, our, bank }) => [
      `:61:2611301130${isCredit ? 'C' : 'D'}${amount(minor)}NTRFNONREF//${bank}`,
      `:86:166?00TEXT?20EREF+${our.slice(0, 22)}${our.length < 22 ? '' : `?21${our.slice(22)}`}?22SVWZ+A`,
    ]),
    `:62F:${balance(sumsOf(proven).closing)}`,
    '-}',
  ]
    .map((line) => `${line}\r\n`)
    .join('');
};

/** BAI2 has minor units, and continues its account over lines of its own. */
export const bai2: Writer = (day, proven = day) => {
  const { credits, debits, closing, creditCount } = sumsOf(proven);
  const total = day.openingMinor + closing + 2n * (credits + debits);
  const account = [
    `03,ACCOUNT,${day.currency},010,${String(day.openingMinor)},,,015,${String(closing)},,/`,
    `88,100,${String(credits)},${String(creditCount)},,400/`,
    `88,${String(debits)},${String(proven.lines.length - creditCount)},/`,
    ...day.lines.map(
      ({ isCredit, minor, our, bank }) => `16,${isCredit ? '142' : '447'},${String(minor)},Z,${bank},${our},A/B, C/`,
    ),
  ];
  return [
    '01,A,B,261201,0500,1,,,2/',
    '02,B,A,1,261130,2359,,2/',
    ...account,
    `49,${String(total)},${String(account.length + 1)}/`,
    `98,${String(total)},1,${String(account.length + 3)}/`,
    `99,${String(total)},1,${String(account.length + 5)}/`,
    '',
  ].join('\n');
};

/** Returns: credits are payments that come back, debits collections; no balances, and dollars only. */
export const nachaReturn: Writer = (day, proven = day) => {
  const { credits, debits } = sumsOf(proven);
  const digits = (value: bigint | number, length: number): string => String(value).padStart(length, '0');
  const hash = digits(BigInt(day.lines.length) * 9_100_001n, 10);
  const money = `${digits(debits, 12)}${digits(credits, 12)}`;
  const count = day.lines.length * 2;
  const records = [
    `101 091400606 6910001342612010510A094101${' '.repeat(54)}`,
    `5200${'SETTLE'.padEnd(36)}1234567890PPDPAYOUT    261128261128   1091400600000001`,
    ...day.lines.flatMap(({ isCredit, minor, our, bank }) => [
      `6${isCredit ? '21' : '26'}091000011${'1'.padEnd(17)}${digits(minor, 10)}${' '.repeat(39)}1${bank}`,
      `799R03${our}${' '.repeat(58)}${bank}`,
    ]),
    `8200${digits(count, 6)}${hash}${money}1234567890${' '.repeat(25)}091400600000001`,
  ];
  const blocks = Math.ceil((records.length + 1) / 10);
  records.push(`9000001${digits(blocks, 6)}${digits(count, 8)}${hash}${money}${' '.repeat(39)}`);
  while (records.length % 10 !== 0) records.push('9'.repeat(94));
  return `${records.join('\n')}\n`;
};

/** The largest amount that every format here can write. */
export function amountMax(currency: string): bigint {
  return 10n ** BigInt(12 - (scaleOf(currency) ?? 0));
}
