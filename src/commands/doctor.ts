import { examine } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { parseDatabaseUrl } from '../db/url.js';
import { exitCodes } from '../kernel/errors.js';
import type { Command, CommandContext } from './context.js';
import { connectionsOf, usualTuning } from './run.js';

/** `settle doctor`: looks at everything a run relies on and changes nothing. Exit code 5 when something fails. */
export const doctor: Command<object> = async (context) => {
  const { database, batch } = context.config;
  const target = parseDatabaseUrl(database.url);
  const findings = await examine({
    target,
    poolSize: connectionsOf(batch.lanes ?? usualTuning[target.dialect].lanes),
    statementMsMax: database.statementTimeout,
    connectMsMax: database.connectTimeout,
    clock: context.clock,
  });
  const isWell = findings.every(({ status }) => status !== 'fail');
  if (context.output === 'text') await print(context, findings);
  else await context.document({ schema: 'settle.doctor', ok: isWell, findings });
  return isWell ? exitCodes.OK : exitCodes.PRECONDITION;
};

async function print({ print, colors }: CommandContext, findings: readonly Finding[]): Promise<void> {
  const marks = { ok: colors.green('ok  '), warn: colors.yellow('warn'), fail: colors.red('FAIL') };
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const { name, status, found, fix } of findings) {
    await print(`${marks[status]} ${name.padEnd(width)}  ${found}`);
    if (fix !== null) await print(`     ${' '.repeat(width)}  fix: ${fix}`);
  }
  const [failed, warned] = (['fail', 'warn'] as const).map(
    (wanted) => findings.filter(({ status }) => status === wanted).length,
  );
  await print(`${String(findings.length)} findings: ${String(failed)} failed, ${String(warned)} to look at.`);
}
