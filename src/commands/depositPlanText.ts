import { checkItems } from '../deposits/checkItems.js';
import { explorerLink, type ChainRules } from '../deposits/deposit.js';
import type { DepositPlan } from '../deposits/planDeposit.js';
import { reasons } from '../deposits/reasons.js';
import { printable } from '../kernel/printable.js';
import { textTable } from '../reports/tables.js';
import { countText } from '../reports/words.js';

/** A plan as documents show it. */
export function planDocument(plan: DepositPlan): Record<string, unknown> {
  const { outTradeNo, state, reasonCode, reasonCodes, checks, event, candidates, reviewFingerprint } = plan;
  const { transactionHash, confirmations, requiredConfirmations, detail } = plan;
  return {
    outTradeNo,
    state,
    reasonCode,
    reasonCodes,
    checks: checks.map(({ item, result, code, needs }) => ({
      item,
      title: checkItems.find((one) => one.item === item)?.title,
      result,
      code,
      needs,
    })),
    transactionHash,
    event,
    candidates,
    confirmations,
    requiredConfirmations,
    reviewFingerprint,
    detail,
  };
}

/** A plan for a person: the state and why, the event, then every check. */
export function planText(plan: DepositPlan, chain: ChainRules | null): string {
  const { outTradeNo, state, reasonCode, reasonCodes, event, candidates, reviewFingerprint, detail } = plan;
  const lines = [`deposit      ${printable(outTradeNo)}`, `state        ${state}`];
  if (reasonCode !== null) lines.push(`reason       ${reasonCode}: ${reasons[reasonCode].meaning}`);
  if (reasonCodes.length > 1) lines.push(`also         ${reasonCodes.slice(1).join(', ')}`);
  if (detail !== null) lines.push(`node         ${detail}`);
  lines.push(`transaction  ${plan.transactionHash ?? '-'}`);
  if (event !== null) {
    lines.push(
      `event        log ${String(event.logIndex)} (${String(event.position)} in its receipt) of block ${countText(event.blockNumber)}`,
      `from         ${event.from}`,
      `to           ${event.to}`,
      `value        ${String(event.value)} base units of ${event.token}`,
    );
  }
  if (plan.confirmations !== null) {
    lines.push(`confirmed    ${countText(plan.confirmations)} of ${countText(plan.requiredConfirmations ?? 0)} blocks`);
  }
  const link = explorerLink(chain, plan.transactionHash);
  if (link !== null) lines.push(`explorer     ${link}`);
  for (const { logIndex, from, value } of candidates) {
    lines.push(`may be       --log-index ${String(logIndex)}: ${String(value)} from ${from}`);
  }
  lines.push(`fingerprint  ${reviewFingerprint ?? '-'}`, '', checksTable(plan), '', `Next: ${nextOf(plan)}`);
  return lines.join('\n');
}

function checksTable({ checks }: DepositPlan): string {
  const columns = [{ title: '', align: 'right' as const }, { title: 'check' }, { title: '' }, { title: 'why' }];
  const rows = checks.map(({ item, result, code, needs }) => [
    String(item),
    checkItems.find((one) => one.item === item)?.title ?? '',
    result,
    code ?? (result === 'skipped' ? (needs === null ? 'when executing' : `needs ${String(needs)}`) : ''),
  ]);
  return textTable(columns, rows);
}

function nextOf({ outTradeNo, state, reasonCode, reviewFingerprint, event }: DepositPlan): string {
  if ((state === 'ready' || state === 'review_required') && event !== null) {
    const place = `--tx ${event.transactionHash} --log-index ${String(event.logIndex)}`;
    const approved = `--fingerprint ${reviewFingerprint ?? ''} --by NAME --reason TEXT`;
    return `settle deposit review approve ${printable(outTradeNo)} ${place} ${approved}`;
  }
  return reasonCode === null ? 'settle deposit list' : reasons[reasonCode].next.replace('ORDER', printable(outTradeNo));
}
