import { once } from 'node:events';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { readSmallFile } from '../kernel/smallFile.js';
import { scenarios, scenarioSchema, type ScenarioInput } from '../payouts/channels/scenario.js';
import { SimulatorServer } from '../payouts/channels/simulatorServer.js';
import type { Command } from './context.js';
import { fetchSecret } from './secret.js';

interface SimulateOptions {
  port: number;
  scenario?: string;
  book?: string;
  secretEnv?: string;
  secretFile?: string;
}

/** `settle channel simulate`: a channel on this machine that misbehaves as told, until it is stopped. Moves no money. */
export const simulate: Command<SimulateOptions> = async (context, options) => {
  if (options.port > 65_535) throw new SettleError('USAGE', '--port must be a number from 0 to 65535.');
  const scenario = scenarioOf(options.scenario ?? 'honest');
  const secret = await secretOf(options);
  const simulator = await SimulatorServer.start(options.port, {
    scenario,
    bookFile: options.book ?? null,
    secret,
  }).catch((error: unknown) => {
    throw new SettleError('USAGE', `Port ${String(options.port)} cannot be used: ${(error as Error).message}`, {
      next: 'Name another with --port; 0 takes any that is free.',
    });
  });
  if (context.output === 'text') await context.print(`Simulated channel at ${simulator.url}. Stop it with Ctrl-C.`);
  else await context.document({ schema: 'settle.channelSimulator', url: simulator.url });
  if (!context.signal.aborted) await once(context.signal, 'abort');
  await simulator.close();
  const { submits, queries, rateLimited } = simulator.counts;
  const paid = simulator.book.entries.filter(({ outcome }) => outcome === 'PAID').length;
  context.say(
    `${String(submits)} submissions, ${String(queries)} queries, ${String(rateLimited)} too fast; ${String(paid)} paid.`,
  );
  return exitCodes.OK;
};

/** A scenario by its name, or of a JSON file. */
function scenarioOf(nameOrFile: string): ScenarioInput {
  if (Object.hasOwn(scenarios, nameOrFile)) return scenarios[nameOrFile as keyof typeof scenarios];
  let tree: unknown;
  try {
    tree = JSON.parse(readSmallFile(nameOrFile));
  } catch (error) {
    throw new SettleError(
      'USAGE',
      `--scenario ${shown(nameOrFile)} is neither a scenario nor a JSON file that can be read: ${(error as Error).message}`,
      { next: `Scenarios: ${Object.keys(scenarios).join(', ')}` },
    );
  }
  const { success, error } = scenarioSchema.safeParse(tree);
  if (success) return tree as ScenarioInput;
  const [issue] = error.issues;
  throw new SettleError(
    'USAGE',
    `The scenario ${nameOrFile} is not valid at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
    { next: 'docs/payout-http.md describes scenarios.' },
  );
}

async function secretOf({ secretEnv, secretFile }: SimulateOptions): Promise<string | null> {
  if (secretEnv !== undefined) return fetchSecret({ env: secretEnv }, '--secret-env');
  return secretFile === undefined ? null : fetchSecret({ file: secretFile }, '--secret-file');
}
