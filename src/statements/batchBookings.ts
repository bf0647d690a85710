import type { Session } from '../db/session.js';
import type { Found } from '../discrepancies/discrepancy.js';
import { payoutsInFile } from '../payouts/statedOutcomes.js';
import { oneOfIds, toCount } from '../db/values.js';
import type { StatementChannel } from './channelRules.js';
import { batchDiffers, type LineContext } from './differences.js';
import type { Pair } from './matchLines.js';
import { referencesOf, type StoredLine } from './storedLine.js';

/**
 * A booking that stands for many payments and does not list them: a payment file of ours, by its message id or the id of its
 * group of this currency. All of it matches or none: count (where stated) and sum must be those of its payouts. Null for a
 * line that names no payment file. `isTaken` tells of payouts that lines before it in the same transaction stand for.
 */
export async function placeBatch(
  session: Session,
  line: StoredLine,
  channel: StatementChannel,
  context: LineContext,
  isTaken: (payoutId: bigint) => boolean,
): Promise<{ pairs: Pair[]; differs: Found | null } | null> {
  if (!channel.matches.payouts || line.direction !== 'DEBIT' || line.state !== 'DONE') return null;
  for (const reference of referencesOf(line).filter((text) => /^[!-~]{1,40}$/.test(text))) {
    const ofGroup = `-${line.currency}`;
    const name = reference.endsWith(ofGroup) ? reference.slice(0, -ofGroup.length) : reference;
    const payouts = await payoutsInFile(session, channel.name, name, line.currency);
    if (payouts.length === 0) continue;
    const minor = payouts.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
    const ids = oneOfIds(
      session.dialect,
      'ours_id',
      payouts.map(({ id }) => id),
    );
    const [taken] = await session.rows(
      `select count(*) as matched from statement_match where ours = 'PAYOUT' and role = 'MOVED' and ${ids.sql}`,
      ids.bindings,
    );
    const countAgrees = line.batchCount === null || line.batchCount === payouts.length;
    const isFree = toCount(taken?.['matched']) === 0 && !payouts.some(({ id }) => isTaken(id));
    if (minor === line.amountMinor && countAgrees && isFree) {
      const pairs = payouts.map((payout, at): Pair => {
        return { line, part: at + 1, ours: { kind: 'PAYOUT', id: payout.id, payout }, role: 'MOVED' };
      });
      return { pairs, differs: null };
    }
    return { pairs: [], differs: batchDiffers(line, { count: payouts.length, minor: -minor, name }, context) };
  }
  return null;
}
