import type { Database } from '../db/database.js';
import { SettleError, exitCodes } from '../kernel/errors.js';
import { batchDays } from '../reconciliation/days.js';
import { reconcileDay, type Reconciliation } from '../reconciliation/reconcile.js';
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

const outcomes: Record<Reconciliation['outcome'], { exitCode: number; headline: string }> = {
  OK: { exitCode: exitCodes.OK, headline: 'reconciles' },
  UNFINISHED: { exitCode: exitCodes.PARTIAL, headline: 'is not finished; what is done agrees' },
  CONTRADICTION: { exitCode: exitCodes.INTEGRITY, headline: 'does not reconcile' },
};

/** `settle reconcile`: the reconciliations of a day, read-only. Exit code 3 while the day is unfinished, 4 on a contradiction. */
export const reconcileCommand: Command<DayOption> = (context, options) =>
  withDatabase(context, async (database) => {
    const batchDay = options.batchDay ?? (await latestDay(database));
    const { outcome, checks, totals } = await reconcileDay(database, batchDay);
    const { exitCode, headline } = outcomes[outcome];
    if (context.output !== 'text') {
      await context.document({ schema: 'settle.reconcile', batchDay, ok: outcome === 'OK', outcome, checks, totals });
      return exitCode;
    }
    await context.print(`${batchDay} ${headline}.`);
    for (const check of checks) {
      const mark = check.ok ? context.colors.green('ok   ') : context.colors.red('WRONG');
      await context.print(`${mark} ${check.name.padEnd(13)} ${check.ok ? check.actual : `expected ${check.expected}`}`);
      if (!check.ok) await context.print(`${' '.repeat(19)} found    ${check.actual}`);
      for (const { what, key, expected, actual } of check.differences) {
        await context.print(`      ${what} ${key}: expected ${expected}, found ${actual}`);
      }
    }
    return exitCode;
  });

async function latestDay(database: Database): Promise<string> {
  const day = (await database.read(batchDays)).at(-1);
  if (day !== undefined) return day;
  throw new SettleError('NOT_FOUND', 'No batch has been run yet.', { details: { days: [] }, next: 'settle run' });
}
