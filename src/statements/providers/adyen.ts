import { formatMinor, magnitude } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import { headText } from '../encoding.js';
import type { Dialect, TextRecord } from '../records.js';
import type { LineKind, StatementEvent, StatementFormat, StatementSettings } from '../statement.js';
import { atOffset, inZone, readLocalTime, type LocalTime } from '../times.js';
import { adyenColumns as name, grossInNet } from './adyenAmounts.js';
import { head, moneyLine, others } from './line.js';
import { Problems, readRecords, requireLineEnd, truncated, type Reading } from './reading.js';
import { Columns, Row } from './table.js';
import { offsetOf, zoneOf } from './zones.js';

const dialect: Dialect = { separator: ',', quotes: 'strict' };

const kinds: ReadonlyMap<string, LineKind> = new Map([
  ...['Settled', 'SettledBulk', 'SettledInInstallments', 'SettledReversed'].map((type) => [type, 'PAYMENT'] as const),
  ...['Refunded', 'RefundedBulk', 'RefundedReversed'].map((type) => [type, 'REFUND'] as const),
  ...['Chargeback', 'SecondChargeback', 'ChargebackReversed'].map((type) => [type, 'DISPUTE'] as const),
  ...['Fee', 'InvoiceDeduction', 'PaymentCost'].map((type) => [type, 'FEE'] as const),
  ...['MerchantPayout', 'MerchantPayin', 'Balancetransfer', 'BalanceTransfer', 'InternalCompanyPayout'].map(
    (type) => [type, 'TRANSFER'] as const,
  ),
  ['PaidOut', 'PAYOUT'],
  ['PaidOutReversed', 'RETURN'],
  ['BankInstructionReturned', 'RETURN'],
]);

/**
 * Adyen's settlement detail report. A line is in the currency in which it is settled; each batch is a statement, whose
 * lines with the payout and what is carried over add up to zero.
 */
export const adyenSettlement: StatementFormat = {
  name: 'adyen-settlement-detail',
  sniff: (bytes) => {
    const names = (headText(bytes)?.split(/\r?\n/, 1)[0] ?? '').split(',').map((one) => one.replaceAll('"', ''));
    return Object.values(name).every((one) => names.includes(one));
  },
  read: (source, settings) => readRecords(source, 'utf-8', dialect, new AdyenReading(settings)),
};

class AdyenReading implements Reading {
  private columns: Columns | null = null;
  private batch: { key: string; sums: Map<string, bigint> } | null = null;
  private readonly closed = new Set<string>();
  private readonly problems = new Problems();
  private line = 1;

  constructor(private readonly settings: StatementSettings) {}

  *record(record: TextRecord): Generator<StatementEvent> {
    this.line = record.line;
    if (this.columns === null) {
      this.columns = new Columns(record, dialect);
      this.columns.require(Object.values(name), record.line);
      return;
    }
    const row = new Row(this.columns, record, dialect);
    yield* this.batchOf(row);
    yield* this.row(row);
  }

  *end(endedWhole: boolean): Generator<StatementEvent> {
    if (this.columns === null) throw truncated('There is no header.');
    if (this.batch === null) throw truncated('There is no batch: each has at least its payout.', this.line);
    requireLineEnd(endedWhole, this.line);
    yield* this.closeBatch();
    yield* this.problems.rest();
  }

  private *batchOf(row: Row): Generator<StatementEvent> {
    const [merchant, batch] = [row.text(name.merchant), row.text(name.batch)];
    if (!/^[0-9]{1,18}$/.test(batch)) throw row.refusal('BAD_RECORD', name.batch, `${shown(batch)} is no number.`);
    const key = `${merchant}|${batch}`;
    if (this.batch?.key === key) return;
    yield* this.closeBatch();
    if (this.closed.has(key)) {
      throw row.refusal('BAD_RECORD', name.batch, `The rows of batch ${batch} do not stand together.`);
    }
    this.closed.add(key);
    this.batch = { key, sums: new Map() };
    yield head({ accountRef: merchant || null, sequence: { number: BigInt(batch), page: 1, lastPage: true } });
  }

  private *closeBatch(): Generator<StatementEvent> {
    if (this.batch === null) return;
    for (const [currency, sum] of this.batch.sums) {
      if (sum === 0n) continue;
      const message = `Batch ${this.batch.key.split('|')[1] ?? ''} does not add up to zero with its payout: ${formatMinor(sum, currency)} ${currency} are left.`;
      yield* this.problems.add('BALANCE_DIFFERS', message, null);
    }
    yield { kind: 'close' };
    this.batch = null;
  }

  private *row(row: Row): Generator<StatementEvent> {
    const { code, scale } = row.currency(name.netCurrency);
    const amounts = grossInNet(row, code, scale);
    // What is settled elsewhere has a gross amount only.
    if (amounts === null) return;
    const { gross, fee, net, fault } = amounts;
    this.batch?.sums.set(code, (this.batch.sums.get(code) ?? 0n) + net);
    yield this.lineOf(row, code, gross, fee, net);
    if (fault !== null) yield* this.problems.add(fault.code, fault.message, ...row.place(fault.column));
  }

  private lineOf(row: Row, currency: string, gross: bigint, fee: bigint, net: bigint): StatementEvent {
    const type = row.text(name.type);
    if (!/^[A-Za-z]+$/.test(type)) throw row.refusal('UNKNOWN_TYPE', name.type, `${shown(type)} is no type.`);
    const [psp, modification] = [row.id(name.psp), row.id(name.modification)];
    const [order, change] = [row.id(name.ours), row.id('Modification Merchant Reference')];
    const kind = kinds.get(type) ?? 'OTHER';
    const isChange = kind !== 'PAYMENT';
    const [ours, theirs] = isChange ? [change ?? order, modification ?? psp] : [order, psp];
    const time = this.timeOf(row, name.created, name.zone);
    const booked = row.text('Booking Date') === '' ? time : this.timeOf(row, 'Booking Date', 'Booking Date TimeZone');
    return moneyLine(gross === 0n ? net : gross, {
      line: row.line,
      kind,
      channelType: type,
      currency,
      amountMinor: magnitude(gross),
      feeMinor: fee,
      netMinor: net,
      ourReference: ours ?? null,
      channelReference: theirs ?? null,
      otherReferences: others(
        [ours ?? null, theirs ?? null],
        [order, psp, modification, row.id('Merchant Order Reference')],
      ),
      // A fee without a payment has no number that another fee could not have.
      lineKey: psp === null ? null : [type, psp, modification ?? '', row.text(name.batch)].join('|'),
      batchReference: row.text(name.batch),
      occurredAt: time.instant,
      bookedDay: booked.day,
    });
  }

  private timeOf(row: Row, column: string, zoneColumn: string): LocalTime & { instant: string } {
    const text = row.text(column);
    const time = readLocalTime(text);
    if (time === null) throw row.refusal('BAD_TIME', column, `${shown(text)} is no time.`);
    const zone = row.text(zoneColumn);
    const offset = offsetOf(zone);
    if (offset !== null) return { ...time, instant: atOffset(time, offset) };
    const named = zoneOf(zone) ?? this.settings.timeZone;
    if (named === null) {
      throw row.refusal(
        'BAD_TIME',
        zoneColumn,
        `${shown(zone)} may be several zones: name one in the channel's settings.`,
      );
    }
    const instant = inZone(time, named);
    if (instant === null) throw row.refusal('BAD_TIME', column, 'The clocks skip this time.');
    return { ...time, instant };
  }
}
