import { hostname } from 'node:os';
import type { Database } from '../db/database.js';
import { readHash } from '../deposits/address.js';
import { readDepositRow, depositColumns, type DepositRow } from '../deposits/depositRow.js';
import { depositImport, storeDeposits } from '../deposits/importDeposits.js';
import { chainRulesFault, orderFault } from '../deposits/orderRules.js';
import type { DepositPlan } from '../deposits/planDeposit.js';
import { planOne, planPending, type PlanRequest } from '../deposits/planner.js';
import type { ReasonCode } from '../deposits/reasons.js';
import { reviewsFor, type Review } from '../deposits/reviewQueries.js';
import { noteSkip } from '../deposits/auto.js';
import { settleReview, type SettleOutcome } from '../deposits/settleDeposit.js';
import { requireDecision } from '../db/operatorAction.js';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { countText } from '../reports/words.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { allChainRules, sceneOf, withChains } from './depositChains.js';
import { planDocument, planText } from './depositPlanText.js';
import { deliverDeposits } from './depositScenes.js';
import { importAndTell } from './import.js';

/** `settle deposit import FILE…`: stores deposit orders; a repeat changes nothing. */
export const importOrders: Command<{ files: string[] }> = (context, { files }) =>
  importAndTell(context, files, depositImport(faultOf(context)), false);

/** Why the configuration could never settle an order, or null: told when it is imported, and not when it was paid. */
function faultOf(context: CommandContext): (row: DepositRow) => ReasonCode | null {
  const chains = allChainRules(context);
  return (row) => {
    if (row.provider !== 'web3') return null;
    const chain = chains.get(row.chainName) ?? null;
    return chainRulesFault(row, chain) ?? orderFault(row, chain, sceneOf(context, row.scene));
  };
}

type CreateOptions = { outTradeNo: string } & Partial<Record<string, string>>;

/** `settle deposit create ORDER`: stores one deposit order from flags. */
export const create: Command<CreateOptions> = (context, options) => {
  const given: Record<string, string | undefined> = {
    ...options,
    chain_name: options['chain'],
    created_at: options['createdAt'] ?? instantText(context.clock.now()),
  };
  const camel = (column: string): string => column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const columns = [...depositColumns.required, ...depositColumns.optional];
  const row = readDepositRow(columns.map((column) => given[column] ?? given[camel(column)] ?? null));
  const fault = 'code' in row ? row : null;
  const code = 'code' in row ? null : faultOf(context)(row);
  if ('code' in row || code !== null) {
    throw new SettleError(
      'USAGE',
      `${fault?.code ?? code ?? ''}: ${fault?.message ?? 'the configuration cannot settle such an order.'}`,
      {
        details: { outTradeNo: options.outTradeNo, reasonCode: fault?.code ?? code },
        next: 'settle deposit reasons',
      },
    );
  }
  return withDatabase(context, async (database) => {
    const outcome = await storeDeposits(database, [{ line: 1, row }], instantText(context.clock.now()));
    const [conflict] = outcome.rejected;
    if (conflict !== undefined) throw new SettleError('USAGE', `${conflict.code}: ${conflict.message}`);
    const done = outcome.repeated > 0 ? 'repeated' : 'created';
    if (context.output === 'text') await context.print(printable(`Deposit order ${row.outTradeNo}: ${done}.`));
    else await context.document({ schema: 'settle.depositCreate', outTradeNo: row.outTradeNo, outcome: done });
    return exitCodes.OK;
  });
};

interface PlanOptions {
  outTradeNo?: string;
  tx?: string;
  logIndex?: number;
}

/** What was asked for by number, --tx and --log-index. A hash that is none is a reason of the plan, and no wrong flag. */
export function planRequest({ outTradeNo, tx, logIndex }: PlanOptions & { outTradeNo: string }): PlanRequest {
  return {
    outTradeNo,
    ...(tx === undefined ? {} : { transactionHash: readHash(tx) }),
    ...(logIndex === undefined ? {} : { logIndex }),
  };
}

/** `settle deposit plan [ORDER]`: whether an order could be settled now and why not; of all that wait, when none is named. */
export const plan: Command<PlanOptions> = (context, options) =>
  withDatabase(
    context,
    (database) =>
      withChains(context, async (ports) => {
        const { outTradeNo } = options;
        if (outTradeNo === undefined) return planAll(context, (each) => planPending(database, ports, each));
        const made = await planOne(database, ports, planRequest({ ...options, outTradeNo }));
        if (context.output === 'text')
          await context.print(planText(made, ports.chain(made.event?.chainName ?? '')?.rules ?? null));
        else await context.document({ schema: 'settle.depositPlan', ...planDocument(made) });
        return exitOf(made.state, made.reasonCode);
      }),
    { connections: 4 },
  );

function exitOf(state: DepositPlan['state'], code: ReasonCode | null): number {
  if (state === 'ready') return exitCodes.OK;
  return code === 'rpc-query-failed' ? exitCodes.TEMPFAIL : exitCodes.PARTIAL;
}

/** Plans listed in one JSON document; jsonl has them all, one a line. */
const listedMax = 1_000;

