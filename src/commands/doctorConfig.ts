import { accessSync, constants, statSync } from 'node:fs';
import { cutOffOf, dueDay } from '../batch/calendar.js';
import { explicitFile, fileTree, leafPaths, lookUp, schemaNode, variableName, type Config } from '../config.js';
import type { SecretPlace } from '../configPayouts.js';
import type { Place } from '../doctor/disk.js';
import { fail, ok, warn, type Finding } from '../kernel/finding.js';
import { parseDatabaseUrl } from '../db/url.js';
import { topicKeys } from '../kernel/topics.js';

/** Where the settings came from, as far as the findings need it. */
export interface Origin {
  file: string | undefined;
  environment: NodeJS.ProcessEnv;
}

/** A secret that a setting names. `inUse`: something that is switched on asks for it. */
export interface NamedSecret {
  setting: string;
  place: SecretPlace;
  inUse: boolean;
}

/** What is worth a look in the settings themselves, which are known to be valid. Reads files' modes, and no secret. */
export function configFindings(config: Config, origin: Origin, now: Date): Finding[] {
  return [
    calendarFinding(config, now),
    ...strangeVariables(origin.environment),
    ...uselessFiles(origin.environment),
    ...unusedSettings(config),
    ...openSecrets(config, origin),
  ];
}

function calendarFinding({ calendar }: Config, now: Date): Finding {
  const day = dueDay(now, calendar);
  const ended = cutOffOf(day, calendar).toISOString().slice(0, 16).replace('T', ' ');
  return ok(
    'calendar',
    `cut-off ${calendar.cutOff} ${calendar.timeZone}: the day due is ${day}, which ended at ${ended} UTC`,
  );
}

/** Variables of this program's name that no setting has: what somebody thinks is set, and is not. */
function strangeVariables(environment: NodeJS.ProcessEnv): Finding[] {
  const known = new Set(['SETTLE_CONFIG', 'SETTLE_DEBUG']);
  for (const path of leafPaths().filter((leaf) => schemaNode(leaf)?.type !== 'object')) {
    known.add(variableName(path)).add(`${variableName(path)}_FILE`);
  }
  const strange = Object.keys(environment).filter((name) => name.startsWith('SETTLE_') && !known.has(name));
  if (strange.length === 0) return [];
  return [warn('config:environment', `no setting has the name of ${strange.join(', ')}`, `unset ${strange.join(' ')}`)];
}

/** NAME and NAME_FILE at the same time: the file is passed over. */
function uselessFiles(environment: NodeJS.ProcessEnv): Finding[] {
  const both = leafPaths()
    .map(variableName)
    .filter((name) => isSet(environment[name]) && isSet(environment[`${name}_FILE`]));
  return both.map((name) =>
    warn('config:environment', `${name} is set, so that ${name}_FILE is not read`, `unset ${name}`),
  );
}

function isSet(text: string | undefined): boolean {
  return text !== undefined && text.trim() !== '';
}

/** Sinks, channels and chains that are configured, secrets and all, and that nothing leads to. */
function unusedSettings(config: Config): Finding[] {
  const unused = (setting: string, why: string, fix: string): Finding =>
    warn('config:unused', `${setting} ${why}`, fix);
  const routed = routedNames(config);
  const paying = payingNames(config);
  return [
    ...Object.keys(config.sinks)
      .filter((name) => !routed.has(name))
      .map((name) =>
        unused(`sinks.${name}`, 'is named by no route', `Name it under routes, or remove it with its secret.`),
      ),
    ...[...routed]
      .filter((name) => !Object.hasOwn(config.sinks, name))
      .map((name) =>
        fail('config:routes', `routes names the sink ${name}, which is not configured`, 'Add it under sinks.'),
      ),
    ...Object.keys(config.channels)
      .filter((name) => !paying.has(name) && paying.size > 0)
      .map((name) =>
        unused(
          `channels.${name}`,
          'is in neither payouts.channel nor payouts.channelByCurrency: only beneficiaries that name it are paid by it',
          'Remove it with its secret, unless beneficiaries name it.',
        ),
      ),
    ...[...paying]
      .filter((name) => !Object.hasOwn(config.channels, name))
      .map((name) =>
        fail('config:payouts', `payouts names the channel ${name}, which is not configured`, 'Add it under channels.'),
      ),
    ...Object.entries(config.chains)
      .filter(([, { enabled }]) => !enabled)
      .map(([name]) => unused(`chains.${name}`, 'is switched off', `Set enabled: true, or remove it with its secret.`)),
  ];
}

