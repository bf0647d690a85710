import { nearest } from '../../kernel/nearest.js';
import { shown } from '../../kernel/printable.js';
import { amountWords, plainStyle, readDecimal, scaleOrRefuse, type DecimalStyle } from '../amounts.js';
import { placeOf, type Dialect, type TextRecord } from '../records.js';
import { StatementRefusal, type StatementRefusalCode } from '../refusal.js';

/** The header of a table: where each column is. Names are compared as they stand, after `tidy`. */
export class Columns {
  private readonly positions = new Map<string, number>();
  readonly names: readonly string[];

  /** Throws DUPLICATE_COLUMN. */
  constructor(header: TextRecord, dialect: Dialect, tidy: (name: string) => string = (name) => name) {
    this.names = header.fields.map(tidy);
    for (const [at, name] of this.names.entries()) {
      if (name !== '' && this.positions.has(name)) {
        const message = `The header names the column ${shown(name)} more than once.`;
        throw new StatementRefusal('DUPLICATE_COLUMN', message, ...placeOf(header, at, dialect));
      }
      this.positions.set(name, at);
    }
  }

  has(name: string): boolean {
    return this.positions.has(name);
  }

  /**
   * Whether there is a column that not every file of the format has. Throws MISSING_COLUMN where one is named almost so:
   * its damaged name must not make it vanish.
   */
  hasOptional(name: string, line: number): boolean {
    if (this.has(name)) return true;
    const almost = this.names.find((one) => nearest(one, [name]) !== null);
    if (almost === undefined) return false;
    const message = `The column ${shown(almost)} is not ${shown(name)}, and almost so.`;
    throw new StatementRefusal('MISSING_COLUMN', message, line);
  }

  indexOf(name: string): number | undefined {
    return this.positions.get(name);
  }

  /** Throws MISSING_COLUMN. */
  require(names: readonly string[], line: number): void {
    const missing = names.filter((name) => !this.has(name));
    if (missing.length === 0) return;
    throw new StatementRefusal('MISSING_COLUMN', `The header has no column ${missing.map(shown).join(', ')}.`, line);
  }
}

/** Numbers that a spreadsheet has destroyed, and cells that it would compute. */
const mangled = /^[+-]?[0-9]+([.,][0-9]+)?[eE][+-]?[0-9]+$|^=|^#(NAME|REF|VALUE|DIV\/0|NUM|N\/A)[!?]?$|^#{3,}$/;

/** One row of a table, read by column name; what it refuses names line and column. */
export class Row {
  constructor(
    private readonly columns: Columns,
    private readonly record: TextRecord,
    private readonly dialect: Dialect,
    private readonly tidy: (value: string) => string = (value) => value,
  ) {
    if (record.fields.length !== columns.names.length) {
      const message = `The row has ${String(record.fields.length)} fields, the header ${String(columns.names.length)}.`;
      throw new StatementRefusal('BAD_FIELD_COUNT', message, record.line, 1);
    }
  }

  get line(): number {
    return this.record.line;
  }

  /** Empty where there is no such column. */
  text(name: string): string {
    const at = this.columns.indexOf(name);
    return at === undefined ? '' : this.tidy(this.record.fields[at] ?? '');
  }

  /** A reference; null for an empty one and for those in `none`. Throws MANGLED_ID. */
  id(name: string, none: readonly string[] = []): string | null {
    const value = this.text(name);
    if (value === '' || none.includes(value)) return null;
    if (mangled.test(value)) {
      throw this.refusal('MANGLED_ID', name, `${shown(value)} is what a spreadsheet makes of a long number.`);
    }
    return value;
  }

  /** Decimals of the currency in a column. Throws UNKNOWN_CURRENCY. */
  currency(name: string): { code: string; scale: number } {
    const code = this.text(name).toUpperCase();
    const [line, column] = this.place(name);
    return { code, scale: scaleOrRefuse(code, line, column) };
  }

  /** Minor units; null for an empty field. Throws BAD_AMOUNT, TOO_MANY_DECIMALS, AMOUNT_OUT_OF_RANGE. */
  amount(name: string, scale: number, style: DecimalStyle = plainStyle): bigint | null {
    const value = this.text(name);
    if (value === '') return null;
    const minor = readDecimal(value, style, scale);
    if (typeof minor !== 'bigint') throw this.refusal(minor, name, amountWords(minor, value));
    return minor;
  }

  /** The same where an empty field is no amount. */
  requiredAmount(name: string, scale: number, style: DecimalStyle = plainStyle): bigint {
    const minor = this.amount(name, scale, style);
    if (minor === null) throw this.refusal('BAD_AMOUNT', name, 'There is no amount.');
    return minor;
  }

  refusal(code: StatementRefusalCode, name: string, message: string): StatementRefusal {
    const [line, column] = this.place(name);
    return new StatementRefusal(code, `${name}: ${message}`, line, column);
  }

  place(name: string): [line: number, column: number] {
    return placeOf(this.record, this.columns.indexOf(name) ?? 0, this.dialect);
  }
}
