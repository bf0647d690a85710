import { countTraces, purgeTraces } from '../batch/purgeRuns.js';
import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { countDeliveries, daysAgo, forgetDeliveries } from '../outbox/purge.js';
import { textTable } from '../reports/tables.js';
import { countText, momentText } from '../reports/words.js';
import { withDatabase, type Command, type CommandContext } from './context.js';

interface PurgeOptions {
  olderThan: number;
  dryRun?: boolean;
  by?: string;
  reason?: string;
}

/** Rows by what they tell of. */
interface Purged {
  deliveries: number;
  runs: number;
  cancelledShards: number;
}

const words: Record<keyof Purged, string> = {
  deliveries: 'which sink was sent what (the messages stay)',
  runs: 'runs of closed days that settled nothing and were followed by another',
  cancelledShards: 'shards of closed days that were given up for a run',
};

/** Never deleted, by any command: what the books are proven from, who decided what, and all that is not finished. */
const kept = [
  'orders, nets, chunks, messages, the journal, balances and the chain of the ledger',
  'payouts, deposits, statements, discrepancies, and every move and review of them',
  'what people did by hand, with their reasons',
  'what waits or is parked, accounts that are set aside, and the days they are of',
];

/**
 * `settle purge --older-than DAYS [--dry-run]`: deletes what only tells of work that was finished so long ago by the database's
 * clock. Asks first, or needs `--yes`; kept with a name and a reason.
 */
export const purge: Command<PurgeOptions> = async (context, options) => {
  const { olderThan, dryRun = false, by = '', reason = '' } = options;
  if (olderThan < 1) {
    throw new SettleError('USAGE', '--older-than must be 1 day or more.', { details: { flag: '--older-than' } });
  }
  return withDatabase(
    context,
    async (database) => {
      const beforeMs = await daysAgo(database, olderThan);
      const before = instantText(new Date(Number(beforeMs)));
      const found: Purged = {
        deliveries: await countDeliveries(database, beforeMs),
        ...(await countTraces(database, before)),
      };
      const facts = { olderThanDays: olderThan, before, dryRun };
      if (dryRun || total(found) === 0) {
        await tell(context, { ...facts, found, deleted: null });
        return exitCodes.OK;
      }
      const decision = { by, reason, at: instantText(context.clock.now()) };
      requireDecision(decision);
      if (context.output === 'text') context.say(tableOf(found));
      if (!(await isAgreed(context, olderThan, total(found)))) return exitCodes.OK;
      const deleted = await carryOut(database, { beforeMs, before, olderThan }, decision);
      await tell(context, { ...facts, found, deleted });
      return exitCodes.OK;
    },
    { readOnly: dryRun },
  );
};

async function carryOut(
  database: Database,
  { beforeMs, before, olderThan }: { beforeMs: bigint; before: string; olderThan: number },
  decision: Decision,
): Promise<Purged> {
  // First the record: a purge that is cut off has been decided all the same.
  await database.transact(
    audited('PURGE', decision, () =>
      Promise.resolve({ subject: `traces of more than ${String(olderThan)} days ago`, result: null }),
    ),
  );
  const deliveries = await forgetDeliveries(database, beforeMs);
  return { deliveries, ...(await purgeTraces(database, before)) };
}

/** Throws CONFIRMATION_NEEDED where nobody can be asked. */
async function isAgreed(context: CommandContext, olderThan: number, rows: number): Promise<boolean> {
  if (context.assumeYes) return true;
  if (!context.interactive) {
    throw new SettleError('CONFIRMATION_NEEDED', `${countText(rows)} rows would be deleted for good.`, {
      details: { rows },
      next: `settle purge --older-than ${String(olderThan)} --dry-run shows them; --yes deletes them.`,
    });
  }
  const answer = await context.ask(`Delete ${countText(rows)} rows for good? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  context.say('Nothing was deleted.');
  return false;
}

function total({ deliveries, runs, cancelledShards }: Purged): number {
  return deliveries + runs + cancelledShards;
}

function tableOf(counts: Purged): string {
  return textTable(
    [{ title: 'rows', align: 'right' }, { title: 'what' }],
    (Object.keys(words) as (keyof Purged)[]).map((key) => [countText(counts[key]), words[key]]),
  );
}

async function tell(
  context: CommandContext,
  facts: { olderThanDays: number; before: string; dryRun: boolean; found: Purged; deleted: Purged | null },
): Promise<void> {
  if (context.output !== 'text') {
    await context.document({ schema: 'settle.purge', ...facts, kept });
    return;
  }
  const { before, dryRun, found, deleted } = facts;
  await context.print(`Of more than ${String(facts.olderThanDays)} days ago (before ${momentText(before)}):`);
  await context.print(tableOf(deleted ?? found));
  await context.print(`Kept for good:\n${kept.map((line) => `  ${line}`).join('\n')}`);
  if (deleted !== null) await context.print('Deleted.\nNext: settle verify');
  else if (total(found) === 0) await context.print('There is nothing to delete.');
  else if (dryRun) {
    const next = `settle purge --older-than ${String(facts.olderThanDays)} --by NAME --reason TEXT`;
    await context.print(`Nothing was deleted.\nNext: ${next}`);
  }
}