export function routedNames({ routes }: Config): Set<string> {
  return new Set(topicKeys.flatMap((key) => routes[key] ?? []));
}

function payingNames({ payouts }: Config): Set<string> {
  const { channel, channelByCurrency } = payouts;
  return new Set([...(channel === undefined ? [] : [channel]), ...Object.values(channelByCurrency)]);
}

/** Every secret that the settings name. */
export function namedSecrets(config: Config): NamedSecret[] {
  const routed = routedNames(config);
  const named: NamedSecret[] = [];
  const add = (setting: string, place: SecretPlace | undefined, inUse: boolean): void => {
    if (place !== undefined) named.push({ setting, place, inUse });
  };
  for (const [name, sink] of Object.entries(config.sinks)) {
    if (sink.kind === 'amqp') add(`sinks.${name}.password`, sink.password, routed.has(name));
    if (sink.kind === 'webhook') add(`sinks.${name}.secret`, sink.secret, routed.has(name));
  }
  for (const [name, channel] of Object.entries(config.channels)) {
    if (channel.kind === 'http') add(`channels.${name}.secret`, channel.secret, true);
    if (channel.kind === 'stripe') add(`channels.${name}.apiKey`, channel.apiKey, true);
  }
  for (const [name, chain] of Object.entries(config.chains)) add(`chains.${name}.url`, chain.url, chain.enabled);
  return named;
}

/** Files with secrets in them that every user of this machine may read. */
function openSecrets(config: Config, { file, environment }: Origin): Finding[] {
  const files: { what: string; path: string }[] = namedSecrets(config).flatMap(({ setting, place }) =>
    'file' in place ? [{ what: setting, path: place.file }] : [],
  );
  for (const name of leafPaths().map((path) => `${variableName(path)}_FILE`)) {
    const path = environment[name];
    if (path !== undefined && isSet(path)) files.push({ what: name, path });
  }
  const explicit = explicitFile({ file, environment });
  if (holdsPassword(lookUp(fileTree(explicit), ['database', 'url']))) {
    files.push({ what: 'database.url with its password', path: explicit ?? 'settle.yaml' });
  }
  const open = files.filter(({ path }) => isWorldReadable(path));
  if (open.length === 0)
    return files.length === 0 ? [] : [ok('config:secrets', 'no file with a secret is open to all')];
  return open.map(({ what, path }) =>
    fail('config:secrets', `${path} (${what}) may be read by every user of this machine`, `chmod o-rwx ${path}`),
  );
}

function holdsPassword(url: unknown): boolean {
  if (typeof url !== 'string' || url.startsWith('sqlite:')) return false;
  const target = parseDatabaseUrl(url);
  return target.dialect === 'mysql' && target.password !== '';
}

function isWorldReadable(path: string): boolean {
  try {
    accessSync(path, constants.F_OK);
    return (statSync(path).mode & 0o004) !== 0;
  } catch {
    return false; // what cannot be found or fetched is told where it is fetched
  }
}

/** Where files grow: the database of SQLite, reports, payment files, sinks that are files. */
export function writtenPlaces(config: Config): Place[] {
  const target = parseDatabaseUrl(config.database.url);
  const { dir } = config.report;
  return [
    ...(target.dialect === 'sqlite' ? [{ setting: 'database.url', path: target.path, kind: 'file' as const }] : []),
    ...(dir === undefined ? [] : [{ setting: 'report.dir', path: dir, kind: 'folder' as const }]),
    ...Object.entries(config.channels).flatMap(([name, channel]): Place[] =>
      channel.kind === 'file' ? [{ setting: `channels.${name}.dir`, path: channel.dir, kind: 'folder' }] : [],
    ),
    ...Object.entries(config.sinks).flatMap(([name, sink]): Place[] =>
      sink.kind === 'file' ? [{ setting: `sinks.${name}.path`, path: sink.path, kind: 'file' }] : [],
    ),
  ];
}
