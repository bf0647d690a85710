import { listedMax } from './ledgerProof.js';

/** The invariants that `settle verify` recomputes, in the order in which they are printed. */
export const verifyChecks = {
  'order-state': 'an order is in the state and version that its chunk and its journal entry call for',
  'order-chunk': 'a claimed order lies in a chunk of its own day',
  chunk: 'a chunk counts its orders and nets right',
  net: 'a net is the signed sum of its orders, and each claimed order is in one net',
  'net-message': 'each net has one message, each message one net',
  payload: 'a message says what its net and its orders say',
  'message-posted': 'a message is SENT only when the ledger has posted it',
  'journal-entry': 'a journal entry books exactly what its message says',
  terms: 'fees, reserves and debts are what the orders and the terms of the day make them',
  'journal-balance': 'debits equal credits in each journal entry',
  'ledger-entry': 'each ledger entry belongs to a journal entry and to the chart of accounts',
  balance: 'opening and movements make the closing balance of each account, currency and day',
  'hash-chain': 'a journal entry is what it was when it was posted, and each closed day is linked to the one before',
  period: 'a closed day takes no more entries: what comes later is booked on the day that is open',
  'append-only': 'the ledger refuses to change or remove its rows, and to add any to a closed day',
  batch: 'a closed batch has nothing left and counts its orders right',
  'source-total': 'the frozen source is what was settled, set aside or withdrawn',
  'withdrawn-order': 'a withdrawn order was not settled',
  reversal: 'a reversal takes back a settled order of its kind, never more than there was',
  payout: 'a payout is where its audit trail ends, and booked once for each move that moves money',
  'payout-transit': 'payouts on their way add up to what the ledger has in transit',
  deposit: 'a settled deposit has one order, one event, one executed review and one message, and they say the same',
  statement: 'a statement has the lines that it says, and each of them is matched or known to have no counterpart',
  'statement-match':
    'a line and the payout or order that it is matched with say the same, or a discrepancy tells of it',
  discrepancy: 'a discrepancy is where its history ends, and open only while its cause holds',
  'sub-ledger': "the merchants' nets add up to their control account",
  'trial-balance': 'debits equal credits over the whole ledger',
} as const;

export type VerifyCheckName = keyof typeof verifyChecks;

/** A row that cannot be true together with the others. */
export interface Contradiction {
  table: string;
  key: string;
  problem: string;
}

export interface VerifyCheck {
  name: VerifyCheckName;
  ok: boolean;
  /** Rows or sums looked at. */
  examined: number;
  /** At most 20; there may be more. */
  contradictions: Contradiction[];
}

/** Collects what the checks looked at and what they found. */
export class Checklist {
  /** `orders`: how the table of orders is called, where it is not ours. */
  constructor(private readonly orders = 'settlement_order') {}

  private readonly checks = new Map<VerifyCheckName, VerifyCheck>(
    (Object.keys(verifyChecks) as VerifyCheckName[]).map((name) => [
      name,
      { name, ok: true, examined: 0, contradictions: [] },
    ]),
  );

  examine(name: VerifyCheckName, rows: number): void {
    this.at(name).examined += rows;
  }

  contradict(name: VerifyCheckName, table: string, key: string, problem: string): void {
    const check = this.at(name);
    check.ok = false;
    if (check.contradictions.length < listedMax)
      check.contradictions.push({ table: table === 'settlement_order' ? this.orders : table, key, problem });
  }

  result(): VerifyCheck[] {
    return [...this.checks.values()];
  }

  private at(name: VerifyCheckName): VerifyCheck {
    const check = this.checks.get(name);
    if (check === undefined) throw new Error(`No check is called ${name}.`);
    return check;
  }
}
