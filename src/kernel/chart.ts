import { isTree } from './yamlTree.js';

export const ledgerAccountKinds = ['ASSET', 'LIABILITY', 'EQUITY', 'INCOME', 'EXPENSE'] as const;
export type LedgerAccountKind = (typeof ledgerAccountKinds)[number];

export const subLedgers = ['ACCOUNT', 'CHANNEL'] as const;
export type SubLedger = (typeof subLedgers)[number];

/** What a ledger account must be: its kind, and what its sub-ledger is kept by. */
type Nature = readonly [kind: LedgerAccountKind, subLedger: SubLedger | null];

/** The ledger accounts that Settle books to. A chart may name them as it likes, and have others; these it must have. */
export const neededAccounts: Readonly<Record<string, Nature>> = {
  CHANNEL_RECEIVABLE: ['ASSET', 'CHANNEL'],
  CHANNEL_CASH: ['ASSET', 'CHANNEL'],
  MERCHANT_PAYABLE: ['LIABILITY', 'ACCOUNT'],
  MERCHANT_DEBT: ['ASSET', 'ACCOUNT'],
  RESERVE: ['LIABILITY', 'ACCOUNT'],
  PAYOUT_IN_TRANSIT: ['LIABILITY', 'ACCOUNT'],
  SUSPENSE: ['LIABILITY', null],
  FEE_INCOME: ['INCOME', null],
  ADJUSTMENTS: ['EXPENSE', null],
  ROUNDING: ['EXPENSE', null],
};

export interface ChartLine {
  code: string;
  name: string;
  kind: LedgerAccountKind;
  /** What its sub-ledger is kept by; null where it has none. */
  subLedger: SubLedger | null;
}

/** Where a chart is wrong, and what must stand there. */
export interface ChartProblem {
  path: string[];
  must: string;
}

const keys = ['name', 'kind', 'subLedger'];

/** Reads `ledger.chart`: a mapping of codes to name, kind and sub-ledger. A chart with a problem is not used. */
export function readChart(value: unknown): { lines: ChartLine[]; problems: ChartProblem[] } {
  if (!isTree(value)) return { lines: [], problems: [{ path: [], must: 'a mapping of codes to ledger accounts' }] };
  const missing = Object.keys(neededAccounts).filter((code) => !Object.hasOwn(value, code));
  const problems: ChartProblem[] =
    missing.length === 0
      ? []
      : [{ path: [], must: `a mapping that has ${missing.join(', ')} too, which Settle books to` }];
  const lines: ChartLine[] = [];
  for (const [code, account] of Object.entries(value)) {
    const found = readAccount(code, account);
    problems.push(...found.problems);
    if (found.problems.length === 0) lines.push(found.line);
  }
  return { lines, problems };
}

function readAccount(code: string, account: unknown): { line: ChartLine; problems: ChartProblem[] } {
  const problems: ChartProblem[] = [];
  const wrong = (key: string | null, must: string): void => {
    problems.push({ path: key === null ? [code] : [code, key], must });
  };
  const given = isTree(account) ? account : {};
  if (!/^[A-Z][A-Z0-9_]{0,39}$/.test(code)) wrong(null, 'under a code of A-Z, 0-9 and _, at most 40 of them');
  if (!isTree(account)) wrong(null, `a mapping of ${keys.join(', ')}`);
  for (const key of Object.keys(given))
    if (!keys.includes(key)) wrong(key, `left out: known here are ${keys.join(', ')}`);
  const { name, kind, subLedger = null } = given;
  if (isTree(account) && !isName(name)) wrong('name', 'a text of 1 to 100 visible characters');
  const needed = Object.hasOwn(neededAccounts, code) ? neededAccounts[code] : undefined;
  const kinds: readonly unknown[] = needed === undefined ? ledgerAccountKinds : [needed[0]];
  if (isTree(account) && !kinds.includes(kind)) wrong('kind', oneOf(kinds));
  const kept: readonly unknown[] = needed === undefined ? [...subLedgers, null] : [needed[1]];
  if (isTree(account) && !kept.includes(subLedger)) wrong('subLedger', oneOf(kept));
  return {
    line: {
      code,
      name: String(name),
      kind: kind as LedgerAccountKind,
      subLedger: subLedger as SubLedger | null,
    },
    problems,
  };
}

function isName(name: unknown): boolean {
  return (
    typeof name === 'string' && name.trim() !== '' && name.length <= 100 && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)
  );
}

function oneOf(values: readonly unknown[]): string {
  return values.map((value) => (value === null ? 'empty' : String(value as string))).join(' or ');
}
