import type { Payout } from './payout.js';

/** The command that moves a payout on; null for one that is final. */
export function payoutCommand({ id, state }: Pick<Payout, 'id' | 'state'>): string | null {
  if (state === 'MANUAL')
    return `settle payout review ${String(id)} --approve|--reject|--retry --by NAME --reason TEXT`;
  if (state === 'UNKNOWN') return 'settle payout check';
  return state === 'INIT' || state === 'PROCESSING' ? 'settle payout run' : null;
}
