import { formatMinor } from '../kernel/money.js';
import type { Checklist } from './checklist.js';
import type { ChunkRow, ChunkWindow, LegRow, MessageRow, NetRow, OrderRow } from './chunkRows.js';
import { expectedLegs, legKey, linesByKey, namesExactly, readPayload, type Line, type Payload } from './payload.js';
import { feeOfOrder, termsOf } from './dayTerms.js';
import { effectOf } from './tally.js';

const versions: Record<string, number> = { INIT: 0, PROCESSING: 1, SUCCESS: 2 };

/** Recomputes a window of chunks from its orders up: nets, messages, payloads, journal entries. Pure but for the list. */
export function checkWindow(checklist: Checklist, window: ChunkWindow): void {
  const ordersByNet = new Map<string, OrderRow[]>();
  const ordersByChunk = new Map<number, number>();
  for (const order of window.orders) {
    checkOrder(checklist, order);
    if (order.state !== 'PROCESSING' && order.state !== 'SUCCESS') continue;
    const key = netKey(order);
    const known = ordersByNet.get(key);
    if (known === undefined) ordersByNet.set(key, [order]);
    else known.push(order);
    ordersByChunk.set(order.chunkNo, (ordersByChunk.get(order.chunkNo) ?? 0) + 1);
  }
  const netsByChunk = new Map<number, number>();
  const seen = new Set<string>();
  for (const net of window.nets) {
    netsByChunk.set(net.chunkNo, (netsByChunk.get(net.chunkNo) ?? 0) + 1);
    const key = netKey(net);
    checkNet(checklist, window, net, seen.has(key) ? [] : (ordersByNet.get(key) ?? []));
    seen.add(key);
  }
  const chunkNos = new Set<number>();
  for (const chunk of window.chunks) {
    chunkNos.add(chunk.chunkNo);
    checkChunk(checklist, chunk, ordersByChunk.get(chunk.chunkNo) ?? 0, netsByChunk.get(chunk.chunkNo) ?? 0);
  }
  for (const [key, orders] of ordersByNet) {
    const [first] = orders;
    // Orders of a chunk that is not in the window name a chunk of another day: `order-chunk` tells them.
    if (seen.has(key) || first === undefined || !chunkNos.has(first.chunkNo)) continue;
    const where = `chunk ${String(window.chunks[0]?.runId)}/${String(first.chunkNo)}`;
    const what = `${String(orders.length)} orders of ${first.accountNo} in ${first.currency} in ${where} are in no net`;
    checklist.contradict('net', 'settlement_order', String(first.id), what);
  }
}

function netKey(row: { chunkNo: number; accountNo: string; currency: string }): string {
  return `${String(row.chunkNo)} ${row.currency} ${row.accountNo}`;
}

function checkOrder(checklist: Checklist, order: OrderRow): void {
  checklist.examine('order-state', 1);
  if (order.state !== 'PROCESSING' && order.state !== 'SUCCESS') {
    const problem = `is ${order.state}, but chunk ${String(order.chunkNo)} has claimed it`;
    checklist.contradict('order-state', 'settlement_order', String(order.id), problem);
  } else if (order.version !== null && order.version !== versions[order.state]) {
    const problem = `is ${order.state} at version ${String(order.version)}`;
    checklist.contradict('order-state', 'settlement_order', String(order.id), problem);
  }
}

function checkChunk(checklist: Checklist, chunk: ChunkRow, orders: number, nets: number): void {
  checklist.examine('chunk', 1);
  const key = `${String(chunk.runId)}/${String(chunk.chunkNo)}`;
  if (chunk.orders !== orders) {
    const problem = `counts ${String(chunk.orders)} orders, ${String(orders)} name it`;
    checklist.contradict('chunk', 'chunk', key, problem);
  }
  if (chunk.nets !== nets) {
    checklist.contradict('chunk', 'chunk', key, `counts ${String(chunk.nets)} nets, ${String(nets)} are there`);
  }
}

