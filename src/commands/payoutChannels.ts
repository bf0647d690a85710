import { readFileSync } from 'node:fs';
import type { Config } from '../config.js';
import type { ChannelSettings } from '../configPayouts.js';
import type { Session } from '../db/session.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { beneficiaryLookup } from '../payouts/beneficiariesImport.js';
import type { ChannelRules, PayoutChannel } from '../payouts/channel.js';
import { noPayoutTerms, type PayoutTerms, type Route } from '../payouts/planAccount.js';
import { defaultAccount } from '../terms/accountTerms.js';
import { termsOn as termsOfAccounts } from '../terms/termsQueries.js';
import { fetchSecret } from './secret.js';

export function rulesOf(settings: ChannelSettings): ChannelRules {
  return {
    keyLifetimeMs: settings.keyLifetime,
    settlingHorizonMs: settings.settlingHorizon,
    checkAfterMs: settings.checkAfter,
    checks: settings.checks,
    attempts: settings.attempts,
    perSecond: settings.perSecond,
    concurrency: settings.concurrency,
    timeoutMs: settings.timeout,
    currencies: settings.currencies === undefined ? null : new Set(settings.currencies),
    maximum: settings.maximum ?? new Map<string, bigint>(),
  };
}

/** The configured channels, or the one that is named. Throws USAGE for a name that is not configured. */
export function channelNames({ channels }: Config, only?: string): string[] {
  const names = Object.keys(channels).sort();
  if (only === undefined) return names;
  if (names.includes(only)) return [only];
  throw new SettleError('USAGE', `No channel "${only}" is configured.`, {
    details: { channel: only, configured: names },
    next:
      names.length === 0
        ? 'Add it under channels in settle.yaml; see docs/payouts.md.'
        : `Configured: ${names.join(', ')}`,
  });
}

/** Opens a configured channel; what it needs beyond its own code is loaded then. */
export async function openChannel(config: Config, name: string): Promise<PayoutChannel> {
  const settings = config.channels[name] as ChannelSettings;
  const rules = rulesOf(settings);
  switch (settings.kind) {
    case 'simulator':
      return new (await import('../payouts/channels/simulator.js')).SimulatorChannel(
        name,
        rules,
        settings.book ?? null,
      );
    case 'http': {
      const { HttpChannel } = await import('../payouts/channels/http.js');
      const secret = await fetchSecret(settings.secret, `channels.${name}.secret`);
      const ca = settings.ca === undefined ? null : readSettingFile(settings.ca, `channels.${name}.ca`);
      return new HttpChannel(name, rules, { url: settings.url, secret, ca });
    }
  }
}

function readSettingFile(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new SettleError(
      'CONFIG_UNREADABLE',
      `${setting} names a file that cannot be read: ${(error as Error).message}`,
      {
        details: { setting },
        next: `Mend the path in ${setting}.`,
      },
    );
  }
}

/** Over which channel an account is paid in a currency, and where to. Null where nobody knows. */
export async function routesOf(
  { channels, payouts }: Config,
  session: Session,
  accountNos: readonly string[],
): Promise<(accountNo: string, currency: string) => Route | null> {
  const beneficiary = await beneficiaryLookup(session, accountNos);
  return (accountNo, currency) => {
    const own = beneficiary(accountNo, currency);
    const channel = own?.channel ?? payouts.channelByCurrency[currency] ?? payouts.channel;
    const settings = channel === undefined ? undefined : channels[channel];
    if (channel === undefined || settings === undefined) return null;
    if (settings.currencies?.includes(currency) === false) return null;
    const maximumMinor = settings.maximum?.get(currency) ?? null;
    if (own !== null) return { channel, destination: own.destination, holder: own.holder, maximumMinor };
    return settings.paysByAccountNo ? { channel, destination: accountNo, holder: '', maximumMinor } : null;
  };
}

/** What the terms of accounts say of payouts on a day. */
export async function payoutTermsOn(
  session: Session,
  day: BatchDay,
  accountNos: readonly string[],
): Promise<(accountNo: string) => PayoutTerms> {
  const found = await termsOfAccounts(session, day, [defaultAccount, ...accountNos]);
  const usual = found.get(defaultAccount) ?? noPayoutTerms;
  return (accountNo) => found.get(accountNo) ?? usual;
}

/** Whether anything is ever paid out by this configuration. */
export function paysOut({ channels }: Config): boolean {
  return Object.keys(channels).length > 0;
}
