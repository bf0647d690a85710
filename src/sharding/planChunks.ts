import { minorMax } from '../kernel/money.js';
import type { Order } from '../orders/order.js';

/** Orders that one lane settles in one transaction. */
export interface Chunk {
  readonly lane: number;
  /** Ids ascending. */
  readonly orders: readonly Order[];
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
export function planChunks(orders: readonly Order[], plan: LanePlan): Chunk[] {
  const byAccount = new Map<string, Order[]>();
  for (const order of orders) {
    const known = byAccount.get(order.accountNo);
    if (known === undefined) byAccount.set(order.accountNo, [order]);
    else known.push(order);
  }
  const byLane: Order[][][] = Array.from({ length: plan.lanes }, () => []);
  const chunks: Chunk[] = [];
  let elephantPieces = 0;
  for (const [accountNo, own] of byAccount) {
    if (own.length <= plan.chunkSize && fitsOneNet(own)) {
      (byLane[laneOf(accountNo, plan.lanes)] as Order[][]).push(own);
      continue;
    }
    for (const piece of cutById(own, plan.chunkSize)) {
      chunks.push({ lane: plan.lanes + (elephantPieces % plan.elephantLanes), orders: piece });
      elephantPieces += 1;
    }
  }
  byLane.forEach((accounts, lane) => {
    for (const group of packed(accounts, plan.chunkSize)) chunks.push({ lane, orders: group.sort(byId) });
  });
  return chunks;
}

function byId(a: Order, b: Order): number {
  return a.id < b.id ? -1 : 1;
}

/** Whole accounts into as few chunks as `size` allows, and those of about equal length. */
function packed(accounts: readonly Order[][], size: number): Order[][] {
  const total = accounts.reduce((sum, own) => sum + own.length, 0);
  if (total === 0) return [];
  const target = Math.ceil(total / Math.ceil(total / size));
  const groups: Order[][] = [];
  let group: Order[] = [];
  for (const own of accounts) {
    // An empty group is never full: no account here has more orders than a chunk holds.
    if (group.length >= target || group.length + own.length > size) {
      groups.push(group);
      group = [];
    }
    for (const order of own) group.push(order);
  }
  groups.push(group);
  return groups;
}

/** Pieces of at most `size` orders, each small enough in money that its sums fit 64 bits. */
function cutById(orders: readonly Order[], size: number): Order[][] {
  const pieces: Order[][] = [];
  let piece: Order[] = [];
  let gross = 0n;
  for (const order of orders) {
    const amount = magnitude(order);
    if (piece.length > 0 && (piece.length === size || gross + amount > minorMax)) {
      pieces.push(piece);
      piece = [];
      gross = 0n;
    }
    piece.push(order);
    gross += amount;
  }
  pieces.push(piece);
  return pieces;
}

/** Gross, not net: the ledger entries of both sides have to fit too. All currencies together, which only errs early. */
function fitsOneNet(orders: readonly Order[]): boolean {
  let gross = 0n;
  for (const order of orders) gross += magnitude(order);
  return gross <= minorMax;
}

function magnitude({ amountMinor }: Order): bigint {
  return amountMinor < 0n ? -amountMinor : amountMinor;
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
