import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { dueDay } from '../batch/calendar.js';
import type { Database } from '../db/database.js';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { keepYoungSpaceSmall } from '../kernel/youngSpace.js';
import type { PayoutChannel } from '../payouts/channel.js';
import type { ExchangePorts } from '../payouts/exchange.js';
import type { PayoutPlan } from '../payouts/planPayouts.js';
import { openPayouts } from '../payouts/queries.js';
import type { Outcome } from '../payouts/recorder.js';
import { checkPayouts, submitPayouts } from '../payouts/submitPayouts.js';
import { countText } from '../reports/words.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { channelNames, openChannel, payoutTermsOn, paysOut } from './payoutChannels.js';
import { planClosedDay } from './payoutPlan.js';

/** Connections that a command on payouts uses: claims beside the recording of answers. */
const connections = 4;
/** After a first signal, what is on its way is waited for so long; a scheduler kills after 30 s. */
const hasteAfterMs = 20_000;

/** What one channel was asked, and what became of it. */
interface ChannelResult {
  channel: string;
  asked: number;
  held: number;
  lost: number;
  outcomes: Record<string, number>;
  unreachable: string | null;
}

/** `settle payout run`: makes the payout tasks of the last closed day, and submits what is due. Safe to run twice at once. */
export const run: Command<{ channel?: string }> = (context, options) =>
  withDatabase(
    context,
    async (database) => {
      const names = channelNames(requireChannels(context), options.channel);
      const plan = await planClosedDay(context, database);
      const dueUpTo = dueDay(context.clock.now(), context.config.calendar);
      const results = await overChannels(
        context,
        database,
        names,
        async (channel, ports, result) => {
          const submitted = await submitPayouts(database, channel, { ...ports, dueUpTo, termsOn: payoutTermsOn });
          return { ...result, asked: submitted.asked, held: submitted.held, unreachable: submitted.unreachable };
        },
        'settle payout run',
      );
      return tell(context, database, 'settle.payoutRun', plan, results);
    },
    { connections },
  );

/** `settle payout check`: asks about payouts whose outcome is not known and that are due for it. Safe to run twice at once. */
export const check: Command<{ channel?: string }> = (context, options) =>
  withDatabase(
    context,
    async (database) => {
      const names = channelNames(requireChannels(context), options.channel);
      const results = await overChannels(
        context,
        database,
        names,
        async (channel, ports, result) => {
          const checked = await checkPayouts(database, channel, ports);
          return { ...result, asked: checked.asked, lost: checked.lost, unreachable: checked.unreachable };
        },
        'settle payout check',
      );
      return tell(context, database, 'settle.payoutCheck', null, results);
    },
    { connections },
  );

function requireChannels({ config }: CommandContext): CommandContext['config'] {
  if (paysOut(config)) return config;
  throw new SettleError('USAGE', 'No channel is configured, so nothing is paid out.', {
    details: { setting: 'channels' },
    next: 'Add a channel under channels in settle.yaml; see docs/payouts.md.',
  });
}

async function overChannels(
  context: CommandContext,
  database: Database,
  names: readonly string[],
  work: (channel: PayoutChannel, ports: ExchangePorts, result: ChannelResult) => Promise<ChannelResult>,
  command: string,
): Promise<ChannelResult[]> {
  keepYoungSpaceSmall();
  const haste = new AbortController();
  // Every payout that waits for its place listens to it.
  setMaxListeners(0, haste.signal);
  const onStop = (): void => {
    setTimeout(() => {
      haste.abort(context.signal.reason);
    }, hasteAfterMs).unref();
  };
  context.signal.addEventListener('abort', onStop, { once: true });
  const results: ChannelResult[] = [];
  try {
    for (const name of names) {
      if (context.signal.aborted) break;
      const channel = await openChannel(context.config, name, database);
      const outcomes: Record<string, number> = {};
      const ports: ExchangePorts = {
        actor: `${command} (${hostname()}, process ${String(process.pid)})`,
        now: () => instantText(context.clock.now()),
        onOutcome: (outcome) => {
          count(outcomes, outcome);
          sayTrouble(context, outcome);
        },
        signal: context.signal,
        haste: haste.signal,
      };
      const empty = { channel: name, asked: 0, held: 0, lost: 0, outcomes, unreachable: null };
      try {
        results.push(await work(channel, ports, empty));
      } finally {
        await channel.close();
      }
    }
  } finally {
    context.signal.removeEventListener('abort', onStop);
  }
  return results;
}

