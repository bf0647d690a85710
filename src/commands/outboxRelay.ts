import { hostname } from 'node:os';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { relayOutside, type SinkTally } from '../outbox/outsideRelay.js';
import type { OutsideSink } from '../outbox/sink.js';
import { sinkStatus, type SinkStatus } from '../outbox/views.js';
import { countText } from '../reports/words.js';
import type { SinkSettings } from '../configSinks.js';
import { withDatabase, type Command, type CommandContext } from './context.js';
import { openSink, routedSinks, routingOf } from './outboxSinks.js';

/** Two turns at each of a few sinks, and the routing. */
const connections = 6;

interface RelayOptions {
  once?: boolean;
  sink?: string;
}

/**
 * `settle outbox relay [--once] [--sink NAME]`: delivers to the sinks that the routes name, until it is stopped, or once what
 * can be sent is sent. Any number of relays share the work.
 */
export const relay: Command<RelayOptions> = async (context, options) => {
  const names = chosenSinks(context, options.sink);
  return withDatabase(
    context,
    async (database) => {
      const { config } = context;
      const sinks: { sink: OutsideSink; attempts: number }[] = [];
      try {
        for (const name of names) {
          const settings = config.sinks[name] as SinkSettings;
          sinks.push({ sink: await openSink(name, settings), attempts: settings.attempts });
        }
        const tallies = await relayOutside(database, {
          routing: routingOf(config),
          sinks,
          source: config.outbox.source,
          owner: `${hostname()}, process ${String(process.pid)}`,
          leaseMs: config.outbox.leaseDuration,
          once: options.once === true,
          now: () => instantText(context.clock.now()),
          signal: context.signal,
          onTrouble: (sink, trouble) => {
            context.say(`${sink}: ${trouble}`);
          },
          onParked: (sink, bizNo, reason) => {
            context.say(`${sink}: message ${bizNo} is parked: ${reason}`);
            context.say('  next: settle outbox status');
          },
        });
        const status = (await database.read(sinkStatus)).filter(({ sink }) => names.includes(sink));
        return await tell(context, tallies, status);
      } finally {
        await Promise.all(sinks.map(({ sink }) => sink.close()));
      }
    },
    { connections },
  );
};

function chosenSinks(context: CommandContext, only: string | undefined): string[] {
  const routed = routedSinks(context.config);
  if (only !== undefined && !routed.includes(only)) {
    throw new SettleError('USAGE', `No route leads to a sink "${only}".`, {
      details: { sink: only, routed },
      next: `Routed: ${routed.join(', ')}`,
    });
  }
  const names = only === undefined ? routed : [only];
  if (context.output !== 'text' && writesToStdout(context, names)) {
    throw new SettleError('USAGE', 'A sink writes to standard output, where --json would write too.', {
      next: 'Leave out --json, or name another sink with --sink.',
    });
  }
  return names;
}

function writesToStdout({ config }: CommandContext, names: readonly string[]): boolean {
  return names.some((name) => config.sinks[name]?.kind === 'stdout');
}

async function tell(
  context: CommandContext,
  tallies: readonly SinkTally[],
  status: readonly SinkStatus[],
): Promise<number> {
  const sinks = tallies.map((tally) => {
    const { waiting = 0, parked = 0 } = status.find(({ sink }) => sink === tally.sink) ?? {};
    return { ...tally, parkedNow: tally.parked, waiting, parked };
  });
  if (context.output !== 'text') await context.document({ schema: 'settle.outboxRelay', sinks });
  else {
    const text = sinks
      .map(({ sink, sent, waiting, parked }) => {
        return `${sink}: ${countText(sent)} sent, ${countText(waiting)} waiting, ${countText(parked)} parked`;
      })
      .join('\n');
    const names = sinks.map(({ sink }) => sink);
    if (writesToStdout(context, names)) context.say(text);
    else await context.print(text);
  }
  if (context.signal.aborted) throw context.signal.reason;
  const gone = sinks.find(({ trouble }) => trouble !== null);
  if (gone !== undefined) {
    throw new SettleError('SINK_UNREACHABLE', `Sink ${gone.sink}: ${gone.trouble ?? ''}`, {
      details: { sink: gone.sink },
      next: 'Nothing is lost: what was not confirmed goes out again. Type the same command again when the receiver is there.',
    });
  }
  return sinks.some(({ waiting, parked }) => waiting + parked > 0) ? exitCodes.PARTIAL : exitCodes.OK;
}
