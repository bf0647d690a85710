import { formatMinor } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import { headText } from '../encoding.js';
import type { Dialect, TextRecord } from '../records.js';
import type { LineKind, StatementEvent, StatementFormat, StatementSettings } from '../statement.js';
import { atOffset, inZone, readLocalTime, type LocalTime } from '../times.js';
import { head, moneyLine, others } from './line.js';
import { Problems, readRecords, requireLineEnd, truncated, type Reading } from './reading.js';
import { Columns, Row } from './table.js';

const dialect: Dialect = { separator: ',', quotes: 'strict' };

const required = ['balance_transaction_id', 'currency', 'gross', 'fee', 'net', 'reporting_category'];

const kinds: ReadonlyMap<string, LineKind> = new Map([
  ['charge', 'PAYMENT'],
  ['charge_failure', 'REFUND'],
  ['refund', 'REFUND'],
  ['refund_failure', 'REFUND'],
  ['partial_capture_reversal', 'REFUND'],
  ['dispute', 'DISPUTE'],
  ['dispute_reversal', 'DISPUTE'],
  ['fee', 'FEE'],
  ['network_cost', 'FEE'],
  ['tax', 'FEE'],
  ['transfer', 'PAYOUT'],
  ['transfer_reversal', 'RETURN'],
  ['topup', 'TRANSFER'],
  ['topup_reversal', 'TRANSFER'],
]);

/** Columns of metadata that hold a number of ours, in the order of trust; settle_key is what our own payouts carry. */
const ourColumns = ['settle_key', 'order_no', 'order_id'].flatMap((key) =>
  ['payment', 'refund', 'transfer'].map((object) => `${object}_metadata[${key}]`),
);

const channelColumns = ['source_id', 'charge_id', 'payment_intent_id', 'balance_transaction_id'];

/** The header's names, if the file is one of these reports; they may be chosen and put in any order. */
function namesIn(bytes: Buffer): readonly string[] {
  const names = (headText(bytes)?.split(/\r?\n/, 1)[0] ?? '').split(',').map((name) => name.replaceAll('"', ''));
  return required.every((name) => names.includes(name)) ? names : [];
}

function leadsWithPayout(names: readonly string[]): boolean {
  const payout = names.indexOf('automatic_payout_id');
  return payout >= 0 && payout < names.indexOf('balance_transaction_id');
}

/** Stripe's payout_reconciliation.itemized.5: what went into each payout. */
export const stripePayouts: StatementFormat = {
  name: 'stripe-payout-reconciliation',
  sniff: (bytes) => leadsWithPayout(namesIn(bytes)),
  read: (source, settings) => readRecords(source, 'utf-8', dialect, new StripeReading(settings, true)),
};

/** Stripe's balance_change_from_activity.itemized.3: what changed the balance, payouts apart. */
export const stripeActivity: StatementFormat = {
  name: 'stripe-balance-activity',
  sniff: (bytes) => namesIn(bytes).length > 0 && !leadsWithPayout(namesIn(bytes)),
  read: (source, settings) => readRecords(source, 'utf-8', dialect, new StripeReading(settings, false)),
};

interface Payout {
  readonly id: string;
  readonly currency: string;
  net: bigint;
  hasPayout: boolean;
}

class StripeReading implements Reading {
  private columns: Columns | null = null;
  private readonly payouts = new Map<string, Payout>();
  private readonly problems = new Problems();
  private line = 1;

  constructor(
    private readonly settings: StatementSettings,
    private readonly byPayout: boolean,
  ) {}

  *record(record: TextRecord): Generator<StatementEvent> {
    this.line = record.line;
    if (this.columns !== null) {
      yield* this.row(new Row(this.columns, record, dialect));
      return;
    }
    const columns = new Columns(record, dialect);
    columns.require(this.byPayout ? [...required, 'automatic_payout_id'] : required, record.line);
    if (!columns.has('created_utc')) columns.require(['created'], record.line);
    this.columns = columns;
    yield head();
  }

