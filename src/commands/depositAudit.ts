import { auditSettlements, recheckFinding } from '../deposits/audit.js';
import type { AuditEntry } from '../deposits/auditDecide.js';
import { stepsOf, type CompensationStep } from '../deposits/compensation.js';
import { explorerLink } from '../deposits/deposit.js';
import { findingsById, markFindings, openFindings, type Finding } from '../deposits/findings.js';
import { settlementsById } from '../deposits/queries.js';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { textTable } from '../reports/tables.js';
import { countText, momentText, plural } from '../reports/words.js';
import { requireLimit } from './arguments.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { allChainRules, openDay, withChains } from './depositChains.js';
import { settlementDocument } from './depositViews.js';

const noMoney = 'This is a note in the log of findings. No order, settlement or money is changed by it.';

interface AuditOptions {
  chain?: string;
  olderThanMinutes?: number;
  limit?: number;
  requiredConfirmations?: number;
  all?: boolean;
}

/** `settle deposit audit`: looks at settled deposits on the chain again. Changes no order, settlement or money. */
export const audit: Command<AuditOptions> = (context, options) => {
  const settings = context.config.deposits.audit;
  const now = context.clock.now();
  const minutes = options.olderThanMinutes ?? settings.olderThanMinutes;
  return withDatabase(context, (database) =>
    withChains(context, async (ports) => {
      const entries = await auditSettlements(database, ports, {
        until: new Date(now.getTime() - minutes * 60_000).toISOString(),
        chainName: options.chain ?? null,
        limit: requireLimit(options.limit, settings.limit),
        requiredConfirmations: options.requiredConfirmations ?? null,
        now: instantText(now),
        openDay: openDay(context),
      });
      const risky = entries.filter(({ codes }) => codes.length > 0);
      const shown = options.all === true || !settings.onlyRisky ? entries : risky;
      if (context.output !== 'text') {
        const list = shown.map((entry) => entryDocument(context, entry));
        await context.document({
          schema: 'settle.depositAudit',
          audited: entries.length,
          risky: risky.length,
          entries: list,
        });
      } else {
        if (shown.length > 0) await context.print(entriesText(shown));
        await context.print(`${plural(entries.length, 'settlement')} audited, ${countText(risky.length)} with a risk`);
        if (risky.length > 0) await context.print('Next: settle deposit compensation candidates');
      }
      return risky.length > 0 ? exitCodes.PARTIAL : exitCodes.OK;
    }),
  );
};

function entryDocument(context: CommandContext, entry: AuditEntry): Record<string, unknown> {
  const { settled, codes, risk, chainReorgSuspected, suggestion, now, confirmations } = entry;
  const chain = allChainRules(context).get(settled.chainName) ?? null;
  return {
    ...settlementDocument(settled),
    explorer: explorerLink(chain, settled.transactionHash),
    reasonCode: codes[0] ?? null,
    reasonCodes: codes,
    riskLevel: risk,
    ...{ chainReorgSuspected, suggestion, relocatedTo: now, confirmations },
  };
}

function entriesText(entries: readonly AuditEntry[]): string {
  const titles = ['order', 'risk', 'why', 'reorg', 'suggestion', 'transaction'];
  return textTable(
    titles.map((title) => ({ title })),
    entries.map(({ settled, risk, codes, chainReorgSuspected, suggestion }) => [
      ...[settled.outTradeNo, risk, codes.join(', ') || '-', chainReorgSuspected ? 'suspected' : '-'],
      ...[suggestion ?? '-', settled.transactionHash],
    ]),
  );
}

function findingId(text: string): bigint {
  if (/^[1-9][0-9]{0,17}$/.test(text)) return BigInt(text);
  throw new SettleError('USAGE', `"${printable(text)}" is no id of a finding.`, {
    next: 'settle deposit compensation candidates',
  });
}

/** `settle deposit recheck ID`: audits the settlement of a finding again; the finding stays as it is. */
export const recheck: Command<{ id: string }> = (context, { id }) =>
  withDatabase(context, (database) =>
    withChains(context, async (ports) => {
      const { finding, entry, stillRisky } = await recheckFinding(database, ports, findingId(id));
      if (context.output !== 'text') {
        const document = { finding: findingDocument(finding), entry: entryDocument(context, entry), stillRisky };
        await context.document({ schema: 'settle.depositRecheck', ...document });
      } else {
        await context.print(entriesText([entry]));
        await context.print(stillRisky ? 'Still risky.' : 'No risk is left.');
        await context.print(
          `Next: settle deposit ${stillRisky ? `compensation plan ${id}` : `mark ${id} --resolved --by NAME --reason TEXT`}`,
        );
      }
      return stillRisky ? exitCodes.PARTIAL : exitCodes.OK;
    }),
  );