async function planAll(
  context: CommandContext,
  run: (each: (plans: readonly DepositPlan[]) => Promise<void>) => Promise<{ planned: number; waiting: number }>,
): Promise<number> {
  const states: Record<string, number> = {};
  const reasons: Record<string, number> = {};
  const listed: object[] = [];
  const counts = await run(async (plans) => {
    for (const { state, reasonCode } of plans) {
      states[state] = (states[state] ?? 0) + 1;
      if (reasonCode !== null) reasons[reasonCode] = (reasons[reasonCode] ?? 0) + 1;
    }
    if (context.output === 'text') await context.print(plans.map(lineOf).join('\n'));
    else if (context.output === 'jsonl') {
      for (const made of plans) await context.document({ schema: 'settle.depositPlan', ...planDocument(made) });
    } else if (listed.length < listedMax) listed.push(...plans.slice(0, listedMax - listed.length).map(planDocument));
  });
  if (context.output === 'text') {
    const parts = Object.entries(states).map(([state, plans]) => `${countText(plans)} ${state}`);
    await context.print(
      `${countText(counts.planned)} planned${parts.length === 0 ? '' : `: ${parts.join(', ')}`}; ` +
        `${countText(counts.waiting)} without a transaction`,
    );
  } else {
    const truncated = counts.planned > listedMax && context.output === 'json' ? { truncated: true } : {};
    await context.document({ schema: 'settle.depositPlans', ...counts, states, reasons, plans: listed, ...truncated });
  }
  const isSilent = (reasons['rpc-query-failed'] ?? 0) > 0;
  const left = counts.planned - (states['ready'] ?? 0);
  return isSilent ? exitCodes.TEMPFAIL : left > 0 ? exitCodes.PARTIAL : exitCodes.OK;
}

function lineOf({ outTradeNo, state, reasonCode, event, reviewFingerprint }: DepositPlan): string {
  const place = event === null ? '-' : `${event.transactionHash}:${String(event.logIndex)}`;
  return printable([outTradeNo, state, reasonCode ?? '-', place, reviewFingerprint ?? '-'].join('  '));
}

interface SettleOptions {
  outTradeNo: string;
  fingerprint?: string;
  by: string;
  reason: string;
}

/** `settle deposit settle ORDER`: executes the approved review of an order, once, and acts on it by its scene. */
export const settle: Command<SettleOptions> = (context, options) => {
  const { outTradeNo, by, reason } = options;
  requireDecision({ by, reason, at: '' });
  return withDatabase(context, (database) =>
    withChains(context, async (ports) => {
      const review = await approvedReview(database, options);
      const outcome = await settleReview(database, ports, review, { by, reason, action: 'settle' });
      if (outcome.outcome === 'skipped') {
        await noteSkip(database, ports, review, outcome, 'settle', `${by} (${hostname()})`);
        await tellSkip(context, outTradeNo, outcome);
        return exitOf('blocked', outcome.code);
      }
      const { delivered, parked } = await deliverDeposits(database, context.config, ports.now, context.signal);
      const settlementId = String(outcome.settlementId);
      if (context.output === 'text') {
        const already = outcome.outcome === 'already-settled' ? ' It was before; nothing was changed.' : '';
        await context.print(printable(`Deposit ${outTradeNo} is settled (settlement ${settlementId}).${already}`));
        if (parked > 0) await context.print('A message of a scene is parked. Next: settle outbox status');
      } else {
        const document = { outTradeNo, outcome: outcome.outcome, settlementId, delivered, parked };
        await context.document({ schema: 'settle.depositSettle', ...document, plan: planDocument(outcome.plan) });
      }
      return parked > 0 ? exitCodes.PARTIAL : exitCodes.OK;
    }),
  );
};

async function tellSkip(
  context: CommandContext,
  outTradeNo: string,
  { code, plan: made }: Extract<SettleOutcome, { outcome: 'skipped' }>,
): Promise<void> {
  if (context.output !== 'text') {
    const document = { outTradeNo, outcome: 'skipped', reasonCode: code, plan: planDocument(made) };
    await context.document({ schema: 'settle.depositSettle', ...document });
    return;
  }
  await context.print(printable(`Deposit ${outTradeNo} is not settled: ${code}. Nothing was written to the order.`));
  await context.print(`Next: settle deposit plan ${printable(outTradeNo)}`);
}

/** The review to execute: the one that is named, or else the only one that is approved, or that was executed before. */
async function approvedReview(database: Database, { outTradeNo, fingerprint }: SettleOptions): Promise<Review> {
  const all = await database.read((session) => reviewsFor(session, outTradeNo));
  const named = fingerprint === undefined ? all : all.filter((review) => review.fingerprint === fingerprint);
  const approved = named.filter(({ state }) => state === 'approved');
  const [only] = approved.length > 0 ? approved : named.filter(({ state }) => state === 'executed');
  if (only !== undefined && approved.length < 2) return only;
  const why =
    approved.length > 1
      ? `Deposit ${outTradeNo} has ${String(approved.length)} approved reviews: name one with --fingerprint.`
      : `Deposit ${outTradeNo} has no approved review${fingerprint === undefined ? '' : ' under this fingerprint'}.`;
  throw new SettleError('DEPOSIT_NOT_APPROVED', why, {
    details: { outTradeNo, approved: approved.map((review) => review.fingerprint) },
    next: `settle deposit plan ${outTradeNo}, then settle deposit review approve ${outTradeNo} --fingerprint …`,
  });
}
