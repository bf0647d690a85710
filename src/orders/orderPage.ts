import { signedAmount, Totals, type CurrencyTotal, type Order } from './order.js';

/** What an order says beside its id, account and amount: few combinations, of which a page keeps one object each. */
type Kind = Pick<Order, 'type' | 'currency' | 'channel'>;

/**
 * A page of orders in columns, ids ascending: some 24 bytes an order, where an object takes 130 and the collector's
 * time. An order is known by its place in the page, an account by its place among the page's accounts.
 */
export class OrderPage {
  private readonly ids: BigInt64Array;
  private readonly amounts: BigInt64Array;
  private readonly accounts: Int32Array;
  private readonly kinds: Int32Array;
  private readonly accountPlaces = new Map<string, number>();
  private readonly kindPlaces = new Map<string, number>();
  private readonly kindList: Kind[] = [];
  /** In the order in which they first occur. */
  readonly accountNos: string[] = [];
  /** Orders of each account. */
  readonly ordersOf: number[] = [];
  /** Of accounts that have an order which cannot be settled: which one, and why. */
  readonly problems = new Map<string, string>();
  private count = 0;

  /** `complete`: it has all INIT orders of its day between its first and last id, so that a claim may name the range. */
  constructor(
    private readonly capacity: number,
    readonly complete: boolean,
  ) {
    this.ids = new BigInt64Array(capacity);
    this.amounts = new BigInt64Array(capacity);
    this.accounts = new Int32Array(capacity);
    this.kinds = new Int32Array(capacity);
  }

  /** A page of these orders, for which nothing is known of the ids between them. */
  static of(orders: readonly Order[]): OrderPage {
    const page = new OrderPage(orders.length, false);
    for (const order of orders) page.add(order);
    return page;
  }

  get length(): number {
    return this.count;
  }

  add({ id, accountNo, type, amountMinor, currency, channel, problem }: Order): void {
    if (problem !== undefined) this.problems.set(accountNo, `Order ${String(id)} ${problem}.`);
    const at = this.count;
    if (at >= this.capacity) throw new RangeError('The page is full.');
    let account = this.accountPlaces.get(accountNo);
    if (account === undefined) {
      account = this.accountNos.length;
      this.accountPlaces.set(accountNo, account);
      this.accountNos.push(accountNo);
      this.ordersOf.push(0);
    }
    const name = `${type} ${currency} ${channel}`;
    let kind = this.kindPlaces.get(name);
    if (kind === undefined) {
      kind = this.kindList.length;
      this.kindPlaces.set(name, kind);
      this.kindList.push({ type, currency, channel });
    }
    this.ids[at] = id;
    this.amounts[at] = amountMinor;
    this.accounts[at] = account;
    this.kinds[at] = kind;
    this.ordersOf[account] = (this.ordersOf[account] as number) + 1;
    this.count = at + 1;
  }

  order(at: number): Order {
    const { type, currency, channel } = this.kindList[this.kinds[at] as number] as Kind;
    return {
      id: this.idOf(at),
      accountNo: this.accountNos[this.accountOf(at)] as string,
      type,
      amountMinor: this.amountOf(at),
      currency,
      channel,
    };
  }

  idOf(at: number): bigint {
    return this.ids[at] as bigint;
  }

  amountOf(at: number): bigint {
    return this.amounts[at] as bigint;
  }

  /** Place of the order's account in `accountNos`. */
  accountOf(at: number): number {
    return this.accounts[at] as number;
  }

  /** Ids of the orders that may be reversals: an amount below zero, a refund, or an adjustment of either sign. */
  idsThatMayReverse(): bigint[] {
    const mayReverse = this.kindList.map(({ type }) => type === 'ADJUSTMENT' || type === 'REFUND');
    const ids: bigint[] = [];
    for (let at = 0; at < this.count; at += 1) {
      if (this.amountOf(at) < 0n || mayReverse[this.kinds[at] as number] === true) ids.push(this.idOf(at));
    }
    return ids;
  }

  /** The page without the orders of these accounts; the page itself when it has none. */
  without(accountNos: ReadonlySet<string>): OrderPage {
    const stay = this.accountNos.map((accountNo) => !accountNos.has(accountNo));
    if (stay.every(Boolean)) return this;
    const left = this.ordersOf.reduce((sum, orders, account) => (stay[account] === true ? sum + orders : sum), 0);
    const page = new OrderPage(left, false);
    for (let at = 0; at < this.count; at += 1) {
      if (stay[this.accountOf(at)] === true) page.add(this.order(at));
    }
    return page;
  }

  /** Orders and signed sum, by currency. */
  totals(): CurrencyTotal[] {
    const sums = this.kindList.map(() => ({ orders: 0, minor: 0n }));
    for (let at = 0; at < this.count; at += 1) {
      const sum = sums[this.kinds[at] as number] as { orders: number; minor: bigint };
      sum.orders += 1;
      sum.minor += this.amountOf(at);
    }
    const totals = new Totals();
    this.kindList.forEach(({ type, currency }, kind) => {
      const { orders, minor } = sums[kind] as { orders: number; minor: bigint };
      totals.add(currency, orders, signedAmount({ type, amountMinor: minor }));
    });
    return totals.list();
  }
}
