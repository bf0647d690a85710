import type { Database } from '../db/database.js';
import { afterOthers } from '../db/afterOthers.js';
import type { Session, Transaction } from '../db/session.js';
import type { Unit } from '../db/transaction.js';
import { accountStatesOf, insertAccounts } from './accountsQueries.js';
import type { ImportKind, PlacedRow } from './importFiles.js';
import { magnitude } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import type { RejectedRow, RowFault } from './importProblems.js';
import { insertOrders, ordersByNo, type StoredOrder } from './importQueries.js';
import type { UnitOutcome } from './importTally.js';
import { reversalFault, reversibles, storedAmount, type Reversible } from './reversals.js';
import { differingColumns, orderColumns, readOrderRow, type OrderRow } from './orderRow.js';

/** How order files are imported. With `autoRegister` an order of an unknown account registers it as ACTIVE. */
export function orderImport(autoRegister: boolean): ImportKind<OrderRow> {
  const registered = new KnownAccounts();
  return {
    columns: orderColumns,
    readRow: readOrderRow,
    store: (database, rows, now) => storeOrders(database, rows, autoRegister ? registered : null, now),
  };
}

/**
 * Stores one unit of rows: all of it or nothing, and each order number once whoever else imports at the same time.
 * `registered` is null when unknown accounts are left to the run, which quarantines them.
 */
async function storeOrders(
  database: Database,
  rows: readonly PlacedRow<OrderRow>[],
  registered: KnownAccounts | null,
  now: string,
): Promise<UnitOutcome> {
  let plan: UnitPlan | undefined;
  const unit: Unit<UnitOutcome> = {
    name: 'import orders',
    work: async (trx) => {
      const stored = await ordersByNo(trx, [...new Set(rows.map(({ row }) => row.orderNo))]);
      const named = new Set(rows.flatMap(({ row }) => row.reversalOf ?? []));
      plan = planUnit(rows, stored, await reversibles(trx, [...named], true));
      if (registered !== null) await registerAccounts(trx, plan.fresh, registered, now);
      await insertOrders(trx, plan.fresh);
      return plan.outcome;
    },
    // All of the new orders are there as we have them: whoever wrote them, nothing is left to do. When the server says
    // that it was not us, planning again counts them as the repeats that they are.
    landed: async (session: Session, denied: boolean) => {
      const planned = plan;
      if (denied || planned === undefined || planned.fresh.length === 0) return undefined;
      const stored = await ordersByNo(
        session,
        planned.fresh.map((order) => order.orderNo),
      );
      const isThere = planned.fresh.every((order) => {
        const found = stored.get(order.orderNo);
        return found !== undefined && differingColumns(found, order).length === 0;
      });
      return isThere ? planned.outcome : undefined;
    },
  };
  const outcome = await afterOthers(() => database.transact(unit));
  registered?.add(plan?.fresh.map((order) => order.accountNo) ?? []);
  return outcome;
}

interface UnitPlan {
  /** Orders to insert, in the order of the file. */
  fresh: OrderRow[];
  outcome: UnitOutcome;
}

/**
 * Decides for each row: new, a repeat of what is known, in conflict with it (the first copy is always kept), or a
 * reversal that fits nothing.
 */
export function planUnit(
  rows: readonly PlacedRow<OrderRow>[],
  stored: ReadonlyMap<string, StoredOrder>,
  reversible: Map<string, Reversible> = new Map(),
): UnitPlan {
  const placed = new Map<string, PlacedRow<OrderRow>>();
  const fresh: OrderRow[] = [];
  const rejected: RejectedRow[] = [];
  let repeated = 0;
  for (const { line, row } of rows) {
    const before = stored.get(row.orderNo);
    const here = placed.get(row.orderNo);
    const first = before ?? here?.row;
    if (first === undefined) {
      const stored = storable(row, placed, reversible);
      if ('code' in stored) {
        rejected.push({ line, ...stored });
        continue;
      }
      placed.set(row.orderNo, { line, row });
      fresh.push(stored);
      continue;
    }
    const differing = differingColumns(first, row);
    if (differing.length === 0) repeated += 1;
    else {
      const where = before === undefined ? `in line ${String(here?.line)}` : `stored with id ${String(before.id)}`;
      rejected.push({
        line,
        code: 'DUPLICATE_CONFLICT',
        message: `order_no ${shown(row.orderNo)} is known with another ${differing.join(', ')}; the first copy, ${where}, is kept.`,
      });
    }
  }
  return { fresh, outcome: { accepted: fresh.length, updated: 0, repeated, rejected } };
}

/** A new row as it is stored, or why it cannot be beside those before it. */
function storable(
  row: OrderRow,
  placed: ReadonlyMap<string, PlacedRow<OrderRow>>,
  reversible: Map<string, Reversible>,
): OrderRow | RowFault {
  const { reversalOf } = row;
  if (reversalOf === null) return row;
  const inFile = placed.get(reversalOf)?.row;
  if (inFile !== undefined && !reversible.has(reversalOf)) {
    reversible.set(reversalOf, { ...inFile, state: 'INIT', isReversal: inFile.reversalOf !== null, reversedMinor: 0n });
  }
  const original = reversible.get(reversalOf);
  const reversal = { ...row, reversalOf };
  const fault = reversalFault(reversal, original);
  if (fault !== null || original === undefined) return fault ?? row;
  original.reversedMinor += magnitude(row.amountMinor);
  return { ...row, amountMinor: storedAmount(reversal, original) };
}

async function registerAccounts(
  trx: Transaction,
  orders: readonly OrderRow[],
  registered: KnownAccounts,
  now: string,
): Promise<void> {
  const unsure = [...new Set(orders.map((order) => order.accountNo))].filter((accountNo) => !registered.has(accountNo));
  const known = await accountStatesOf(trx, unsure);
  const unknown = unsure.filter((accountNo) => !known.has(accountNo));
  await insertAccounts(
    trx,
    unknown.map((accountNo) => ({ accountNo, state: 'ACTIVE' })),
    now,
  );
}

const knownAccountsMax = 100_000;

/** Accounts that are committed as registered: spares a look-up for each unit. Accounts are never removed. */
class KnownAccounts {
  private readonly accountNos = new Set<string>();

  has(accountNo: string): boolean {
    return this.accountNos.has(accountNo);
  }

  add(accountNos: readonly string[]): void {
    if (this.accountNos.size > knownAccountsMax) this.accountNos.clear();
    for (const accountNo of accountNos) this.accountNos.add(accountNo);
  }
}