function checkNet(checklist: Checklist, window: ChunkWindow, net: NetRow, orders: readonly OrderRow[]): void {
  checklist.examine('net', 1);
  const runId = String(window.chunks[0]?.runId);
  const key = `${runId}/${String(net.chunkNo)}/${String(net.netNo)}`;
  const contradict = (problem: string): void => checklist.contradict('net', 'net', key, problem);
  const sum = orders.reduce((total, order) => total + effectOf(order.type, order.amountMinor), 0n);
  if (net.orders !== orders.length) {
    contradict(`counts ${String(net.orders)} orders, ${String(orders.length)} are in it`);
  }
  if (net.amountMinor !== sum) {
    contradict(`is ${amount(net.amountMinor, net)}, its orders add up to ${amount(sum, net)}`);
  }
  const bizNo = `S${runId}.${String(net.chunkNo)}.${String(net.netNo)}`;
  if (net.bizNo !== bizNo) contradict(`has the business number ${net.bizNo} instead of ${bizNo}`);
  checkFees(checklist, window, net, orders, key);
  const { message } = net;
  if (message === null) return; // `net-message` tells it
  checkMessage(checklist, window.batchDay, net, message);
  const payload = checkPayload(checklist, window.batchDay, net, message, orders);
  checkPosted(checklist, net, message, orders);
  if (net.journal === null) return;
  checkJournal(checklist, window.batchDay, net, payload, window.legs.get(net.journal.id) ?? []);
}

/** The fees of a net, worked out again from its orders and the terms of the day. */
function checkFees(
  checklist: Checklist,
  { terms }: ChunkWindow,
  net: NetRow,
  orders: readonly OrderRow[],
  key: string,
): void {
  const own = termsOf(terms, net.accountNo);
  if (own === null && net.termsId === null) return;
  checklist.examine('terms', 1);
  const contradict = (problem: string): void => checklist.contradict('terms', 'net', key, problem);
  if (net.termsId !== (own?.id ?? null)) {
    contradict(
      `is settled by terms ${String(net.termsId)}, on its day ${net.accountNo} has ${String(own?.id ?? 'none')}`,
    );
    return;
  }
  let [feeMinor, rest, payments] = [0n, 0n, 0n];
  for (const order of orders) {
    if (order.type === 'PAYMENT' && order.amountMinor > 0n) payments += order.amountMinor;
    const fee = feeOfOrder(terms, own?.feePlan ?? null, order);
    if (fee === null) {
      contradict(`has order ${String(order.id)}, for which the fee plan of ${net.accountNo} has no rule`);
      return;
    }
    feeMinor += fee.rounded;
    rest += fee.rest;
  }
  if (net.feeMinor !== feeMinor || net.feeRest !== rest) {
    contradict(
      `has fees of ${amount(net.feeMinor, net)}, its orders make ${amount(feeMinor, net)}, or round otherwise`,
    );
  }
  if (net.paymentMinor !== payments) {
    contradict(`has payments of ${amount(net.paymentMinor, net)}, its orders ${amount(payments, net)}`);
  }
}

function amount(minor: bigint, { currency }: { currency: string }): string {
  return `${currency} ${formatMinor(minor, currency)}`;
}

function checkMessage(checklist: Checklist, batchDay: string, net: NetRow, message: MessageRow): void {
  const contradict = (problem: string): void => checklist.contradict('net-message', 'outbox', net.bizNo, problem);
  if (message.topic !== 'LEDGER') contradict(`goes to ${message.topic} instead of LEDGER`);
  if (message.batchDay !== batchDay) contradict(`is of ${message.batchDay}, its net of ${batchDay}`);
  if (message.accountNo !== net.accountNo) {
    contradict(`is of account ${message.accountNo ?? 'null'}, its net of ${net.accountNo}`);
  }
  if (message.orders !== net.orders) {
    contradict(`counts ${String(message.orders)} orders, its net ${String(net.orders)}`);
  }
}

/** Gives the payload's lines, or null when it cannot be read. */
function checkPayload(
  checklist: Checklist,
  batchDay: string,
  net: NetRow,
  message: MessageRow,
  orders: readonly OrderRow[],
): Line[] | null {
  checklist.examine('payload', 1);
  const contradict = (problem: string): void => checklist.contradict('payload', 'outbox', net.bizNo, problem);
  const payload = readPayload(message.payload);
  if ('unreadable' in payload) {
    contradict(payload.unreadable);
    return null;
  }
  const head = { batchDay, accountNo: net.accountNo, currency: net.currency, netMinor: String(net.amountMinor) };
  for (const [field, expected] of Object.entries(head)) {
    const actual = payload[field as keyof typeof head];
    if (actual !== expected) contradict(`${field} is ${actual} instead of ${expected}`);
  }
  if (
    !namesExactly(
      payload.orderIds,
      orders.map((order) => order.id),
    )
  ) {
    contradict(`orderIds are not the ${String(orders.length)} orders of its net`);
  }
  const lines = linesOf(payload);
  checkLines(contradict, lines, net, orders);
  const told = (payload.terms ?? []).reduce((total, { amountMinor }) => total + BigInt(amountMinor), 0n);
  if (told !== net.feeMinor) contradict(`says fees of ${amount(told, net)}, its net ${amount(net.feeMinor, net)}`);
  return lines;
}