  *end(endedWhole: boolean): Generator<StatementEvent> {
    if (this.columns === null) throw truncated('There is no header.');
    requireLineEnd(endedWhole, this.line);
    for (const { id, currency, net, hasPayout } of this.payouts.values()) {
      if (!hasPayout || net === 0n) continue;
      const message = `Payout ${shown(id)} and what is in it differ by ${formatMinor(net, currency)} ${currency}.`;
      yield* this.problems.add('BALANCE_DIFFERS', message, null);
    }
    yield* this.problems.rest();
    yield { kind: 'close' };
  }

  private *row(row: Row): Generator<StatementEvent> {
    const { code, scale } = row.currency('currency');
    const [gross, fee, net] = ['gross', 'fee', 'net'].map((name) => row.requiredAmount(name, scale)) as [
      bigint,
      bigint,
      bigint,
    ];
    const category = row.text('reporting_category');
    if (!/^[a-z][a-z0-9_]*$/.test(category)) {
      throw row.refusal('UNKNOWN_TYPE', 'reporting_category', `${shown(category)} is no category.`);
    }
    const transaction = row.id('balance_transaction_id');
    if (transaction === null) throw row.refusal('BAD_RECORD', 'balance_transaction_id', 'There is no number.');
    const payout = row.id('automatic_payout_id');
    if (payout !== null) this.add(payout, code, net, category);
    const ours = this.first(row, ourColumns) ?? row.id('transfer_group');
    const theirs = this.first(row, channelColumns);
    const time = this.time(row);
    yield moneyLine(gross === 0n ? net : gross, {
      line: row.line,
      kind: this.kindOf(category, payout),
      channelType: category,
      currency: code,
      amountMinor: gross < 0n ? -gross : gross,
      feeMinor: fee,
      netMinor: net,
      ourReference: ours,
      channelReference: theirs,
      otherReferences: others(
        [ours, theirs],
        channelColumns.map((name) => row.id(name)),
      ),
      lineKey: transaction,
      batchReference: payout,
      occurredAt: time.instant,
      bookedDay: time.day,
    });
    if (net !== gross - fee) {
      const message = `net is ${formatMinor(net, code)}, gross - fee is ${formatMinor(gross - fee, code)}.`;
      yield* this.problems.add('NET_DIFFERS', message, ...row.place('net'));
    }
  }

  /** An automatic payout sweeps to our bank; one that was made by hand is one that we sent. */
  private kindOf(category: string, payout: string | null): LineKind {
    if (category === 'payout') return payout === null ? 'PAYOUT' : 'TRANSFER';
    if (category === 'payout_reversal') return payout === null ? 'RETURN' : 'TRANSFER';
    return kinds.get(category) ?? 'OTHER';
  }

  private add(id: string, currency: string, net: bigint, category: string): void {
    if (!this.byPayout) return;
    const key = `${id} ${currency}`;
    const payout = this.payouts.get(key) ?? { id, currency, net: 0n, hasPayout: false };
    payout.net += net;
    payout.hasPayout ||= category === 'payout';
    this.payouts.set(key, payout);
  }

  private first(row: Row, names: readonly string[]): string | null {
    for (const name of names) {
      const value = row.id(name);
      if (value !== null) return value;
    }
    return null;
  }

  /** `created` is in the zone that was asked for, which the file does not say: UTC if none was. */
  private time(row: Row): LocalTime & { instant: string } {
    const [local, utc] = ['created', 'created_utc'].map((name) => this.timeIn(row, name));
    const time = local ?? utc;
    if (time === undefined || time === null) throw row.refusal('BAD_TIME', 'created_utc', 'There is no time.');
    if (utc !== null && utc !== undefined) return { ...time, instant: atOffset(utc, 'Z') };
    const instant = inZone(time, this.settings.timeZone ?? 'UTC');
    if (instant === null) throw row.refusal('BAD_TIME', 'created', 'The clocks skip this time.');
    return { ...time, instant };
  }

  private timeIn(row: Row, name: string): LocalTime | null {
    const text = row.text(name);
    if (text === '') return null;
    const time = readLocalTime(text);
    if (time === null) throw row.refusal('BAD_TIME', name, `${shown(text)} is no time.`);
    return time;
  }
}
