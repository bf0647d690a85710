import { readHash } from '../deposits/address.js';
import { explorerLink, type SettledTransfer } from '../deposits/deposit.js';
import { reasonCodes, reasons, stateOfKind } from '../deposits/reasons.js';
import { depositStory, type DepositStory } from '../deposits/storyViews.js';
import { listDeposits, type DepositView } from '../deposits/views.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { depositOrderMoves } from '../kernel/states.js';
import { textTable } from '../reports/tables.js';
import { countText, momentText } from '../reports/words.js';
import { requireLimit } from './arguments.js';
import { withDatabase, type Command } from './context.js';
import { allChainRules } from './depositChains.js';
import { reviewDocument, reviewsText } from './depositReview.js';

/** `settle deposit reasons`: every reason code with what it means and what to do. */
export const reasonsCommand: Command<object> = async (context) => {
  const all = reasonCodes.map((code) => {
    const { kind, item, meaning, next } = reasons[code];
    return { code, item, state: kind === 'none' ? null : stateOfKind[kind], meaning, next };
  });
  if (context.output !== 'text') await context.document({ schema: 'settle.depositReasons', reasons: all });
  else {
    const columns = ['code', 'check', 'state', 'meaning', 'next'].map((title) => ({ title }));
    const rows = all.map(({ code, item, state, meaning, next }) => [
      ...[code, item === null ? '-' : String(item), state ?? '-', meaning, next],
    ]);
    await context.print(textTable(columns, rows));
  }
  return exitCodes.OK;
};

interface ListOptions {
  status?: string;
  chain?: string;
  tx?: string;
  limit?: number;
}

/** `settle deposit list`: deposit orders, the newest first. */
export const list: Command<ListOptions> = (context, options) => {
  const { status, tx } = options;
  if (status !== undefined && !Object.hasOwn(depositOrderMoves, status)) {
    throw new SettleError('USAGE', `--status must be one of ${Object.keys(depositOrderMoves).join(', ')}.`);
  }
  const transactionHash = tx === undefined ? undefined : (readHash(tx) ?? undefined);
  if (tx !== undefined && transactionHash === undefined) {
    throw new SettleError('USAGE', '--tx must be a transaction hash: 0x and 64 digits.');
  }
  const filter = { status, chainName: options.chain, transactionHash, limit: requireLimit(options.limit, 1_000) };
  return withDatabase(context, async (database) => {
    const deposits = await database.read((session) => listDeposits(session, filter));
    if (context.output !== 'text') await context.document({ schema: 'settle.deposits', deposits });
    else await context.print(deposits.length === 0 ? 'No such deposit order.' : listText(deposits));
    return exitCodes.OK;
  });
};

function listText(deposits: readonly DepositView[]): string {
  const columns = [
    ...[{ title: 'order' }, { title: 'status' }, { title: 'chain' }, { title: 'amount', align: 'right' as const }],
    ...[{ title: 'token' }, { title: 'receiver' }, { title: 'scene' }, { title: 'created' }, { title: 'transaction' }],
  ];
  const rows = deposits.map((one) => [
    ...[one.outTradeNo, one.status, one.chainName, one.amountRaw, one.token, one.receiver, one.scene],
    ...[momentText(one.createdAt), one.transactionHash ?? '-'],
  ]);
  return textTable(columns, rows);
}

/** `settle deposit show ORDER`: one order, its reviews and settlements, and all that happened to it. */
export const show: Command<{ outTradeNo: string }> = (context, { outTradeNo }) =>
  withDatabase(context, async (database) => {
    const story = await database.snapshot((session) => depositStory(session, outTradeNo));
    if (story === null) {
      throw new SettleError('NOT_FOUND', `There is no deposit order ${outTradeNo}.`, {
        details: { outTradeNo, reasonCode: 'order-not-found' },
        next: 'settle deposit list',
      });
    }
    const chain = allChainRules(context).get(story.order.chainName) ?? null;
    const settlements = story.settlements.map(({ settled, delivery }): Settlement => ({
      settled,
      delivery,
      explorer: explorerLink(chain, settled.transactionHash),
    }));
    if (context.output === 'text') await context.print(storyText(story, settlements));
    else {
      const { order, reviews, log, twins } = story;
      const documents = settlements.map(({ settled, explorer, delivery }) => ({
        ...settlementDocument(settled),
        explorer,
        delivery,
      }));
      const reviewed = reviews.map(reviewDocument);
      await context.document({
        schema: 'settle.deposit',
        order,
        twins,
        settlements: documents,
        reviews: reviewed,
        log,
      });
    }
    return exitCodes.OK;
  });

export function settlementDocument({ id, ...settled }: SettledTransfer): Record<string, unknown> {
  return { settlementId: String(id), ...settled };
}

interface Settlement {
  settled: SettledTransfer;
  /** State of the message to its scene's handler. */
  delivery: string | null;
  explorer: string | null;
}

function storyText({ order, twins, reviews, log }: DepositStory, settlements: readonly Settlement[]): string {
  const lines = [
    `deposit    ${printable(order.outTradeNo)}, ${order.status}`,
    `wants      ${order.amountRaw} base units of ${order.token} on ${order.chainName}`,
    `to         ${order.receiver}`,
    `scene      ${order.scene}${order.accountNo === null ? '' : ` for ${printable(order.accountNo)}`}`,
    `created    ${momentText(order.createdAt)}, expires ${momentText(order.expiresAt)}`,
  ];
  if (twins > 0) lines.push(`beware     ${countText(twins)} more pending with this token, receiver and amount`);
  for (const { settled, delivery, explorer } of settlements) {
    const place = `log ${String(settled.logIndex)} of block ${String(settled.blockNumber)}`;
    lines.push(`settled    ${settled.transactionHash}, ${place}, settlement ${String(settled.id)}`);
    if (explorer !== null) lines.push(`explorer   ${explorer}`);
    lines.push(`handler    ${delivery ?? 'without a message'}`);
  }
  if (reviews.length > 0) lines.push('', reviewsText(reviews));
  if (log.length > 0) {
    const columns = ['at', 'by', 'action', 'from', 'to', 'code', 'reason'].map((title) => ({ title }));
    const rows = log.map((one) => [
      ...[
        momentText(one.at),
        one.actor,
        one.action,
        one.from ?? '-',
        one.to ?? '-',
        one.code ?? '-',
        one.reason ?? '-',
      ],
    ]);
    lines.push('', textTable(columns, rows));
  }
  return lines.join('\n');
}
