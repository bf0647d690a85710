import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { freeLeases } from '../batch/freeLease.js';
import { heldLeaseViews, leaseView } from '../reports/lease.js';
import { leaseLines, leaseText } from '../reports/statusText.js';
import { printable } from '../reports/words.js';
import { shardText } from '../sharding/shard.js';
import { requireShard } from './arguments.js';
import { withDatabase, type Command } from './context.js';

/** `settle lock show`: who holds the lease and until when; while processes share a day, one lease a shard. */
export const show: Command<object> = (context) =>
  withDatabase(context, async (database) => {
    const [lease, leases] = await database.snapshot(async (session) => [
      await leaseView(session),
      await heldLeaseViews(session),
    ]);
    if (context.output === 'text') await context.print(leaseLines(lease, leases).join('\n'));
    else await context.document({ schema: 'settle.lock', ...lease, leases });
    return exitCodes.OK;
  });

/** `settle lock release`: frees leases of holders that are known to be dead; asks for --yes, and is recorded. */
export const release: Command<{ by: string; reason: string; shard?: string }> = (context, options) => {
  const only = options.shard === undefined ? null : requireShard(options.shard);
  return withDatabase(context, async (database) => {
    const held = (await database.read(heldLeaseViews)).filter(
      ({ shard }) => only === null || shard === shardText(only),
    );
    if (held.length > 0 && !context.assumeYes) {
      const texts = held.map((lease) => (lease.shard === null ? '' : `of shard ${lease.shard} `) + leaseText(lease));
      throw new SettleError(
        'CONFIRMATION_NEEDED',
        `The lease is ${texts.join('; ')}. If that process is alive, its next write fails and it stops.`,
        {
          details: { holder: held[0]?.holder, heartbeatAgeMs: held[0]?.heartbeatAgeMs, leases: held },
          next: 'Make sure the process is dead, then type the same command with --yes.',
        },
      );
    }
    const decision = { ...options, at: instantText(context.clock.now()) };
    const freed = await freeLeases(database, decision, only);
    if (context.output !== 'text') {
      const holder = freed[0]?.holder ?? null;
      await context.document({ schema: 'settle.lockRelease', released: freed.length > 0, holder, leases: freed });
    } else if (freed.length === 0) await context.print('The lease is free; nothing to release.');
    else {
      for (const { shard, holder } of freed) {
        const what = shard === null ? 'the lease' : `the lease of shard ${shard}`;
        await context.print(printable(`Released ${what} of process ${holder?.pid ?? '?'} on ${holder?.host ?? '?'}.`));
      }
      await context.print('Next: settle resume');
    }
    return exitCodes.OK;
  });
};
