import type { Session } from '../db/session.js';
import { toBigInt, toCount, toInstant, toInstantOrNull, toText, toTextOrNull } from '../db/values.js';
import { decodeDepositMessage, messageNo, type Credit } from './message.js';
import type { SettledTransfer } from './deposit.js';
import { settlementsFor } from './queries.js';
import { reviewsFor, type Review } from './reviewQueries.js';
import { depositLog, listDeposits, twinsOf, type DepositView, type LogView } from './views.js';

/** What an audit found wrong with a settlement. */
export interface FindingView {
  readonly id: bigint;
  readonly code: string;
  readonly risk: string;
  readonly suggestion: string;
  readonly state: string;
  readonly foundAt: string;
  readonly decidedAt: string | null;
  readonly decidedBy: string | null;
}

export interface SettlementView {
  readonly settled: SettledTransfer;
  /** Where the message to the handler of the scene is: NEW, SENT (acted on) or PARKED; null without a message. */
  readonly delivery: string | null;
  readonly message: { createdAt: string; sentAt: string | null; lastError: string | null } | null;
  /** The order of the daily batch that the scene makes of it. */
  readonly credit: Credit | null;
  readonly findings: readonly FindingView[];
}

/** A deposit order with all that happened to it. */
export interface DepositStory {
  readonly order: DepositView;
  readonly importedAt: string;
  /** Pending orders that nothing tells apart from it on the chain. */
  readonly twins: number;
  readonly settlements: readonly SettlementView[];
  readonly reviews: readonly Review[];
  readonly log: readonly LogView[];
}

/** A deposit order by its number; null when there is none. */
export async function depositStory(session: Session, outTradeNo: string): Promise<DepositStory | null> {
  const [order] = await listDeposits(session, {
    ...{ status: undefined, chainName: undefined, transactionHash: undefined },
    ...{ limit: 1, outTradeNo },
  });
  if (order === undefined) return null;
  const [row] = await session.rows('select imported_at from deposit_order where out_trade_no = ?', [outTradeNo]);
  const settlements: SettlementView[] = [];
  for (const settled of await settlementsFor(session, outTradeNo)) {
    settlements.push(await settlementView(session, settled));
  }
  return {
    order,
    importedAt: toInstant(row?.['imported_at']),
    twins: order.status === 'pending' ? await twinsOf(session, order) : 0,
    settlements,
    reviews: await reviewsFor(session, outTradeNo),
    log: await depositLog(session, outTradeNo),
  };
}

async function settlementView(session: Session, settled: SettledTransfer): Promise<SettlementView> {
  const [row] = await session.rows(
    'select state, payload, created_at, sent_at, last_error from outbox where biz_no = ?',
    [messageNo(settled.id)],
  );
  return {
    settled,
    delivery: row === undefined ? null : toText(row['state']),
    message:
      row === undefined
        ? null
        : {
            createdAt: toInstant(row['created_at']),
            sentAt: toInstantOrNull(row['sent_at']),
            lastError: toTextOrNull(row['last_error']),
          },
    credit: row === undefined ? null : (decodeDepositMessage(toText(row['payload']))?.credit ?? null),
    findings: await findingsOf(session, settled.id),
  };
}

async function findingsOf(session: Session, settlementId: bigint): Promise<FindingView[]> {
  const rows = await session.rows(
    `select id, code, risk, suggestion, state, seen, found_at, decided_at, decided_by from deposit_finding
      where transaction_id = ? order by id`,
    [settlementId],
  );
  return rows.map((row) => ({
    id: toBigInt(row['id']),
    code: toText(row['code']),
    risk: `${toText(row['risk'])}, seen ${String(toCount(row['seen']))} times`,
    suggestion: toText(row['suggestion']),
    state: toText(row['state']),
    foundAt: toInstant(row['found_at']),
    decidedAt: toInstantOrNull(row['decided_at']),
    decidedBy: toTextOrNull(row['decided_by']),
  }));
}
