import type { Session } from '../db/session.js';
import { toCount } from '../db/values.js';

export interface DepositCounts {
  pending: number;
  reviewsOpen: number;
  reviewsApproved: number;
  findingsOpen: number;
}

/** Deposits that wait, plans that wait for a person or for their execution, and what audits found: along the indexes of states. */
export async function depositCounts(session: Session): Promise<DepositCounts> {
  const count = async (table: string, column: string, state: string): Promise<number> => {
    const [row] = await session.tuples(`select count(*) from ${table} where ${column} = ?`, [state]);
    return toCount(row?.[0]);
  };
  return {
    pending: await count('deposit_order', 'status', 'pending'),
    reviewsOpen: await count('deposit_review', 'state', 'open'),
    reviewsApproved: await count('deposit_review', 'state', 'approved'),
    findingsOpen: await count('deposit_finding', 'state', 'open'),
  };
}