function findingDocument(finding: Finding): Record<string, unknown> {
  const { id, settlementId, code, codes, risk, ...rest } = finding;
  return {
    findingId: String(id),
    settlementId: String(settlementId),
    reasonCode: code,
    reasonCodes: codes,
    riskLevel: risk,
    ...rest,
  };
}

/** `settle deposit compensation candidates`: open findings, the riskiest first. */
export const candidates: Command<{ limit?: number }> = (context, options) =>
  withDatabase(context, async (database) => {
    const found = await database.read((session) => openFindings(session, requireLimit(options.limit, 1_000)));
    if (context.output !== 'text') {
      await context.document({
        schema: 'settle.depositCompensationCandidates',
        candidates: found.map(findingDocument),
      });
    } else if (found.length === 0) await context.print('No finding is open.');
    else {
      const titles = ['id', 'order', 'risk', 'why', 'reorg', 'suggestion', 'seen', 'first', 'last'];
      const rows = found.map((one) => [
        ...[
          String(one.id),
          one.outTradeNo,
          one.risk,
          one.codes.join(', '),
          one.chainReorgSuspected ? 'suspected' : '-',
        ],
        ...[one.suggestion, String(one.seen), momentText(one.foundAt), momentText(one.lastSeenAt)],
      ]);
      await context.print(
        textTable(
          titles.map((title) => ({ title })),
          rows,
        ),
      );
      await context.print('Next: settle deposit compensation plan ID');
    }
    return found.length > 0 ? exitCodes.PARTIAL : exitCodes.OK;
  });

/** `settle deposit compensation plan ID…`: what a person may do about findings. Does none of it. */
export const compensationPlan: Command<{ ids: string[] }> = (context, { ids }) =>
  withDatabase(context, async (database) => {
    const findings = await database.read((session) => findingsById(session, ids.map(findingId)));
    const plans: { finding: Finding; steps: CompensationStep[]; explorer: string | null }[] = [];
    for (const finding of findings) {
      const [settled] = await database.read((session) => settlementsById(session, [finding.settlementId]));
      const chain = allChainRules(context).get(settled?.chainName ?? '') ?? null;
      const explorer = explorerLink(chain, settled?.transactionHash ?? null);
      plans.push({ finding, steps: stepsOf(finding), explorer });
    }
    if (context.output !== 'text') {
      const list = plans.map(({ finding, steps, explorer }) => ({ ...findingDocument(finding), explorer, steps }));
      await context.document({ schema: 'settle.depositCompensationPlan', movesMoney: false, plans: list });
    } else {
      for (const { finding, steps, explorer } of plans) {
        await context.print(
          printable(`finding ${String(finding.id)}: ${finding.outTradeNo}, ${finding.code}, risk ${finding.risk}`),
        );
        if (explorer !== null) await context.print(`  ${explorer}`);
        for (const { action, why, command } of steps) {
          await context.print(printable(`  ${action}: ${why}${command === null ? '' : `\n    ${command}`}`));
        }
      }
      await context.print('These are suggestions. Nothing was done, and none of these commands moves money.');
    }
    return exitCodes.OK;
  });

interface MarkOptions {
  ids: string[];
  resolved?: boolean;
  ignored?: boolean;
  by: string;
  reason: string;
}

/** `settle deposit mark ID… --resolved|--ignored`: closes findings in the log, all of them or none. Moves no money. */
export const mark: Command<MarkOptions> = (context, options) => {
  const { resolved = false, ignored = false, by, reason } = options;
  if (resolved === ignored) throw new SettleError('USAGE', 'Decide one of --resolved and --ignored.');
  return withDatabase(context, async (database) => {
    const person = { by, reason, at: instantText(context.clock.now()) };
    const ids = [...new Set(options.ids.map(findingId))];
    const { marked, already } = await markFindings(database, ids, resolved ? 'resolve' : 'ignore', person);
    const as = resolved ? 'resolved' : 'ignored';
    if (context.output !== 'text') {
      const list = (findings: readonly Finding[]): string[] => findings.map(({ id }) => String(id));
      const document = { as, movesMoney: false, note: noMoney, marked: list(marked), already: list(already) };
      await context.document({ schema: 'settle.depositMark', ...document });
    } else {
      await context.print(
        `Marked ${plural(marked.length, 'finding')} as ${as}; ${countText(already.length)} were closed before.`,
      );
      await context.print(noMoney);
    }
    return exitCodes.OK;
  });
};
