import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import { heldLeaseViews, type HeldLeaseView } from '../reports/lease.js';
import { parseShard, type Shard } from '../sharding/shard.js';
import { freeLease, jobOf } from './lease.js';

/**
 * Frees by hand the leases that are held, or that of one shard, and records who did it. A holder that is alive after all
 * stops when it cannot renew its lease, and is fenced off by the next take. Returns the holders that lost theirs.
 */
export async function freeLeases(
  database: Database,
  decision: Decision,
  only: Shard | null = null,
): Promise<HeldLeaseView[]> {
  requireDecision(decision);
  return database.transact(
    audited('LOCK_RELEASE', decision, async (trx) => {
      const freed: HeldLeaseView[] = [];
      for (const lease of await heldLeaseViews(trx)) {
        const job = jobOf(lease.shard === null ? null : parseShard(lease.shard));
        if (only !== null && job !== jobOf(only)) continue;
        if (await freeLease(trx, job, BigInt(lease.fencingNo))) freed.push(lease);
      }
      return { subject: freed.length === 0 ? null : freed.map(subjectOf).join('; '), result: freed };
    }),
  );
}

function subjectOf({ shard, fencingNo, holder }: HeldLeaseView): string {
  const job = jobOf(shard === null ? null : parseShard(shard));
  return `lease ${job}, fencing number ${fencingNo}, held by process ${holder?.pid ?? '?'} on ${holder?.host ?? '?'}`;
}
