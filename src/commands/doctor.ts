import { diskFindings } from '../doctor/disk.js';
import { examine } from '../doctor/examine.js';
import type { Finding } from '../kernel/finding.js';
import { runProbes } from '../doctor/probe.js';
import { parseDatabaseUrl } from '../db/url.js';
import { exitCodes } from '../kernel/errors.js';
import type { Command, CommandContext } from './context.js';
import { configFindings, writtenPlaces } from './doctorConfig.js';
import { networkProbes } from './doctorNetwork.js';
import { connectionsOf, usualTuning } from './run.js';

/**
 * `settle doctor [--offline]`: looks at everything Settle relies on and changes nothing: the database, the settings, disks, and
 * every host that the settings name. Exit code 5 when something fails; 75 when the database cannot be reached.
 */
export const doctor: Command<{ offline?: boolean }> = async (context, { offline = false }) => {
  const { config, clock } = context;
  const { database, batch } = config;
  const target = parseDatabaseUrl(database.url);
  const origin = { file: context.configFile, environment: process.env };
  const own = [...configFindings(config, origin, clock.now()), ...diskFindings(writtenPlaces(config))];
  const [examined, probed] = await Promise.all([
    examine({
      target,
      poolSize: connectionsOf(batch.lanes ?? usualTuning[target.dialect].lanes),
      statementMsMax: database.statementTimeout,
      connectMsMax: database.connectTimeout,
      clock,
    }),
    offline ? [] : runProbes(networkProbes(config, () => clock.now())),
  ]);
  const findings = [...examined, ...own, ...probed];
  const isWell = findings.every(({ status }) => status !== 'fail');
  if (context.output === 'text') await printFindings(context, findings);
  else await context.document({ schema: 'settle.doctor', ok: isWell, findings });
  return isWell ? exitCodes.OK : exitCodes.PRECONDITION;
};

/** A line for each finding, and what to do about it. */
export async function printFindings({ print, colors }: CommandContext, findings: readonly Finding[]): Promise<void> {
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
