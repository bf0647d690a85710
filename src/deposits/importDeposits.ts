import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant } from '../db/values.js';
import { shown } from '../kernel/printable.js';
import type { ImportKind, PlacedRow } from '../orders/importFiles.js';
import type { RejectedRow } from '../orders/importProblems.js';
import type { UnitOutcome } from '../orders/importTally.js';
import { depositColumns, differingColumns, readDepositRow, type DepositRow } from './depositRow.js';
import type { ReasonCode } from './reasons.js';
import { depositOrders } from './queries.js';

/** How files of deposit orders are imported. `faultOf` tells why the configuration could never settle one, or null. */
export function depositImport(faultOf: (row: DepositRow) => ReasonCode | null): ImportKind<DepositRow> {
  return {
    columns: depositColumns,
    readRow: (values) => {
      const row = readDepositRow(values);
      const code = 'code' in row ? null : faultOf(row);
      if ('code' in row || code === null) return row;
      return { code: code as 'order-invalid', message: faultText(code, row) };
    },
    store: storeDeposits,
  };
}

function faultText(code: ReasonCode, { chainName, token, scene, amountRaw }: DepositRow): string {
  if (code === 'chain-not-configured') return `chain_name ${shown(chainName)} is not configured, or is switched off.`;
  if (code === 'token-not-allowed') return `token ${shown(token)} is not accepted on ${chainName}.`;
  return (
    `scene ${shown(scene)} cannot settle this order: it is not configured, or it credits an account that is not named, ` +
    `or amount_raw ${shown(amountRaw)} is not a whole number of minor units of the token's currency.`
  );
}

/** Stores one unit of rows: all of it or nothing, and each number once, whoever else imports at the same time. */
export function storeDeposits(
  database: Database,
  rows: readonly PlacedRow<DepositRow>[],
  now: string,
): Promise<UnitOutcome> {
  const unit = repeatable('import deposit orders', async (trx) => {
    const known = await depositOrders(trx, [...new Set(rows.map(({ row }) => row.outTradeNo))]);
    const { fresh, outcome } = decideDeposits(rows, known);
    await insertDeposits(trx, fresh, now);
    return outcome;
  });
  return afterOthers(() => database.transact(unit));
}

/** Decides for each row: new, a repeat of what is known, or in conflict with it; the first copy is always kept. */
export function decideDeposits(
  rows: readonly PlacedRow<DepositRow>[],
  known: ReadonlyMap<string, DepositRow>,
): { fresh: DepositRow[]; outcome: UnitOutcome } {
  const here = new Map<string, PlacedRow<DepositRow>>();
  const fresh: DepositRow[] = [];
  const rejected: RejectedRow[] = [];
  let repeated = 0;
  for (const placed of rows) {
    const { line, row } = placed;
    const before = known.get(row.outTradeNo) ?? here.get(row.outTradeNo)?.row;
    if (before === undefined) {
      here.set(row.outTradeNo, placed);
      fresh.push(row);
      continue;
    }
    const differing = differingColumns(before, row);
    if (differing.length === 0) repeated += 1;
    else {
      const message = `out_trade_no ${shown(row.outTradeNo)} is known with another ${differing.join(', ')}; the first copy is kept.`;
      rejected.push({ line, code: 'DUPLICATE_CONFLICT', message });
    }
  }
  return { fresh, outcome: { accepted: fresh.length, updated: 0, repeated, rejected } };
}

async function insertDeposits(trx: Transaction, rows: readonly DepositRow[], now: string): Promise<void> {
  const at = (instant: string | null): string | null => (instant === null ? null : fromInstant(trx.dialect, instant));
  await trx.insertMany(
    'deposit_order',
    [
      ...[
        'out_trade_no',
        'provider',
        'chain_name',
        'token',
        'receiver',
        'amount_raw',
        'required_confirmations',
        'scene',
      ],
      ...['account_no', 'created_at', 'expires_at', 'transaction_hash', 'log_index', 'imported_at'],
    ],
    rows.map((row) => [
      ...[row.outTradeNo, row.provider, row.chainName, row.token, row.receiver, row.amountRaw],
      ...[row.requiredConfirmations, row.scene, row.accountNo, at(row.createdAt), at(row.expiresAt)],
      ...[row.transactionHash, row.logIndex, at(now)],
    ]),
  );
}
