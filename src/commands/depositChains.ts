import { addDays } from '../kernel/batchDay.js';
import { businessDayFrom, dueDay } from '../batch/calendar.js';
import type { ChainSettings } from '../configDeposits.js';
import { readAddress, checksummed } from '../deposits/address.js';
import { askNode } from '../deposits/chainNode.js';
import type { ChainRules, PlanRules, TokenRules } from '../deposits/deposit.js';
import type { OrderScene } from '../deposits/orderRules.js';
import type { ConnectedChain } from '../deposits/planner.js';
import { RpcClient } from '../deposits/rpcClient.js';
import type { SettlePorts } from '../deposits/settleDeposit.js';
import { instantText } from '../kernel/clock.js';
import { SettleError } from '../kernel/errors.js';
import type { CommandContext } from './context.js';
import { fetchSecret } from './secret.js';

/** A configured chain as the rules of deposits see it: only tokens that are allowed, addresses in lower case. Throws CONFIG_INVALID. */
export function chainRules(name: string, settings: ChainSettings): ChainRules {
  const { chainId, requiredConfirmations, finalityTag, finalityFallback, explorer, tokens, tokenAllowList } = settings;
  const allowed = Object.entries(tokens).filter(([own]) => tokenAllowList.length === 0 || tokenAllowList.includes(own));
  return {
    name,
    chainId: BigInt(chainId),
    requiredConfirmations,
    finalityTag,
    finalityFallback,
    explorer: explorer ?? null,
    tokens: new Map(
      allowed.map(([own, token]): [string, TokenRules] => {
        const address = tokenAddress(token.address, `chains.${name}.tokens.${own}.address`);
        const { decimals, currency = null, autoSettleMaxAmountRaw: limit } = token;
        const autoSettleMaxRaw = limit === undefined ? null : BigInt(limit);
        return [address, { name: own, address, decimals, currency, autoSettleMaxRaw }];
      }),
    ),
  };
}

function tokenAddress(text: string, setting: string): string {
  const read = readAddress(text);
  if (typeof read === 'string') return read;
  const meant = checksummed(text.toLowerCase());
  throw new SettleError('CONFIG_INVALID', `${setting} (${text}) is not right: ${read.problem}.`, {
    details: { setting, code: read.problem },
    next: `Compare it with the token's own pages; these digits with a right checksum would be ${meant}.`,
  });
}

export function planRules({ config }: Pick<CommandContext, 'config'>): PlanRules {
  const { rulesVersion, clockSkewSeconds, lateGraceSeconds } = config.deposits;
  return { rulesVersion, clockSkewMs: clockSkewSeconds * 1_000, lateGraceMs: lateGraceSeconds * 1_000 };
}

export function sceneOf({ config }: Pick<CommandContext, 'config'>, name: string): OrderScene | null {
  const { scenes } = config.deposits;
  return Object.hasOwn(scenes, name) ? (scenes[name] ?? null) : null;
}

/** The rules of every chain that is configured and switched on, by name. */
export function allChainRules({ config }: Pick<CommandContext, 'config'>): Map<string, ChainRules> {
  const enabled = Object.entries(config.chains).filter(([, { enabled }]) => enabled);
  return new Map(enabled.map(([name, settings]) => [name, chainRules(name, settings)]));
}

/** The batch day that takes what happens now: the business day after the last whose cut-off has passed. */
export function openDay({ config, clock }: Pick<CommandContext, 'config' | 'clock'>): string {
  return businessDayFrom(addDays(dueDay(clock.now(), config.calendar), 1), config.calendar);
}

/**
 * What planning and settling need of the configuration, with nodes that are found and connected when they are first asked,
 * and let go when `work` ends.
 */
export async function withChains<T>(context: CommandContext, work: (ports: SettlePorts) => Promise<T>): Promise<T> {
  const rules = allChainRules(context);
  const clients: RpcClient[] = [];
  const chains = new Map<string, ConnectedChain>();
  for (const [name, own] of rules) {
    let client: Promise<RpcClient> | undefined;
    chains.set(name, {
      rules: own,
      ask: async (hashes) => {
        client ??= connect(context, name, clients);
        return askNode(await client, own, hashes);
      },
    });
  }
  try {
    return await work({
      chain: (name) => chains.get(name) ?? null,
      scene: (name) => sceneOf(context, name),
      rules: planRules(context),
      signal: context.signal,
      monotonicMs: () => performance.now(),
      now: () => instantText(context.clock.now()),
      openDay: () => openDay(context),
      planMaxAgeMs: context.config.deposits.planMaxAge,
    });
  } finally {
    for (const client of clients) client.close();
  }
}

async function connect(context: CommandContext, name: string, clients: RpcClient[]): Promise<RpcClient> {
  const setting = `chains.${name}.url`;
  const settings = context.config.chains[name] as ChainSettings;
  const url = await fetchSecret(settings.url, setting);
  // The text of the error that a wrong URL makes would hold the URL.
  if (!URL.canParse(url) || !/^https?:\/\//.test(url)) {
    throw new SettleError('CONFIG_INVALID', `What ${setting} names is not an http or https URL.`, {
      details: { setting },
      next: `Mend what ${setting} names.`,
    });
  }
  const { rpcTimeout, rpcRetries, rpcBatchSize, rpcConcurrency } = context.config.deposits;
  const options = { url, timeoutMs: rpcTimeout, retries: rpcRetries, batchSize: rpcBatchSize };
  const client = new RpcClient({ ...options, concurrency: rpcConcurrency }, context.signal);
  clients.push(client);
  return client;
}
