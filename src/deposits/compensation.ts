import type { Suggestion } from './auditDecide.js';
import type { Finding } from './findings.js';

/** Something that a person may do about a finding. `command` is what to type, where there is one; none of them moves money. */
export interface CompensationStep {
  readonly action: Suggestion;
  readonly why: string;
  readonly command: string | null;
}

const whys: Readonly<Record<Suggestion, string>> = {
  'mark-resolved': 'the payment is on the chain, in another place, and deep enough; nothing is to be compensated',
  'wait-confirmations': 'the payment is there, and not deep enough again; look once more when it is',
  'recheck-later': 'the node could not tell, or is in the middle of a reorg; this is no evidence against the payment',
  'manual-compensation':
    'the payment is gone, and the order stays paid: agree with the payer, or take the credit back by an order that reverses it',
  'manual-review': 'a person compares the receipt in a block explorer with the settlement',
};

/** What may be done about a finding, the suggestion of the audit first. */
export function stepsOf({ id, suggestion, outTradeNo, chainReorgSuspected, state }: Finding): CompensationStep[] {
  const recheck = `settle deposit recheck ${String(id)}`;
  const mark = `settle deposit mark ${String(id)} --resolved --by NAME --reason TEXT`;
  const commands: Readonly<Record<Suggestion, string>> = {
    'mark-resolved': mark,
    'wait-confirmations': recheck,
    'recheck-later': recheck,
    'manual-compensation': `settle deposit show ${outTradeNo}`,
    'manual-review': `settle deposit show ${outTradeNo}`,
  };
  const step = (action: Suggestion): CompensationStep => ({ action, why: whys[action], command: commands[action] });
  if (state !== 'open') return [];
  const steps = [step(suggestion)];
  // What a reorg took may come back: nobody compensates before looking a second time.
  if (suggestion === 'manual-compensation' && chainReorgSuspected) steps.unshift(step('recheck-later'));
  return steps;
}
