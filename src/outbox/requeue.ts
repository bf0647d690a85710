import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import { placeholders } from '../db/values.js';
import { SettleError } from '../kernel/errors.js';
import { messageMoves, move } from '../kernel/states.js';
import { parkedMessages } from './views.js';

const namesMax = 500;

/**
 * Puts parked messages back in line with fresh attempts, all of them when none is named, and records who decided so.
 * Returns their business numbers, oldest first. Throws NOT_FOUND when a named one is not parked; then none is moved.
 */
export async function requeueMessages(
  database: Database,
  bizNos: readonly string[],
  decision: Decision,
): Promise<string[]> {
  requireDecision(decision);
  const to = move(messageMoves, 'PARKED', 'requeue');
  return database.transact(
    audited('OUTBOX_REQUEUE', decision, async (trx) => {
      const parked = (await parkedMessages(trx)).map((message) => message.bizNo);
      const missing = bizNos.filter((bizNo) => !parked.includes(bizNo));
      if (missing.length > 0) throw notParked(missing);
      const asked = new Set(bizNos);
      const chosen = bizNos.length === 0 ? parked : parked.filter((bizNo) => asked.has(bizNo));
      for (let start = 0; start < chosen.length; start += namesMax) {
        const part = chosen.slice(start, start + namesMax);
        await trx.change(
          `update outbox set state = ?, attempts = 0 where state = 'PARKED' and biz_no in (${placeholders(part)})`,
          [to, ...part],
        );
      }
      return { subject: chosen.length === 0 ? null : `messages ${chosen.join(', ')}`, result: chosen };
    }),
  );
}

function notParked(bizNos: readonly string[]): SettleError {
  return new SettleError('NOT_FOUND', `Not parked: ${bizNos.join(', ')}. Nothing was put back.`, {
    details: { bizNos },
    next: 'settle outbox status',
  });
}
