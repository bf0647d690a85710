import type { Session } from '../db/session.js';
import { compareBytes } from '../kernel/ids.js';
import { waitingTotals, type SettledTotal } from '../orders/reportQueries.js';
import { signed } from './currencyTotals.js';
import type { LedgerTotal } from './ledgerQueries.js';
import * as queries from './queries.js';

export interface Amounts {
  orders: number;
  netMinor: bigint;
}

/** One currency followed through every record of the day. */
export interface TieOut {
  currency: string;
  /** Frozen at the last start of a run, and what of it is not claimed: of accounts set aside, or not yet settled. */
  source: Amounts;
  setAside: Amounts;
  waiting: Amounts;
  claimed: Amounts;
  nets: Amounts;
  outbox: Amounts;
  posted: Amounts;
  /** What the merchant payable control account gained by the orders. */
  ledgerNetMinor: bigint;
  /** Whether claimed, nets, outbox, posted and ledger are one and the same. */
  agrees: boolean;
}

const places = ['source', 'setAside', 'waiting', 'claimed', 'nets', 'outbox', 'posted'] as const;

/** Count and signed sum of a day at every place where it is recorded, per currency in order of its code. */
export async function tieOutOf(
  session: Session,
  batch: queries.BatchRow,
  settled: readonly SettledTotal[],
  booked: readonly LedgerTotal[],
): Promise<TieOut[]> {
  const rows = new Map<string, TieOut>();
  const row = (currency: string): TieOut => {
    const found = rows.get(currency) ?? emptyTieOut(currency);
    rows.set(currency, found);
    return found;
  };
  const add = (currency: string, place: (typeof places)[number], orders: number, netMinor: bigint): void => {
    const amounts = row(currency)[place];
    amounts.orders += orders;
    amounts.netMinor += netMinor;
  };
  for (const { currency, type, orders, amountMinor } of await queries.sourceTotals(session, batch.batchDay)) {
    add(currency, 'source', orders, signed(type, amountMinor));
  }
  for (const total of settled) {
    add(total.currency, 'claimed', total.orders, signed(total.type, total.amountMinor));
    add(total.currency, 'posted', total.posted, signed(total.type, total.postedMinor));
  }
  for (const total of await waitingTotals(session, batch.batchDay, batch.topId)) {
    add(total.currency, total.setAside ? 'setAside' : 'waiting', total.orders, total.netMinor);
  }
  for (const net of await queries.netTotals(session, batch.batchDay)) {
    add(net.currency, 'nets', net.orders, net.netMinor);
  }
  for (const message of await queries.messageTotals(session, batch.batchDay)) {
    add(message.currency, 'outbox', message.orders, message.netMinor);
  }
  for (const { currency, payableMinor } of booked) row(currency).ledgerNetMinor += payableMinor;
  for (const tieOut of rows.values()) tieOut.agrees = agree(tieOut);
  return [...rows.values()].sort((a, b) => compareBytes(a.currency, b.currency));
}

function agree({ claimed, nets, outbox, posted, ledgerNetMinor }: TieOut): boolean {
  const same = (other: Amounts): boolean => other.orders === claimed.orders && other.netMinor === claimed.netMinor;
  return same(nets) && same(outbox) && same(posted) && ledgerNetMinor === claimed.netMinor;
}

function emptyTieOut(currency: string): TieOut {
  const amounts = Object.fromEntries(places.map((place) => [place, { orders: 0, netMinor: 0n }])) as Record<
    (typeof places)[number],
    Amounts
  >;
  return { currency, ...amounts, ledgerNetMinor: 0n, agrees: true };
}
