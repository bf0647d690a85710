import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { freeLease } from '../batch/freeLease.js';
import { leaseView } from '../reports/lease.js';
import { leaseText } from '../reports/statusText.js';
import { printable } from '../reports/words.js';
import { withDatabase, type Command } from './context.js';

/** `settle lock show`: who holds the lease and until when. */
export const show: Command<object> = (context) =>
  withDatabase(context, async (database) => {
    const lease = await database.read(leaseView);
    if (context.output === 'text') await context.print(`Lease: ${leaseText(lease)}`);
    else await context.document({ schema: 'settle.lock', ...lease });
    return exitCodes.OK;
  });

/** `settle lock release`: frees the lease of a holder that is known to be dead; asks for --yes, and is recorded. */
export const release: Command<{ by: string; reason: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const lease = await database.read(leaseView);
    if (lease.held && !context.assumeYes) {
      throw new SettleError(
        'CONFIRMATION_NEEDED',
        `The lease is ${leaseText(lease)}. If that process is alive, its next write fails and it stops.`,
        {
          details: { holder: lease.holder, heartbeatAgeMs: lease.heartbeatAgeMs },
          next: 'Make sure the process is dead, then type the same command with --yes.',
        },
      );
    }
    const decision = { ...options, at: instantText(context.clock.now()) };
    const freed = await freeLease(database, decision);
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.lockRelease', released: freed !== null, holder: freed?.holder ?? null });
    } else if (freed === null) await context.print('The lease is free; nothing to release.');
    else {
      const { host, pid } = freed.holder ?? { host: '?', pid: '?' };
      await context.print(printable(`Released the lease of process ${pid} on ${host}.`));
      await context.print('Next: settle resume');
    }
    return exitCodes.OK;
  });
