import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Transaction } from '../db/session.js';
import { oneOfIds, placeholders, toBigInt, toText } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import { messageMoves, move } from '../kernel/states.js';
import { parkedMessages } from './views.js';

const namesMax = 500;

export interface Requeued {
  /** Messages to the ledger, oldest first. */
  messages: string[];
  /** Deliveries to sinks, oldest first. */
  deliveries: { sink: string; bizNo: string }[];
}

/**
 * Puts parked messages back in line with fresh attempts, to the ledger and to sinks, all of them when none is named, and
 * records who decided so; with `sink`, only those to that sink. Throws NOT_FOUND when a named one is not parked; then none
 * is moved.
 */
export async function requeueMessages(
  database: Database,
  bizNos: readonly string[],
  decision: Decision,
  sink: string | null = null,
): Promise<Requeued> {
  requireDecision(decision);
  const to = move(messageMoves, 'PARKED', 'requeue');
  return database.transact(
    audited('OUTBOX_REQUEUE', decision, async (trx) => {
      const parked = sink === null ? (await parkedMessages(trx)).map((message) => message.bizNo) : [];
      const given = await parkedAtSinks(trx, sink);
      const known = new Set([...parked, ...given.map(({ bizNo }) => bizNo)]);
      const missing = bizNos.filter((bizNo) => !known.has(bizNo));
      if (missing.length > 0) throw notParked(missing);
      const asked = new Set(bizNos);
      const isChosen = (bizNo: string): boolean => asked.size === 0 || asked.has(bizNo);
      const messages = parked.filter(isChosen);
      for (let start = 0; start < messages.length; start += namesMax) {
        const part = messages.slice(start, start + namesMax);
        await trx.change(
          `update outbox set state = ?, attempts = 0 where state = 'PARKED' and biz_no in (${placeholders(part)})`,
          [to, ...part],
        );
      }
      const deliveries = given.filter(({ bizNo }) => isChosen(bizNo));
      for (let start = 0; start < deliveries.length; start += namesMax) {
        const list = oneOfIds(trx.dialect, 'outbox_id', [
          ...new Set(deliveries.slice(start, start + namesMax).map(({ outboxId }) => outboxId)),
        ]);
        await trx.change(
          `update delivery set state = ?, attempts = 0, next_ms = 0
            where ${list.sql} and state = 'PARKED' ${sink === null ? '' : 'and sink = ?'}`,
          [to, ...list.bindings, ...(sink === null ? [] : [sink])],
        );
      }
      const result = { messages, deliveries: deliveries.map(({ sink: at, bizNo }) => ({ sink: at, bizNo })) };
      return { subject: subjectOf(result), result };
    }),
  );
}

async function parkedAtSinks(
  trx: Transaction,
  sink: string | null,
): Promise<{ outboxId: bigint; sink: string; bizNo: string }[]> {
  const rows = await trx.tuples(
    `select d.outbox_id, d.sink, m.biz_no from delivery d join outbox m on m.id = d.outbox_id
      where d.state = 'PARKED' and d.sink in (select sink from relay_lane) ${sink === null ? '' : 'and d.sink = ?'}
      order by d.outbox_id, d.sink`,
    sink === null ? [] : [sink],
  );
  return rows.map(([outboxId, name, bizNo]) => {
    return { outboxId: toBigInt(outboxId), sink: toText(name), bizNo: toText(bizNo) };
  });
}

/** What was put back, for the record; many are told by their number. */
function subjectOf({ messages, deliveries }: Requeued): string | null {
  const parts = [
    ...(messages.length === 0 ? [] : [`messages ${messages.join(', ')}`]),
    ...(deliveries.length === 0 ? [] : [deliveriesText(deliveries)]),
  ];
  return parts.length === 0 ? null : parts.join('; ');
}

function deliveriesText(deliveries: Requeued['deliveries']): string {
  return deliveries.length > namesMax
    ? `${String(deliveries.length)} deliveries`
    : `deliveries ${deliveries.map(({ sink, bizNo }) => `${bizNo} to ${sink}`).join(', ')}`;
}

function notParked(bizNos: readonly string[]): SettleError {
  return new SettleError('NOT_FOUND', `Not parked: ${bizNos.join(', ')}. Nothing was put back.`, {
    details: { bizNos },
    next: 'settle outbox status',
  });
}
