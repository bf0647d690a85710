import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, placeholders, toCount, toText, toTextOrNull } from '../db/values.js';
import { compareBytes } from '../kernel/ids.js';
import { shown } from '../kernel/printable.js';
import type { ImportKind, PlacedRow } from '../orders/importFiles.js';
import type { RejectedRow } from '../orders/importProblems.js';
import type { UnitOutcome } from '../orders/importTally.js';
import { beneficiaryColumns, isSameBeneficiary, readBeneficiaryRow, type Beneficiary } from './beneficiary.js';
import { accountsMax } from './positions.js';

/**
 * How files of beneficiaries are imported: whole or not at all. What an account had before is kept as an older version.
 * `channelFault` tells why the channel of a beneficiary could not pay it.
 */
export function beneficiaryImport(channelFault: (beneficiary: Beneficiary) => string | null): ImportKind<Beneficiary> {
  return {
    columns: beneficiaryColumns,
    whole: true,
    readRow: (values) => {
      const row = readBeneficiaryRow(values);
      const message = 'code' in row ? null : channelFault(row);
      return message === null ? row : { code: 'BAD_DESTINATION', message };
    },
    store: storeBeneficiaries,
  };
}

type Stored = Beneficiary & { version: number };

function storeBeneficiaries(
  database: Database,
  rows: readonly PlacedRow<Beneficiary>[],
  now: string,
): Promise<UnitOutcome> {
  const unit = repeatable('import beneficiaries', async (trx) => {
    const known = await beneficiariesOf(trx, [...new Set(rows.map(({ row }) => row.accountNo))]);
    const { fresh, outcome } = decideBeneficiaries(rows, known);
    const importedAt = fromInstant(trx.dialect, now);
    await trx.insertMany(
      'beneficiary',
      ['account_no', 'currency', 'version', 'channel', 'destination', 'holder', 'imported_at'],
      fresh.map((own) => [
        ...[own.accountNo, own.currency, own.version, own.channel, own.destination, own.holder, importedAt],
      ]),
    );
    return outcome;
  });
  return afterOthers(() => database.transact(unit));
}

/** Decides for each row: new, known as it is, or a new version of what is known. */
export function decideBeneficiaries(
  rows: readonly PlacedRow<Beneficiary>[],
  known: ReadonlyMap<string, Stored>,
): { fresh: Stored[]; outcome: UnitOutcome } {
  const here = new Map<string, PlacedRow<Beneficiary>>();
  const fresh: Stored[] = [];
  const rejected: RejectedRow[] = [];
  let [updated, repeated] = [0, 0];
  for (const placed of rows) {
    const { line, row } = placed;
    const key = keyOf(row);
    const [first, before] = [here.get(key), known.get(key)];
    here.set(key, first ?? placed);
    if (first !== undefined && !isSameBeneficiary(first.row, row)) {
      const message = `account_no ${shown(row.accountNo)} has another beneficiary in line ${String(first.line)}.`;
      rejected.push({ line, code: 'BENEFICIARY_TWICE', message });
    } else if (first !== undefined || (before !== undefined && isSameBeneficiary(before, row))) repeated += 1;
    else {
      fresh.push({ ...row, version: (before?.version ?? 0) + 1 });
      if (before !== undefined) updated += 1;
    }
  }
  if (rejected.length > 0) return { fresh: [], outcome: { accepted: 0, updated: 0, repeated: 0, rejected } };
  // Sorted, so that two importers cannot wait for one another.
  fresh.sort((a, b) => compareBytes(a.accountNo, b.accountNo) || compareBytes(a.currency, b.currency));
  return { fresh, outcome: { accepted: fresh.length, updated, repeated, rejected: [] } };
}

function keyOf({ accountNo, currency }: Pick<Beneficiary, 'accountNo' | 'currency'>): string {
  return `${currency} ${accountNo}`;
}

/** The newest beneficiaries of these accounts, by currency and account. */
async function beneficiariesOf(session: Session, accountNos: readonly string[]): Promise<Map<string, Stored>> {
  const found = new Map<string, Stored>();
  for (let start = 0; start < accountNos.length; start += accountsMax) {
    const part = accountNos.slice(start, start + accountsMax);
    const rows = await session.rows(
      `select account_no, currency, version, channel, destination, holder from beneficiary
        where account_no in (${placeholders(part)}) order by account_no, currency, version`,
      part,
    );
    for (const row of rows) {
      const own = {
        accountNo: toText(row['account_no']),
        currency: toText(row['currency']),
        version: toCount(row['version']),
        channel: toTextOrNull(row['channel']),
        destination: toText(row['destination']),
        holder: toText(row['holder']),
      };
      found.set(keyOf(own), own);
    }
  }
  return found;
}

/** Finds the beneficiary of an account in a currency: its own, or else the one it has for every currency. */
export async function beneficiaryLookup(
  session: Session,
  accountNos: readonly string[],
): Promise<(accountNo: string, currency: string) => Beneficiary | null> {
  const found = await beneficiariesOf(session, accountNos);
  return (accountNo, currency) =>
    found.get(keyOf({ accountNo, currency })) ?? found.get(keyOf({ accountNo, currency: '' })) ?? null;
}
