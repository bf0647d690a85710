import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import { leaseView, type LeaseView } from '../reports/lease.js';

/**
 * Frees the lease by hand and records who did it. The fencing number stays; the next run raises it, so a holder that
 * is alive after all finds itself fenced off at its next write. Returns the holder that lost it, or null if none held it.
 */
export async function freeLease(database: Database, decision: Decision): Promise<LeaseView | null> {
  requireDecision(decision);
  return database.transact(
    audited('LOCK_RELEASE', decision, async (trx) => {
      const lease = await leaseView(trx);
      if (!lease.held) return { subject: null, result: null };
      const freed = await trx.change(
        `update lease set owner = null, expires_ms = 0 where job = 'batch' and fencing_no = ? and owner is not null`,
        [BigInt(lease.fencingNo)],
      );
      if (freed === 0) return { subject: null, result: null };
      const holder = lease.holder;
      return {
        subject: `lease batch, fencing number ${lease.fencingNo}, held by process ${holder?.pid ?? '?'} on ${holder?.host ?? '?'}`,
        result: lease,
      };
    }),
  );
}