function count(outcomes: Record<string, number>, { state }: Outcome): void {
  outcomes[state] = (outcomes[state] ?? 0) + 1;
}

function sayTrouble(context: CommandContext, { payout, state, code }: Outcome): void {
  if (state !== 'MANUAL') return;
  context.say(`Payout ${String(payout.id)} (${payout.idempotencyKey}) needs a person: ${code}.`);
  context.say(`  next: settle payout show ${String(payout.id)}`);
}

async function tell(
  context: CommandContext,
  database: Database,
  schema: string,
  plan: PayoutPlan | null,
  results: readonly ChannelResult[],
): Promise<number> {
  const open = await database.read((session) => openPayouts(session, channelNames(context.config)));
  const left = ['PROCESSING', 'UNKNOWN', 'MANUAL'].some((state) => (open[state] ?? 0) > 0);
  const held = results.some((result) => result.held > 0) || (plan?.carried.WITHOUT_BENEFICIARY ?? 0) > 0;
  const silent = results.find(({ unreachable }) => unreachable !== null);
  const exitCode = left || held ? exitCodes.PARTIAL : exitCodes.OK;
  if (context.output === 'text') await context.print(resultText(plan, results, open));
  else await context.document({ schema, plan, channels: results, open });
  if (context.signal.aborted) throw context.signal.reason;
  if (silent !== undefined) {
    throw new SettleError('CHANNEL_UNREACHABLE', `Channel ${silent.channel}: ${silent.unreachable ?? ''}`, {
      details: { channel: silent.channel },
      next: 'Nothing is lost and nothing counts as failed. Type the same command again when the channel is there.',
    });
  }
  return exitCode;
}

function resultText(
  plan: PayoutPlan | null,
  results: readonly ChannelResult[],
  open: Readonly<Record<string, number>>,
): string {
  const lines: string[] = [];
  if (plan !== null) {
    const { BELOW_MINIMUM, ON_HOLD, NOT_ACTIVE, WITHOUT_BENEFICIARY } = plan.carried;
    lines.push(`planned     ${plan.batchDay}: ${countText(plan.payouts)} payouts`);
    lines.push(
      `carried     ${countText(BELOW_MINIMUM)} below the minimum, ${countText(ON_HOLD)} on hold, ` +
        `${countText(NOT_ACTIVE)} of accounts that are not active, ${countText(WITHOUT_BENEFICIARY)} without a beneficiary`,
    );
  }
  if (plan !== null && plan.carried.WITHOUT_BENEFICIARY > 0) lines.push('Next: settle payout carried');
  for (const { channel, asked, held, lost, outcomes } of results) {
    const parts = Object.entries(outcomes).map(([state, payouts]) => `${countText(payouts)} ${state}`);
    if (held > 0) parts.push(`${countText(held)} held`);
    if (lost > 0) parts.push(`${countText(lost)} lost by their submitter`);
    lines.push(`${channel}: ${countText(asked)} asked${parts.length === 0 ? '' : `; ${parts.join(', ')}`}`);
  }
  const all = Object.entries(open).map(([state, payouts]) => `${countText(payouts)} ${state}`);
  lines.push(`not final   ${all.length === 0 ? 'none' : all.join(', ')}`);
  if ((open['UNKNOWN'] ?? 0) > 0) lines.push('Next: settle payout check');
  if ((open['MANUAL'] ?? 0) > 0) lines.push('Next: settle payout list --state MANUAL');
  return lines.join('\n');
}
