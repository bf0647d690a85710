// What must be true, told a second time: no type, no sum and no rule in this file comes from the program.

export type AccountState = 'ACTIVE' | 'FROZEN' | 'CLOSED';
export type OrderState = 'INIT' | 'PROCESSING' | 'SUCCESS' | 'CANCELED' | 'FAILED';
export type OrderType = 'PAYMENT' | 'REFUND' | 'FEE' | 'ADJUSTMENT';

export interface ModelOrder {
  no: string;
  /** Given by the database: where a rerun may begin. */
  id: bigint;
  account: string;
  day: string;
  type: OrderType;
  minor: bigint;
  currency: string;
  channel: string;
  state: OrderState;
  /** Its message was refused by the ledger and waits for a person. */
  parked: boolean;
}

/** A day that has a batch. */
export interface ModelDay {
  closed: boolean;
  /** Orders of the day when it was closed, or recounted after late ones. */
  counted: number | null;
  /** Its last run did not come to its end. */
  unended: boolean;
  /** An account of it was released, and no run has tried it again. */
  released: boolean;
}

export interface SetAside {
  code: string;
  orders: number;
}

export const keyOf = (...parts: readonly string[]): string => parts.join(' ');

/** Effect on what we owe the account. */
export function signed({ type, minor }: Pick<ModelOrder, 'type' | 'minor'>): bigint {
  return type === 'REFUND' || type === 'FEE' ? -minor : minor;
}

export class Model {
  readonly accounts = new Map<string, AccountState>();
  /** By order number, in the order of ids. */
  readonly orders = new Map<string, ModelOrder>();
  readonly days = new Map<string, ModelDay>();
  /** By "day account": what is set aside now. */
  readonly setAside = new Map<string, SetAside>();
  /** Accounts whose nets, or whose ledger entries, the database refuses at the moment. */
  readonly refusing = { net: new Set<string>(), ledger: new Set<string>() };
  lastRunDay: string | null = null;
  /** What a dead process left behind: a lease, and runs that say RUNNING. */
  left = { lease: false, running: 0 };

  copy(): Model {
    const copy = new Model();
    for (const [account, state] of this.accounts) copy.accounts.set(account, state);
    for (const [no, order] of this.orders) copy.orders.set(no, { ...order });
    for (const [day, batch] of this.days) copy.days.set(day, { ...batch });
    for (const [key, aside] of this.setAside) copy.setAside.set(key, { ...aside });
    for (const account of this.refusing.net) copy.refusing.net.add(account);
    for (const account of this.refusing.ledger) copy.refusing.ledger.add(account);
    copy.lastRunDay = this.lastRunDay;
    copy.left = { ...this.left };
    return copy;
  }

  ordersOf(day: string): ModelOrder[] {
    return [...this.orders.values()].filter((order) => order.day === day);
  }

  isHeld({ day, account }: Pick<ModelOrder, 'day' | 'account'>): boolean {
    return this.setAside.has(keyOf(day, account));
  }

  /** Accounts set aside for a day. */
  heldOn(day: string): number {
    return [...this.setAside.keys()].filter((key) => key.startsWith(`${day} `)).length;
  }

  /** Why a run must not settle an account now; null when it may. */
  blocked(account: string): string | null {
    const state = this.accounts.get(account);
    if (state === undefined) return 'ACCOUNT_UNKNOWN';
    return state === 'ACTIVE' ? null : `ACCOUNT_${state}`;
  }

  /** Every order of a closed day that nobody holds back must be found by some later run. */
  forgotten(): string[] {
    return [...this.orders.values()]
      .filter((order) => order.state === 'INIT' || order.state === 'PROCESSING')
      .filter((order) => !(order.state === 'INIT' && this.isHeld(order)))
      .filter((order) => {
        const day = this.days.get(order.day);
        if (day === undefined || !day.closed) return false;
        const found = day.counted !== this.ordersOf(order.day).length || day.unended || day.released;
        return !found && !(order.state === 'PROCESSING' && order.parked);
      })
      .map((order) => `order ${order.no} is ${order.state} on closed ${order.day}, and no run will look for it`);
  }

  /** Releases an account as an operator does. Gives the exit code. */
  release(account: string, day: string | null): number {
    const found = [...this.setAside].filter(([key]) => {
      const [onDay = '', who] = key.split(' ');
      return who === account && (day === null || onDay === day);
    });
    if (found.length === 0) return 2;
    const byState = found.some(([, { code }]) => code.startsWith('ACCOUNT_'));
    if (byState && this.blocked(account) !== null) return 5;
    for (const [key] of found) {
      this.setAside.delete(key);
      const batch = this.days.get(key.split(' ')[0] ?? '');
      if (batch !== undefined) batch.released = true;
    }
    return 0;
  }

  requeue(): void {
    for (const order of this.orders.values()) order.parked = false;
  }
}
