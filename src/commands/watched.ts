import { Cancellation } from '../kernel/cancellation.js';
import { exitCodes } from '../kernel/errors.js';
import { exitCodeOf } from '../kernel/exitCodeOf.js';
import type { CommandContext } from './context.js';

/**
 * Does the work of a run, and tells those outside: the dead-man's switches when it starts and how it ended, and then everybody
 * else for whom a day has come to something new. How the run ended is decided before; whatever happens here is only said.
 */
export async function watched(context: CommandContext, work: () => Promise<number>): Promise<number> {
  if (Object.keys(context.config.notifications.targets).length === 0) return work();
  // The run waits for none of it: a silent switch, or a vault that is slow to give its URL, takes its own time.
  const started = quietly(context, async () => (await import('./notify.js')).pingAll(context, 'start'));
  let ended: { code: number } | { code: number; error: unknown };
  try {
    ended = { code: await work() };
  } catch (error) {
    ended = { code: exitCodeOf(error), error };
  }
  await quietly(context, async () => {
    await (await import('./notify.js')).tellChanges(context);
  });
  await started;
  // Nothing was due: that is no failure, which any other number would be to a switch.
  const told = ended.code === exitCodes.NOTHING_DUE ? exitCodes.OK : ended.code;
  await quietly(context, async () => (await import('./notify.js')).pingAll(context, told));
  if ('error' in ended) throw ended.error;
  return ended.code;
}

/** Whatever goes wrong is said; a database that cannot be asked, too, is no matter of how the run ended. */
async function quietly(context: CommandContext, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const text = error instanceof Cancellation ? error.detail : error instanceof Error ? error.message : String(error);
    context.say(`Notifications: ${text} The run ended as told above.`);
  }
}
