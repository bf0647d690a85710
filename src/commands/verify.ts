import { exitCodes } from '../kernel/errors.js';
import { verifyBooks } from '../reconciliation/verify.js';
import { withDatabase, type Command } from './context.js';

interface DayOption {
  batchDay?: string;
}

/** `settle verify`: recomputes the invariants from the rows; exit code 4 when they contradict each other. */
export const verify: Command<DayOption> = (context, { batchDay }) =>
  withDatabase(context, async (database) => {
    const checks = await verifyBooks(database, { batchDay, signal: context.signal });
    const wrong = checks.filter((check) => !check.ok).map((check) => check.name);
    const ok = wrong.length === 0;
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.verify', ok, batchDay: batchDay ?? null, checks });
    } else {
      await context.print(
        ok
          ? `The books agree with themselves: ${String(checks.length)} checks, no contradiction.`
          : `The books contradict themselves: ${wrong.join(', ')}.`,
      );
      for (const check of checks) {
        const mark = check.ok ? context.colors.green('ok   ') : context.colors.red('WRONG');
        await context.print(`${mark} ${check.name.padEnd(16)} ${String(check.examined).padStart(10)} examined`);
        for (const { table, key, problem } of check.contradictions) {
          await context.print(`      ${table} ${key}: ${problem}`);
        }
      }
    }
    return ok ? exitCodes.OK : exitCodes.INTEGRITY;
  });
