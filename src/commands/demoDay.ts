import type { BatchDay } from '../kernel/batchDay.js';
import { formatMinor } from '../kernel/money.js';

/** A made-up day that looks like a real one, the same for the same day and size: no clock, no chance. */
export interface DemoDay {
  accountsCsv(): Generator<string>;
  ordersCsv(): Generator<string>;
}

export const demoAccounts = 2_000;
/** One merchant with a fifth of the orders: what an account larger than its chunk looks like. */
const elephantShare = 0.2;
const frozen = new Set([7, 404, 1_313]);

const currencies = [
  { code: 'USD', share: 0.6, typical: 4_500 },
  { code: 'JPY', share: 0.3, typical: 3_800 },
  { code: 'KWD', share: 0.1, typical: 12_500 },
];
const channels = ['CARD', 'BANK', 'WALLET', 'QR'];

export function demoDay(day: BatchDay, orders: number): DemoDay {
  return {
    *accountsCsv() {
      yield 'account_no,status\n';
      for (let at = 0; at < demoAccounts; at += 1) yield `${accountNo(at)},${frozen.has(at) ? 'FROZEN' : 'ACTIVE'}\n`;
    },
    *ordersCsv() {
      yield 'order_no,account_no,batch_day,type,amount,currency,channel,occurred_at\n';
      const random = randomFrom(20_260_727);
      const compactDay = day.replaceAll('-', '');
      for (let at = 1; at <= orders; at += 1) {
        const account = pickAccount(random);
        const currency = currencyOf(account, random());
        const { type, amount } = pickAmount(currency, random);
        const second = Math.min(86_399, Math.floor((at * 86_400) / (orders + 1)));
        const time = new Date(second * 1_000).toISOString().slice(11, 19);
        const orderNo = `D${compactDay}-${String(at).padStart(7, '0')}`;
        const channel = channels[Math.floor(random() * channels.length)] ?? 'CARD';
        yield `${orderNo},${accountNo(account)},${day},${type},${formatMinor(amount, currency.code)},${currency.code},${channel},${day}T${time}Z\n`;
      }
    },
  };
}

function accountNo(at: number): string {
  return `M${String(at).padStart(5, '0')}`;
}

/** Few merchants have most orders: a square bends the even chance towards the low numbers. */
function pickAccount(random: () => number): number {
  if (random() < elephantShare) return 0;
  return 1 + Math.floor(random() ** 2 * (demoAccounts - 1));
}

/** A merchant sells in one currency, and now and then in the next one. */
function currencyOf(account: number, chance: number): (typeof currencies)[number] {
  const home = account % 10 < 6 ? 0 : account % 10 < 9 ? 1 : 2;
  return currencies[(home + (chance < 0.04 ? 1 : 0)) % currencies.length] as (typeof currencies)[number];
}

function pickAmount(currency: (typeof currencies)[number], random: () => number): { type: string; amount: bigint } {
  const chance = random();
  const size = Math.round(currency.typical * (0.1 + 3 * random() ** 3));
  if (chance < 0.86) return { type: 'PAYMENT', amount: BigInt(size) };
  if (chance < 0.92) return { type: 'REFUND', amount: BigInt(Math.ceil(size / 2)) };
  if (chance < 0.985) return { type: 'FEE', amount: BigInt(Math.max(1, Math.round(size / 40))) };
  return { type: 'ADJUSTMENT', amount: BigInt(random() < 0.5 ? -Math.ceil(size / 10) : Math.ceil(size / 10)) };
}

/** mulberry32: a small generator with a fixed seed, so that two demos are the same to the last cent. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
