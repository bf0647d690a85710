import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { compareBytes } from '../kernel/ids.js';
import { shown } from '../kernel/printable.js';
import type { ImportKind, PlacedRow } from '../orders/importFiles.js';
import type { RejectedRow, RowFaultCode } from '../orders/importProblems.js';
import type { UnitOutcome } from '../orders/importTally.js';
import { defaultAccount, isSameTerms, type AccountTerms } from './accountTerms.js';
import { storedPlans } from './feePlanQueries.js';
import { refusal } from './feePlansImport.js';
import { insertTerms, lastSettledDay, settledDays, termsOf, type StoredTerms } from './termsQueries.js';
import { readTermsRow, termsColumns } from './termsRow.js';

/** How files of account terms are imported: whole or not at all. */
export const termsImport: ImportKind<AccountTerms> = {
  columns: termsColumns,
  whole: true,
  readRow: readTermsRow,
  store: storeTerms,
};

type Placed = PlacedRow<AccountTerms>;

function storeTerms(database: Database, rows: readonly Placed[], now: string): Promise<UnitOutcome> {
  const unit = repeatable('import terms', async (trx) => {
    const decided = decideTerms(rows, await readKnown(trx, rows));
    await insertTerms(trx, decided.fresh, now);
    return decided.outcome;
  });
  return afterOthers(() => database.transact(unit));
}

/** What the database knows that bears on a file of terms. */
export interface KnownTerms {
  terms: readonly StoredTerms[];
  /** First day of each fee plan. */
  planFrom: ReadonlyMap<string, BatchDay>;
  /** Last day of which anything is settled, for all accounts together and for each that matters. */
  settledUpTo: BatchDay | null;
  settledOf: ReadonlyMap<string, BatchDay>;
}

async function readKnown(session: Session, rows: readonly Placed[]): Promise<KnownTerms> {
  const accountNos = [...new Set(rows.map(({ row }) => row.accountNo))];
  const settledUpTo = await lastSettledDay(session);
  const first = rows.reduce((day, { row }) => (row.validFrom < day ? row.validFrom : day), '9999-12-31');
  const isLater = settledUpTo === null || first > settledUpTo;
  const planFrom = new Map<string, BatchDay>();
  for (const { name, validFrom } of await storedPlans(session)) {
    if (!planFrom.has(name)) planFrom.set(name, validFrom);
  }
  return {
    terms: await termsOf(session, accountNos),
    planFrom,
    settledUpTo,
    settledOf: isLater ? new Map<string, BatchDay>() : await settledDays(session, first, accountNos),
  };
}

/**
 * Decides for each row: new, known as it is, or a new version of what is known. A day of which an account is settled
 * keeps its terms, for the default terms a day of which any account is.
 */
export function decideTerms(
  rows: readonly Placed[],
  known: KnownTerms,
): { fresh: Omit<StoredTerms, 'id'>[]; outcome: UnitOutcome } {
  const stored = new Map(known.terms.map((terms) => [keyOf(terms), terms]));
  const here = new Map<string, Placed>();
  const fresh: Omit<StoredTerms, 'id'>[] = [];
  const rejected: RejectedRow[] = [];
  let [accepted, updated, repeated] = [0, 0, 0];
  for (const placed of rows) {
    const { line, row } = placed;
    const [first, before] = [here.get(keyOf(row)), stored.get(keyOf(row))];
    const problem = rowProblem(row, first, known);
    here.set(keyOf(row), first ?? placed);
    if (first !== undefined && problem === null) repeated += 1;
    else if (before !== undefined && isSameTerms(before, row)) repeated += 1;
    else if (problem !== null) rejected.push({ line, ...problem });
    else {
      fresh.push({ ...row, version: (before?.version ?? 0) + 1 });
      accepted += 1;
      if (before !== undefined) updated += 1;
    }
  }
  if (rejected.length > 0) return { fresh: [], outcome: refusal(rejected) };
  // Sorted, so that two importers cannot wait for one another.
  fresh.sort((a, b) => compareBytes(a.accountNo, b.accountNo));
  return { fresh, outcome: { accepted, updated, repeated, rejected: [] } };
}

function keyOf({ validFrom, accountNo }: AccountTerms): string {
  return `${validFrom} ${accountNo}`;
}

function rowProblem(
  row: AccountTerms,
  first: Placed | undefined,
  known: KnownTerms,
): { code: RowFaultCode; message: string } | null {
  const account = `account_no ${shown(row.accountNo)}`;
  if (first !== undefined) {
    if (isSameTerms(first.row, row)) return null;
    const where = `line ${String(first.line)}`;
    return { code: 'TERMS_OVERLAP', message: `${account} has other terms from ${row.validFrom} on in ${where}.` };
  }
  const planFrom = row.feePlan === null ? row.validFrom : known.planFrom.get(row.feePlan);
  if (planFrom === undefined || planFrom > row.validFrom) {
    const since = planFrom === undefined ? 'is not known; import it first' : `begins on ${planFrom} only`;
    return { code: 'UNKNOWN_FEE_PLAN', message: `fee_plan ${shown(row.feePlan ?? '')} ${since}.` };
  }
  const isDefault = row.accountNo === defaultAccount;
  const settled = isDefault ? known.settledUpTo : (known.settledOf.get(row.accountNo) ?? null);
  if (settled === null || row.validFrom > settled) return null;
  const message = `${account} is settled up to ${settled} by other terms; begin with a later valid_from.`;
  return { code: 'TERMS_IN_USE', message };
}
