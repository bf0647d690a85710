import { formatMinor, scaleOf } from '../../kernel/money.js';
import { shown } from '../../kernel/printable.js';
import { amountWords, readDecimal } from '../amounts.js';
import type { CsvProfile } from '../profile.js';
import { placeOf, type Dialect, type TextRecord } from '../records.js';
import { StatementRefusal } from '../refusal.js';
import type { StatementEvent } from '../statement.js';
import type { Problems } from './reading.js';
import type { Columns, Row } from './table.js';

/** The sums of the amount columns of a table, which its last row may repeat. */
export class CsvTotals {
  private readonly names: readonly string[];
  private readonly sums = new Map<string, bigint>();
  private currency: string | null = null;

  constructor(
    private readonly profile: CsvProfile,
    private readonly problems: Problems,
  ) {
    const { amount, credit, debit, fee, net } = profile.columns;
    this.names = [amount, credit, debit, fee, net].filter((name) => name !== null);
  }

  add(row: Row, currency: string, minorOf: (name: string) => bigint): void {
    if (this.profile.footer?.totals !== true) return;
    this.currency ??= currency;
    if (this.currency !== currency) {
      throw new StatementRefusal('UNKNOWN_CURRENCY', 'A table with totals has one currency.', row.line, 1);
    }
    for (const name of this.names) this.sums.set(name, (this.sums.get(name) ?? 0n) + minorOf(name));
  }

  /** A column that the last row leaves empty is not added up there; one of them must be filled. */
  *footer(columns: Columns, record: TextRecord, dialect: Dialect): Generator<StatementEvent> {
    if (this.profile.footer?.totals !== true) return;
    const currency = this.currency ?? this.profile.currency ?? 'EUR';
    let stated = 0;
    for (const name of this.names) {
      const at = columns.indexOf(name) ?? 0;
      const text = (record.fields[at] ?? '').trim();
      if (text === '') continue;
      stated += 1;
      const total = readDecimal(text, this.profile.decimals, scaleOf(currency) ?? 2);
      if (typeof total !== 'bigint') {
        throw new StatementRefusal(total, `${name}: ${amountWords(total, text)}`, ...placeOf(record, at, dialect));
      }
      const sum = this.sums.get(name) ?? 0n;
      if (total === sum) continue;
      const message = `${shown(name)} is ${formatMinor(total, currency)}, the rows add up to ${formatMinor(sum, currency)}.`;
      yield* this.problems.add('TOTAL_DIFFERS', message, ...placeOf(record, at, dialect));
    }
    if (stated === 0) throw new StatementRefusal('TRUNCATED', 'The last row has no sums.', record.line);
  }
}
