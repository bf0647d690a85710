import { formatMinor } from '../../kernel/money.js';
import type { StatementBalance, StatementEvent } from '../statement.js';
import { problem, type Place } from './place.js';

type Kind = StatementBalance['kind'];

/** The balances of a statement and what its lines move, by currency: opening and lines must make the closing balance. */
export class BalanceProof {
  private readonly balances = new Map<string, StatementBalance & { readonly place: Place }>();
  private readonly moved = new Map<string, { net: bigint; reversed: bigint }>();

  /** False where there is another of the kind and currency already, which stays. */
  state(balance: StatementBalance, place: Place): boolean {
    const key = `${balance.kind} ${balance.currency}`;
    const earlier = this.balances.get(key);
    if (earlier === undefined) this.balances.set(key, { ...balance, place });
    return earlier === undefined || earlier.minor === balance.minor;
  }

  of(kind: Kind): StatementBalance[] {
    return [...this.balances.values()]
      .filter((one) => one.kind === kind)
      .map(({ currency, minor, day }) => ({ kind, currency, minor, day }));
  }

  /** A booking: positive for money in. One that is marked as a reversal is counted twice: as it stands, and as such. */
  move(currency: string, signedMinor: bigint, isReversal: boolean): void {
    const moved = this.moved.get(currency) ?? { net: 0n, reversed: 0n };
    moved.net += signedMinor;
    if (isReversal) moved.reversed += signedMinor;
    this.moved.set(currency, moved);
  }

  /** What does not add up, in the currencies of balances and lines. A missing balance is a fault where one must be. */
  faults(required: boolean, end: Place): StatementEvent[] {
    const currencies = new Set([...this.moved.keys(), ...[...this.balances.values()].map(({ currency }) => currency)]);
    const found: StatementEvent[] = [];
    for (const currency of currencies) {
      const opening = this.balances.get(`OPENING ${currency}`);
      const closing = this.balances.get(`CLOSING ${currency}`);
      if (opening === undefined || closing === undefined) {
        const missing = opening === undefined ? 'opening' : 'closing';
        if (required) {
          found.push(
            problem(
              'BALANCE_DIFFERS',
              `The ${missing} balance in ${currency} is missing: nothing proves the lines.`,
              end,
            ),
          );
        }
        continue;
      }
      const { net, reversed } = this.moved.get(currency) ?? { net: 0n, reversed: 0n };
      if (opening.minor + net === closing.minor) continue;
      const hint =
        reversed !== 0n && opening.minor + net - 2n * reversed === closing.minor
          ? ' It would with the lines that are marked as reversals the other way round.'
          : '';
      const [from, by, to] = [opening.minor, net, closing.minor].map((minor) => formatMinor(minor, currency));
      const text = `Opening balance ${String(from)} and lines of ${String(by)} do not make the closing balance ${String(to)} ${currency}.`;
      found.push(problem('BALANCE_DIFFERS', text + hint, closing.place));
    }
    return found;
  }
}
