import type { Model, ModelOrder, OrderType } from './model.js';
import type { Random } from './random.js';

/** Batch days of every history; commands name them, so that the clock plays no part. */
export const soakDays = ['2024-03-01', '2024-03-02', '2024-03-03', '2024-03-04'];
export const lastDay = soakDays[soakDays.length - 1] as string;

const decimals = { USD: 2, EUR: 2, JPY: 0, KWD: 3 } as const;
type Currency = keyof typeof decimals;
const currencies: readonly Currency[] = ['USD', 'USD', 'EUR', 'JPY', 'KWD'];
export const accountNames = ['A1', 'a1', 'A2', 'A3', 'Ä4', 'B1', 'B2', 'B3', 'B4', 'ELE'];
const types: readonly OrderType[] = ['PAYMENT', 'PAYMENT', 'PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'];
const most = 9_223_372_036_854_775_807n;

/** A new order with a number that nobody has. */
export function makeOrder(random: Random, serial: string, account?: string): ModelOrder {
  const type = random.pick(types);
  const size = random.weighted({ small: 80, huge: 6, most: 2, one: 12 });
  const magnitude =
    size === 'small'
      ? BigInt(random.int(1, 500_000))
      : size === 'huge'
        ? (most / 10n) * BigInt(random.int(1, 9)) + BigInt(random.int(0, 999_999))
        : size === 'most'
          ? most
          : 1n;
  return {
    no: `N${serial}`,
    id: 0n,
    account: account ?? random.pick(accountNames),
    day: random.pick(soakDays),
    type,
    minor: type === 'ADJUSTMENT' && random.chance(0.5) ? -magnitude : magnitude,
    currency: random.pick(currencies),
    channel: random.pick(['CARD', 'BANK']),
    state: 'INIT',
    parked: false,
  };
}

/** Minor units as a file writes them: 1234 → "12.34" USD, "1234" JPY, "1.234" KWD. */
export function majorText(minor: bigint, currency: string): string {
  const scale = decimals[currency as Currency];
  const digits = (minor < 0n ? -minor : minor).toString().padStart(scale + 1, '0');
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return minor < 0n ? `-${text}` : text;
}

export const fileHeader = 'order_no,account_no,batch_day,type,amount,currency,channel,occurred_at';

export function fileLine(
  order: ModelOrder,
  changed: Partial<Record<'amount' | 'day' | 'currency' | 'no', string>> = {},
): string {
  const amount = changed.amount ?? majorText(order.minor, order.currency);
  const [no, day, currency] = [changed.no ?? order.no, changed.day ?? order.day, changed.currency ?? order.currency];
  return [no, order.account, day, order.type, amount, currency, order.channel, '2024-03-01T10:00:00Z'].join(',');
}

/** A row that no import may store. */
export function badLine(random: Random, order: ModelOrder): string {
  return random.pick([
    fileLine(order, { currency: 'XXX' }),
    fileLine(order, { currency: 'usd' }),
    fileLine(order, { amount: '1.2345' }),
    fileLine(order, { amount: '1e3' }),
    fileLine({ ...order, type: 'PAYMENT' }, { amount: '-5' }),
    fileLine(order, { amount: '9223372036854775808000' }),
    fileLine(order, { day: '2024-02-30' }),
    fileLine(order, { no: '' }),
    `${fileLine(order)},too,many`,
  ]);
}

export function initOrders(model: Model): ModelOrder[] {
  return [...model.orders.values()].filter((order) => order.state === 'INIT');
}
