import { magnitude } from '../../kernel/money.js';
import type { StatementEvent, StatementHead, StatementLine } from '../statement.js';

type Needed =
  | 'line'
  | 'kind'
  | 'channelType'
  | 'currency'
  | 'ourReference'
  | 'channelReference'
  | 'lineKey'
  | 'occurredAt'
  | 'bookedDay';

/** A line of a signed amount (positive is money in), with what most formats do not state left empty. */
export function moneyLine(
  signedMinor: bigint,
  of: Pick<StatementLine, Needed> & Partial<StatementLine>,
): StatementEvent {
  const line: StatementLine = {
    direction: signedMinor < 0n ? 'DEBIT' : 'CREDIT',
    amountMinor: magnitude(signedMinor),
    feeMinor: null,
    netMinor: null,
    otherReferences: [],
    balanceMinor: null,
    state: 'DONE',
    batchCount: null,
    batchReference: null,
    ...of,
  };
  return { kind: 'line', line };
}

/** A head of a file that says nothing of account, number and days. */
export function head(of: Partial<StatementHead> = {}): StatementEvent {
  const statement = { accountRef: null, sequence: null, fromDay: null, toDay: null, intraday: false, ...of };
  return { kind: 'open', statement };
}

/** References by which a line may be known besides its own two: filled, each once. */
export function others(own: readonly (string | null)[], candidates: readonly (string | null)[]): readonly string[] {
  const found: string[] = [];
  for (const one of candidates) {
    if (one !== null && !own.includes(one) && !found.includes(one)) found.push(one);
  }
  return found;
}
