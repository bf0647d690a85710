import { invariant } from '../kernel/invariant.js';
import { minorMax } from '../kernel/money.js';
import type { OrderType } from '../kernel/states.js';
import { payableEffect, termsReasons, type TermsLine, type TermsReason } from '../terms/termsLine.js';

/** Lines of the chart of accounts that settlement books to; the whole chart is the table `ledger_account`. */
export type LedgerAccountCode =
  | 'CHANNEL_RECEIVABLE'
  | 'CHANNEL_CASH'
  | 'MERCHANT_PAYABLE'
  | 'PAYOUT_IN_TRANSIT'
  | 'FEE_INCOME'
  | 'ADJUSTMENTS'
  | (typeof termsReasons)[TermsReason][number];
export type Side = 'DEBIT' | 'CREDIT';

/** One leg: ledger account, account of its sub-ledger ('' where it has none), side, positive amount. */
export interface LedgerEntry {
  readonly ledgerAccount: LedgerAccountCode;
  readonly subAccount: string;
  readonly side: Side;
  readonly amountMinor: bigint;
  readonly currency: string;
  /** Which of the account's terms it comes from; absent where it comes from orders. */
  readonly reason?: TermsReason;
}

/** One economic event: two or more ledger entries, debits = credits per currency. */
export interface JournalEntry {
  readonly bizNo: string;
  readonly entries: readonly LedgerEntry[];
}

/** What is booked: the same shape as a message of the outbox, of which only this much matters here. */
export interface Settlement {
  readonly bizNo: string;
  readonly accountNo: string;
  readonly currency: string;
  readonly netMinor: bigint;
  readonly lines: readonly { type: OrderType; channel: string; amountMinor: bigint }[];
  readonly terms?: readonly TermsLine[];
}

/**
 * Books a settlement. Payments: Dr channel receivable / Cr merchant payable; refunds the reverse; fees: Dr merchant
 * payable / Cr fee income; adjustments: Dr adjustments / Cr merchant payable. A negative amount (an adjustment's, or what
 * a reversal takes back) turns the sides. Legs of one side of one account and reason are merged; amounts of zero leave no
 * leg, so a settlement of zeros is an entry without legs.
 */
export function settlementEntry({ bizNo, accountNo, currency, netMinor, lines, terms = [] }: Settlement): JournalEntry {
  const legs: OpenLeg[] = [];
  for (const { type, channel, amountMinor } of lines) {
    if (amountMinor === 0n) continue;
    const magnitude = amountMinor < 0n ? -amountMinor : amountMinor;
    const raises = (type === 'PAYMENT' || type === 'ADJUSTMENT') === amountMinor > 0n;
    const [counter, sub] = counterAccount(type, channel);
    addLeg(legs, {
      ledgerAccount: counter,
      subAccount: sub,
      side: raises ? 'DEBIT' : 'CREDIT',
      amountMinor: magnitude,
      currency,
    });
    addLeg(legs, {
      ledgerAccount: 'MERCHANT_PAYABLE',
      subAccount: accountNo,
      side: raises ? 'CREDIT' : 'DEBIT',
      amountMinor: magnitude,
      currency,
    });
  }
  for (const line of terms) addTermsLegs(legs, line, accountNo, currency);
  const entry = { bizNo, entries: legs };
  assertBalanced(entry);
  assertEffect(
    entry,
    terms.reduce((sum, line) => sum + payableEffect(line), netMinor),
  );
  return entry;
}

function addTermsLegs(legs: OpenLeg[], { reason, amountMinor }: TermsLine, accountNo: string, currency: string): void {
  const isPositive = amountMinor > 0n;
  const [debited, credited] = termsReasons[reason];
  for (const ledgerAccount of [debited, credited]) {
    addLeg(legs, {
      ledgerAccount,
      subAccount: ledgerAccount === 'FEE_INCOME' || ledgerAccount === 'ROUNDING' ? '' : accountNo,
      side: (ledgerAccount === debited) === isPositive ? 'DEBIT' : 'CREDIT',
      amountMinor: isPositive ? amountMinor : -amountMinor,
      currency,
      reason,
    });
  }
}

type OpenLeg = { -readonly [Key in keyof LedgerEntry]: LedgerEntry[Key] };

function counterAccount(type: OrderType, channel: string): [LedgerAccountCode, string] {
  if (type === 'FEE') return ['FEE_INCOME', ''];
  return type === 'ADJUSTMENT' ? ['ADJUSTMENTS', ''] : ['CHANNEL_RECEIVABLE', channel];
}

function addLeg(legs: OpenLeg[], leg: OpenLeg): void {
  for (const known of legs) {
    const same = known.ledgerAccount === leg.ledgerAccount && known.side === leg.side;
    if (!same || known.subAccount !== leg.subAccount || known.reason !== leg.reason) continue;
    known.amountMinor += leg.amountMinor;
    return;
  }
  legs.push(leg);
}

/** What must hold of any journal entry before it may be posted. */
export function assertBalanced({ bizNo, entries }: JournalEntry): void {
  invariant(
    entries.length === 0 || entries.length >= 2,
    'JOURNAL_ENTRY_TOO_SHORT',
    `Journal entry ${bizNo} has one leg only.`,
  );
  const balance = new Map<string, bigint>();
  for (const { amountMinor, side, currency } of entries) {
    invariant(
      amountMinor > 0n && amountMinor <= minorMax,
      'LEDGER_AMOUNT_NOT_POSITIVE',
      `Journal entry ${bizNo} has a leg of ${String(amountMinor)}.`,
    );
    balance.set(currency, (balance.get(currency) ?? 0n) + (side === 'DEBIT' ? amountMinor : -amountMinor));
  }
  for (const [currency, difference] of balance) {
    invariant(
      difference === 0n,
      'JOURNAL_ENTRY_UNBALANCED',
      `Journal entry ${bizNo} is out of balance by ${String(difference)} ${currency}.`,
      { bizNo, currency, difference },
    );
  }
}

/** What the account is owed after the entry differs by the net and what the terms make of it, no more and no less. */
function assertEffect({ bizNo, entries }: JournalEntry, dueMinor: bigint): void {
  let effect = 0n;
  for (const { ledgerAccount, side, amountMinor } of entries) {
    if (ledgerAccount === 'MERCHANT_PAYABLE') effect += side === 'CREDIT' ? amountMinor : -amountMinor;
  }
  invariant(effect === dueMinor, 'NET_DIFFERS_FROM_ORDERS', `Journal entry ${bizNo} does not book its net.`, {
    bizNo,
    booked: effect,
    net: dueMinor,
  });
}
