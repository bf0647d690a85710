import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { localDay } from '../batch/calendar.js';
import type { Config } from '../config.js';
import { stripeChecks, type ChannelSettings } from '../configPayouts.js';
import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import type { BatchDay } from '../kernel/batchDay.js';
import { SettleError } from '../kernel/errors.js';
import { beneficiaryLookup } from '../payouts/beneficiariesImport.js';
import type { Beneficiary } from '../payouts/beneficiary.js';
import { fileRules } from '../payouts/channels/file.js';
import { fileFault } from '../payouts/pain001.js';
import { fileWith } from '../payouts/paymentFiles.js';
import type { ChannelRules, PayoutChannel } from '../payouts/channel.js';
import { noPayoutTerms, type PayoutTerms, type Route } from '../payouts/planAccount.js';
import { defaultAccount } from '../terms/accountTerms.js';
import { termsOn as termsOfAccounts } from '../terms/termsQueries.js';
import { fetchSecret } from './secret.js';

export function rulesOf(settings: ChannelSettings): ChannelRules {
  const amounts = {
    currencies: settings.currencies === undefined ? null : new Set(settings.currencies),
    maximum: settings.maximum ?? new Map<string, bigint>(),
  };
  if (settings.kind === 'file') {
    return { ...fileRules, ...amounts, checkAfterMs: settings.checkAfter, checks: settings.checks };
  }
  const usual = settings.kind === 'stripe' ? stripeChecks[settings.mode] : { checkAfterMs: [], checks: 0 };
  return {
    ...amounts,
    keyLifetimeMs: settings.keyLifetime,
    settlingHorizonMs: settings.settlingHorizon,
    checkAfterMs: settings.checkAfter ?? usual.checkAfterMs,
    checks: settings.checks ?? usual.checks,
    attempts: settings.attempts,
    perSecond: settings.perSecond,
    concurrency: settings.concurrency,
    timeoutMs: settings.timeout,
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
export async function openChannel(config: Config, name: string, database: Database): Promise<PayoutChannel> {
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
    case 'stripe': {
      requirePackage('stripe', 'stripe@23.1.0', `channels.${name}`);
      const { StripeChannel } = await import('../payouts/channels/stripe.js');
      const apiKey = await fetchSecret(settings.apiKey, `channels.${name}.apiKey`);
      return new StripeChannel(name, rules, { url: settings.url, apiKey, mode: settings.mode });
    }
    case 'file': {
      const { FileChannel } = await import('../payouts/channels/file.js');
      const { PaymentFolder } = await import('../payouts/channels/paymentFolder.js');
      const { dir, debtor, paymentsPerFile } = settings;
      const files = {
        debtor: { ...debtor, bic: debtor.bic ?? null },
        paymentsPerFile,
        namespace: config.payouts.namespace,
        executionDay: (now: string) => localDay(new Date(now), config.calendar),
      };
      return new FileChannel(name, rules, files, new PaymentFolder(dir), (key) =>
        database.read((session) => fileWith(session, name, key)),
      );
    }
  }
}

/** Packages that only some need are not installed with the others. */
function requirePackage(name: string, toInstall: string, setting: string): void {
  try {
    createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw new SettleError('USAGE', `${setting} needs the package ${name}, which is not installed.`, {
      details: { setting },
      next: `npm install ${toInstall}`,
      cause: error,
    });
  }
}

/** Why a beneficiary cannot be paid by payment files, where that is how they are to be paid; or null. */
export function fileChannelFault({ channels, payouts }: Config): (beneficiary: Beneficiary) => string | null {
  return (beneficiary) => {
    const { channel, currency } = beneficiary;
    const name = channel ?? payouts.channelByCurrency[currency] ?? payouts.channel;
    const isFile = name !== undefined && channels[name]?.kind === 'file';
    const fault = isFile ? fileFault(beneficiary) : null;
    return fault === null ? null : `Channel ${name ?? ''} writes payment files. ${fault}`;
  };
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
    const byAccountNo = 'paysByAccountNo' in settings && settings.paysByAccountNo;
    return byAccountNo ? { channel, destination: accountNo, holder: '', maximumMinor } : null;
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