function linesOf(payload: Payload): Line[] {
  return payload.lines.map((line) => ({ ...line, amountMinor: BigInt(line.amountMinor) }));
}

function checkLines(
  contradict: (problem: string) => void,
  lines: readonly Line[],
  net: NetRow,
  orders: readonly OrderRow[],
): void {
  const told = linesByKey(lines);
  const counted = linesByKey(
    orders.map(({ type, channel, amountMinor }) => ({ type, channel, orders: 1, amountMinor })),
  );
  for (const key of new Set([...told.keys(), ...counted.keys()])) {
    const [line, found] = [told.get(key), counted.get(key)];
    if (line?.orders === found?.orders && line?.amountMinor === found?.amountMinor) continue;
    const text = (side: Line | undefined): string =>
      side === undefined ? 'nothing' : `${String(side.orders)} orders ${amount(side.amountMinor, net)}`;
    contradict(`line ${key} says ${text(line)}, the orders say ${text(found)}`);
  }
  const sum = lines.reduce((total, line) => total + effectOf(line.type, line.amountMinor), 0n);
  if (sum !== net.amountMinor) {
    contradict(`lines add up to ${amount(sum, net)}, its net is ${amount(net.amountMinor, net)}`);
  }
}

/** Posting moves the orders in its own transaction; only the mark SENT follows later. */
function checkPosted(checklist: Checklist, net: NetRow, message: MessageRow, orders: readonly OrderRow[]): void {
  checklist.examine('message-posted', 1);
  const posted = net.journal !== null;
  if (message.state === 'SENT' && !posted) {
    checklist.contradict('message-posted', 'outbox', net.bizNo, 'is SENT, but the ledger has no journal entry for it');
  }
  const expected = posted ? 'SUCCESS' : 'PROCESSING';
  const wrong = orders.filter((order) => order.state !== expected);
  const [first] = wrong;
  if (first === undefined) return;
  const others = wrong.length > 1 ? ` (and ${String(wrong.length - 1)} more of this net)` : '';
  const problem = `is ${first.state}, but message ${net.bizNo} is ${posted ? 'posted' : 'not posted'}${others}`;
  checklist.contradict('order-state', 'settlement_order', String(first.id), problem);
}

function checkJournal(
  checklist: Checklist,
  batchDay: string,
  net: NetRow,
  lines: readonly Line[] | null,
  legs: readonly LegRow[],
): void {
  checklist.examine('journal-entry', 1);
  const { journal } = net;
  if (journal === null) return;
  const contradict = (problem: string, table = 'ledger_entry'): void =>
    checklist.contradict('journal-entry', table, String(journal.id), problem);
  if (journal.type !== 'SETTLEMENT') contradict(`is of type ${journal.type} instead of SETTLEMENT`, 'journal_entry');
  if (journal.batchDay !== batchDay) contradict(`is of ${journal.batchDay}, its net of ${batchDay}`, 'journal_entry');

  const booked = new Map<string, bigint>();
  let payable = 0n;
  for (const leg of legs) {
    const key = legKey(leg.ledgerAccount, leg.subAccount, leg.side, leg.reason);
    booked.set(key, (booked.get(key) ?? 0n) + leg.amountMinor);
    if (leg.currency !== net.currency) contradict(`${key} is in ${leg.currency}, its net in ${net.currency}`);
    if (leg.ledgerAccount === 'MERCHANT_PAYABLE' && leg.subAccount === net.accountNo) {
      payable += leg.side === 'CREDIT' ? leg.amountMinor : -leg.amountMinor;
    }
  }
  const due = net.amountMinor - net.feeMinor;
  if (payable !== due) {
    const less = net.feeMinor === 0n ? 'its net is' : 'its net less fees is';
    contradict(`moves ${net.accountNo} by ${amount(payable, net)}, ${less} ${amount(due, net)}`);
  }
  if (lines === null) return;
  const expected = expectedLegs(net.accountNo, lines, net.feeMinor);
  for (const key of new Set([...expected.keys(), ...booked.keys()])) {
    const [due, found] = [expected.get(key) ?? 0n, booked.get(key) ?? 0n];
    if (due !== found) contradict(`books ${amount(found, net)} as ${key}, its message says ${amount(due, net)}`);
  }
}
