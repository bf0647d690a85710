import { magnitude, minorMax } from '../kernel/money.js';
import type { Order, Orders } from '../orders/order.js';
import type { OrderPage } from '../orders/orderPage.js';
import { liesClose } from '../orders/idRanges.js';

/** Orders that one lane settles in one transaction, ids ascending: places in a page. */
export class Chunk implements Orders {
  constructor(
    readonly lane: number,
    private readonly page: OrderPage,
    /** Ascending. */
    private readonly places: Int32Array,
  ) {}

  get length(): number {
    return this.places.length;
  }

  /** In the order in which they first occur. */
  accountNos(): Set<string> {
    const { page, places } = this;
    const accounts = new Set<number>();
    for (const at of places) accounts.add(page.accountOf(at));
    return new Set(Array.from(accounts, (account) => page.accountNos[account] as string));
  }

  *[Symbol.iterator](): Generator<Order> {
    for (const at of this.places) yield this.page.order(at);
  }

  /**
   * It has all INIT orders of its day between its first and last id, and those ids lie close: then the database finds
   * them faster by the range than by a list.
   */
  get isRange(): boolean {
    const { page, places } = this;
    const [first = 0, last = -1] = [places[0], places[places.length - 1]];
    if (!page.complete || last - first + 1 !== places.length) return false;
    return liesClose({ firstId: page.idOf(first), lastId: page.idOf(last) }, places.length);
  }
}

export interface LanePlan {
  /** Lanes for accounts; an account always falls to the same one. */
  lanes: number;
  /** Further lanes, numbered after the others, that share out the accounts too large for one chunk. */
  elephantLanes: number;
  chunkSize: number;
}

/**
 * Cuts a page into chunks. An account's orders of a page are in one chunk, in the lane of its hash, so that it nets to
 * one row and is never in two transactions at once. An account with more orders than a chunk holds is an elephant: its
 * orders are cut by id and spread over lanes of their own, which is safe because booking only appends.
 */
export function planChunks(page: OrderPage, plan: LanePlan): Chunk[] {
  const { elephants, packs } = sortAccounts(page, plan);
  const places = packs.map(({ orders }) => new Int32Array(orders));
  const filled = packs.map(() => 0);
  const packOf = new Int32Array(page.accountNos.length).fill(-1);
  packs.forEach(({ accounts }, pack) => {
    for (const account of accounts) packOf[account] = pack;
  });
  const elephantPlaces = new Map<number, number[]>(elephants.map((account) => [account, []]));
  for (let at = 0; at < page.length; at += 1) {
    const account = page.accountOf(at);
    const pack = packOf[account] as number;
    if (pack < 0) (elephantPlaces.get(account) as number[]).push(at);
    else {
      const next = filled[pack] as number;
      (places[pack] as Int32Array)[next] = at;
      filled[pack] = next + 1;
    }
  }
  const pieces = [...elephantPlaces.values()].flatMap((own) => cutById(page, own, plan.chunkSize));
  return [
    ...pieces.map((piece, no) => new Chunk(plan.lanes + (no % plan.elephantLanes), page, Int32Array.from(piece))),
    ...packs.map(({ lane }, pack) => new Chunk(lane, page, places[pack] as Int32Array)),
  ];
}

/** Whole accounts that go into one chunk. */
interface Pack {
  lane: number;
  accounts: number[];
  orders: number;
}

function sortAccounts(page: OrderPage, { lanes, chunkSize }: LanePlan): { elephants: number[]; packs: Pack[] } {
  const elephants: number[] = [];
  const byLane: number[][] = Array.from({ length: lanes }, () => []);
  const fits = sumsThatFit(page);
  page.accountNos.forEach((accountNo, account) => {
    const isElephant = (page.ordersOf[account] as number) > chunkSize || !fits(account);
    (isElephant ? elephants : (byLane[laneOf(accountNo, lanes)] as number[])).push(account);
  });
  return { elephants, packs: byLane.flatMap((accounts, lane) => packed(page, lane, accounts, chunkSize)) };
}

/** Whole accounts into as few chunks as `size` allows, and those of about equal length. */
function packed(page: OrderPage, lane: number, accounts: readonly number[], size: number): Pack[] {
  const total = accounts.reduce((sum, account) => sum + (page.ordersOf[account] as number), 0);
  if (total === 0) return [];
  const target = Math.ceil(total / Math.ceil(total / size));
  const packs: Pack[] = [];
  let pack: Pack = { lane, accounts: [], orders: 0 };
  for (const account of accounts) {
    const orders = page.ordersOf[account] as number;
    // An empty pack is never full: no account here has more orders than a chunk holds.
    if (pack.orders >= target || pack.orders + orders > size) {
      packs.push(pack);
      pack = { lane, accounts: [], orders: 0 };
    }
    pack.accounts.push(account);
    pack.orders += orders;
  }
  packs.push(pack);
  return packs;
}

/** Pieces of at most `size` orders, each small enough in money that its sums fit 64 bits. */
function cutById(page: OrderPage, places: readonly number[], size: number): number[][] {
  const pieces: number[][] = [];
  let piece: number[] = [];
  let gross = 0n;
  for (const at of places) {
    const amount = magnitude(page.amountOf(at));
    if (piece.length > 0 && (piece.length === size || gross + amount > minorMax)) {
      pieces.push(piece);
      piece = [];
      gross = 0n;
    }
    piece.push(at);
    gross += amount;
  }
  pieces.push(piece);
  return pieces;
}

/**
 * Whether an account's sums of this page fit 64 bits. Gross, not net: the ledger entries of both sides have to fit too.
 * All currencies together, which only errs early. What the largest amount alone makes certain is not added up.
 */
function sumsThatFit(page: OrderPage): (account: number) => boolean {
  let largest = 0n;
  for (let at = 0; at < page.length; at += 1) {
    const amount = magnitude(page.amountOf(at));
    if (amount > largest) largest = amount;
  }
  const most = page.ordersOf.reduce((known, orders) => Math.max(known, orders), 0);
  if (largest * BigInt(most) <= minorMax) return () => true;
  const gross = page.accountNos.map(() => 0n);
  for (let at = 0; at < page.length; at += 1) {
    const account = page.accountOf(at);
    gross[account] = (gross[account] as bigint) + magnitude(page.amountOf(at));
  }
  return (account) => (gross[account] as bigint) <= minorMax;
}

/** FNV-1a over the account's UTF-16 units, with a final mix so that the lowest bits depend on all of them. Stable for ever. */
export function laneOf(accountNo: string, lanes: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < accountNo.length; at += 1) {
    hash = Math.imul(hash ^ accountNo.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) % lanes;
}
