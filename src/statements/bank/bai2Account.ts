import type { BatchDay } from '../../kernel/batchDay.js';
import { minorMax } from '../../kernel/money.js';
import type { StatementEvent, StatementLine } from '../statement.js';
import { minorOfDigits } from './amounts.js';
import { accountOf, detailOf, type Bai2Detail, type Bai2Record, type Bai2Summary } from './bai2Records.js';
import { isCreditType, kindOfType } from './bai2Types.js';
import { problem, refusal, shown, type Place } from './place.js';
import { BalanceProof } from './proof.js';
import { lineKeyOf, otherReferences, referenceOf } from './references.js';

interface Side {
  count: bigint;
  sum: bigint;
}

/** An account (03) of a group: its balances and totals, and what its transactions make of them. */
export class Bai2Account {
  readonly currency: string;
  /** As for the trailer (49): all amounts of the account, balances too, and its records without the trailer. */
  total = 0n;
  records: bigint;

  private readonly number: string;
  private readonly proof = new BalanceProof();
  private readonly stated = new Map<string, { minor: bigint; count: string }>();
  private readonly found: Record<'100' | '400', Side> = {
    '100': { count: 0n, sum: 0n },
    '400': { count: 0n, sum: 0n },
  };
  private readonly place: Place;

  constructor(
    record: Bai2Record,
    private readonly group: { readonly day: BatchDay; readonly currency: string; readonly intraday: boolean },
  ) {
    const { number, currency, summaries } = accountOf(record);
    if (number === '') throw refusal('BAD_RECORD', 'The account (03) has no number.', record.place);
    this.number = number;
    this.currency = currency === '' ? group.currency : currency;
    this.records = BigInt(record.bodies.length);
    this.place = record.place;
    for (const summary of summaries) this.summary(summary);
  }

  open(): StatementEvent[] {
    const { number, group } = this;
    const statement = {
      accountRef: number,
      sequence: null,
      fromDay: group.day,
      toDay: group.day,
      intraday: group.intraday,
    };
    const balances = [...this.proof.of('OPENING'), ...this.proof.of('CLOSING')];
    return [{ kind: 'open', statement }, ...balances.map((balance): StatementEvent => ({ kind: 'balance', balance }))];
  }

  transaction(record: Bai2Record): StatementEvent[] {
    this.records += BigInt(record.bodies.length);
    const detail = detailOf(record);
    const name = `The amount of transaction ${shown(detail.type)}`;
    // A type that only tells something may state no amount.
    if (detail.type === '890' && detail.amount === '') return [];
    const minor = minorOfDigits(detail.amount.replace(/^\+/, ''), name, record.place);
    this.total += minor;
    if (detail.type === '890') return [];
    const isCredit = /^\d{3}$/.test(detail.type) ? isCreditType(detail.type) : null;
    if (isCredit === null) {
      throw refusal('UNKNOWN_TYPE', `Type ${shown(detail.type)} is not of a transaction in or out.`, record.place);
    }
    const side = this.found[isCredit ? '100' : '400'];
    side.count += 1n;
    side.sum += minor;
    this.proof.move(this.currency, isCredit ? minor : -minor, false);
    return [{ kind: 'line', line: this.line(detail, isCredit, minor, record.place) }];
  }

  close(place: Place): StatementEvent[] {
    return [...this.proof.faults(false, place), ...this.totalFaults(), ...this.unproven(), { kind: 'close' }];
  }

  private summary({ type, amount, count }: Bai2Summary): void {
    if (!/^\d{3}$/.test(type)) throw refusal('BAD_RECORD', `The account (03) has a type ${shown(type)}.`, this.place);
    if (amount === '') return;
    if (!/^[+-]?\d{1,30}$/.test(amount)) {
      throw refusal(
        'BAD_AMOUNT',
        `The amount of type ${type} is ${shown(amount)}, and must be in minor units.`,
        this.place,
      );
    }
    const minor = BigInt(amount.replace(/^\+/, ''));
    if (minor > minorMax || minor < -minorMax) {
      throw refusal('AMOUNT_OUT_OF_RANGE', `The amount of type ${type} is ${shown(amount)}.`, this.place);
    }
    this.total += minor;
    if (type === '100' || type === '400') this.stated.set(type, { minor, count });
    const kind = { '010': 'OPENING', '015': 'CLOSING' }[type] as 'OPENING' | 'CLOSING' | undefined;
    if (kind === undefined) return;
    const { currency, group, place } = this;
    if (!this.proof.state({ kind, currency, minor, day: group.day }, place)) {
      throw refusal('BAD_RECORD', `The account (03) states type ${type} twice, and differently.`, place);
    }
  }

  /** Totals of all credits (100) and debits (400), with their number where it is stated. */
  private totalFaults(): StatementEvent[] {
    return (['100', '400'] as const).flatMap((type) => {
      const stated = this.stated.get(type);
      const found = this.found[type];
      if (stated === undefined) return [];
      const magnitude = stated.minor < 0n ? -stated.minor : stated.minor;
      const faults: StatementEvent[] = [];
      if (magnitude !== found.sum) {
        const text = `Type ${type} says a total of ${String(magnitude)}; the transactions make ${String(found.sum)}.`;
        faults.push(problem('TOTAL_DIFFERS', text, this.place));
      }
      if (/^\d{1,18}$/.test(stated.count) && BigInt(stated.count) !== found.count) {
        const text = `Type ${type} counts ${stated.count} transactions; there are ${String(found.count)}.`;
        faults.push(problem('COUNT_DIFFERS', text, this.place));
      }
      return faults;
    });
  }

  /** A closing balance alone proves nothing; the control totals still prove that nothing was lost on the way. */
  private unproven(): StatementEvent[] {
    const [opening, closing] = [this.proof.of('OPENING').length, this.proof.of('CLOSING').length];
    if (opening === closing || this.group.intraday) return [];
    const text = `The account states ${opening === 0 ? 'no opening (010)' : 'no closing (015)'} balance beside the other one.`;
    return this.stated.size === 2 ? [] : [problem('BALANCE_DIFFERS', text, this.place)];
  }

  private line(detail: Bai2Detail, isCredit: boolean, amountMinor: bigint, place: Place): StatementLine {
    const direction = isCredit ? 'CREDIT' : 'DEBIT';
    const [channelReference, customer] = [referenceOf(detail.bankReference), referenceOf(detail.customerReference)];
    const ended = detail.texts.map((text) => /^\s*EREF: *(\S.*)$/.exec(text)?.[1]).find((text) => text !== undefined);
    const ourReference = customer ?? referenceOf(ended);
    const bookedDay = this.group.day;
    return {
      line: place.line,
      kind: kindOfType(detail.type, isCredit),
      channelType: detail.type,
      direction,
      currency: this.currency,
      amountMinor,
      feeMinor: null,
      netMinor: isCredit ? amountMinor : -amountMinor,
      ourReference,
      channelReference,
      otherReferences: otherReferences([ourReference, channelReference], [referenceOf(ended)]),
      lineKey: lineKeyOf(channelReference, { accountRef: this.number, bookedDay, direction, amountMinor }),
      balanceMinor: null,
      state: 'DONE',
      occurredAt: null,
      bookedDay,
      batchCount: null,
      batchReference: null,
    };
  }
}
