import { minorMax, scaleOf } from '../kernel/money.js';
import { StatementRefusal } from './refusal.js';
import type { StatementBalance, StatementEvent, StatementHead, StatementLine, StatementProblem } from './statement.js';

/** What one currency of a statement comes to. Credit is money in, debit money out, magnitudes. */
export interface StatementTotal {
  readonly currency: string;
  lines: number;
  creditMinor: bigint;
  debitMinor: bigint;
  feeMinor: bigint;
  /** What the lines make of the balance. */
  effectMinor: bigint;
  openingMinor: bigint | null;
  closingMinor: bigint | null;
}

/** A statement of a file, as far as it is kept when its lines are gone. */
export interface TalliedStatement extends StatementHead {
  readonly no: number;
  readonly totals: Map<string, StatementTotal>;
  firstDay: string | null;
  lastDay: string | null;
}

const problemsMax = 100;
/** A reader that hands out so many heads has lost its way; they are all kept in memory. */
const statementsMax = 100_000;

/** Follows the events of a reader: the shape they must have, totals, and what contradicts itself. No lines are kept. */
export class FileTally {
  readonly statements: TalliedStatement[] = [];
  readonly problems: StatementProblem[] = [];
  private current: TalliedStatement | null = null;

  /** The statement that the lines belong to that come now. */
  get open(): TalliedStatement {
    if (this.current === null) throw new StatementRefusal('BAD_RECORD', 'A line stands outside any statement.');
    return this.current;
  }

  take(event: Exclude<StatementEvent, { kind: 'line' }>): void {
    if (event.kind === 'open') this.begin(event.statement);
    else if (event.kind === 'balance') this.balance(event.balance);
    else if (event.kind === 'problem') this.problem(event.problem);
    else this.close();
  }

  /** A line that moved money. */
  add(line: StatementLine): void {
    const total = this.totalOf(line.currency);
    total.lines += 1;
    if (line.direction === 'CREDIT') total.creditMinor += line.amountMinor;
    else total.debitMinor += line.amountMinor;
    total.feeMinor += line.feeMinor ?? 0n;
    total.effectMinor += effectOf(line);
    const { open } = this;
    if (open.firstDay === null || line.bookedDay < open.firstDay) open.firstDay = line.bookedDay;
    if (open.lastDay === null || line.bookedDay > open.lastDay) open.lastDay = line.bookedDay;
  }

  problem(problem: StatementProblem): void {
    if (this.problems.length < problemsMax) this.problems.push(problem);
    else if (this.problems.length === problemsMax) {
      this.problems.push({ code: 'MORE_PROBLEMS', message: 'There are more problems.', line: null, column: null });
    }
  }

  /** By currency over the whole file. */
  byCurrency(): StatementTotal[] {
    const sums = new Map<string, StatementTotal>();
    for (const { totals } of this.statements) {
      for (const total of totals.values()) {
        const sum = sums.get(total.currency);
        if (sum === undefined) sums.set(total.currency, { ...total });
        else {
          sum.lines += total.lines;
          sum.creditMinor += total.creditMinor;
          sum.debitMinor += total.debitMinor;
          sum.feeMinor += total.feeMinor;
          sum.effectMinor += total.effectMinor;
          sum.openingMinor ??= total.openingMinor;
          sum.closingMinor = total.closingMinor ?? sum.closingMinor;
        }
      }
    }
    return [...sums.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1));
  }

  private begin(head: StatementHead): void {
    if (this.current !== null) throw new StatementRefusal('BAD_RECORD', 'A statement begins inside another.');
    if (this.statements.length === statementsMax) {
      throw new StatementRefusal('FILE_TOO_LARGE', `The file has more than ${String(statementsMax)} statements.`);
    }
    this.current = { ...head, no: this.statements.length + 1, totals: new Map(), firstDay: null, lastDay: null };
    this.statements.push(this.current);
  }

  private balance({ kind, currency, minor }: StatementBalance): void {
    const total = this.totalOf(currency);
    const field = kind === 'OPENING' ? 'openingMinor' : 'closingMinor';
    if (total[field] !== null) {
      throw new StatementRefusal('BALANCE_DIFFERS', `The statement has two ${kind} balances in ${currency}.`);
    }
    total[field] = minor;
  }

  private close(): void {
    const { totals } = this.open;
    for (const total of totals.values()) this.prove(total);
    this.current = null;
  }

  /** Readers prove their files by the rules of their format; this holds of every format that states both balances. */
  private prove(total: StatementTotal): void {
    const { currency, openingMinor, closingMinor, effectMinor, creditMinor, debitMinor, feeMinor } = total;
    if (openingMinor === null || closingMinor === null) return;
    const moved = closingMinor - openingMinor;
    // Formats differ in whether a fee is taken with its line.
    const gross = creditMinor - debitMinor;
    if (moved === effectMinor || moved === gross || moved === gross - feeMinor) return;
    if (this.problems.some(({ code }) => code === 'BALANCE_DIFFERS')) return;
    const message = `${currency}: opening ${String(openingMinor)} and lines of ${String(effectMinor)} do not make the closing ${String(closingMinor)} (minor units).`;
    this.problem({ code: 'BALANCE_DIFFERS', message, line: null, column: null });
  }

  private totalOf(currency: string): StatementTotal {
    const { totals } = this.open;
    const known = totals.get(currency);
    if (known !== undefined) return known;
    if (scaleOf(currency) === undefined) {
      throw new StatementRefusal('UNKNOWN_CURRENCY', `The currency "${currency}" is not known.`);
    }
    const none = { lines: 0, creditMinor: 0n, debitMinor: 0n, feeMinor: 0n, effectMinor: 0n };
    const total: StatementTotal = { currency, ...none, openingMinor: null, closingMinor: null };
    totals.set(currency, total);
    return total;
  }
}

/** What a line makes of the balance of its account: its net where the file states one, or else its amount. */
export function effectOf(line: StatementLine): bigint {
  if (line.netMinor !== null) return line.netMinor;
  return line.direction === 'CREDIT' ? line.amountMinor : -line.amountMinor;
}

/** Throws a StatementRefusal for a line whose amounts the database could not hold. */
export function requireLine({ amountMinor, feeMinor, netMinor, line }: StatementLine): void {
  const amounts = [amountMinor, feeMinor ?? 0n, netMinor ?? 0n];
  if (amountMinor >= 0n && amounts.every((minor) => minor <= minorMax && minor >= -minorMax)) return;
  throw new StatementRefusal('AMOUNT_OUT_OF_RANGE', 'An amount of the line is out of range.', line);
}
