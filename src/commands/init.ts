import { existsSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { settingsTemplate } from '../configShow.js';
import { localTime, timeZone } from '../configValues.js';
import { Database } from '../db/database.js';
import { schemaStatus } from '../db/schema.js';
import { defaultDatabaseUrl, parseDatabaseUrl } from '../db/url.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import type { Command, CommandContext } from './context.js';

interface InitOptions {
  database?: string;
  timeZone?: string;
  cutOff?: string;
}

const file = 'settle.yaml';
/** Holds the URL with its password, for its owner alone. */
const secretFile = 'database-url';

/** Where the database is: what goes into settle.yaml, and what into a file of its own since it has a password. */
interface Chosen {
  /** With its password, to try it. */
  url: string;
  /** Whether it is set by the environment already, and written nowhere. */
  isGiven: boolean;
  hasPassword: boolean;
}

/**
 * `settle init`: writes a settle.yaml with what it is told and every other setting commented out. Asks at a terminal; elsewhere it
 * needs `--yes`, and takes the default of each flag that is not given. Tries the database first; what it cannot reach, or finds
 * here already, leaves everything as it was.
 */
export const init: Command<InitOptions> = async (context, options) => {
  refuseOtherPlaces(context);
  const asks = context.interactive && !context.assumeYes;
  if (!asks && !context.assumeYes) {
    throw new SettleError('CONFIRMATION_NEEDED', 'There is no terminal to ask at.', {
      next: `settle init --yes --database ${defaultDatabaseUrl} --time-zone UTC --cut-off 00:00`,
    });
  }
  const answers = asks ? context : null;
  const database = await chooseDatabase(context, options.database, asks);
  const zone = await choose(answers, options.timeZone, 'time-zone', 'Time zone of the cut-off', 'UTC', timeZone);
  const cutOff = await choose(
    answers,
    options.cutOff,
    'cut-off',
    'Local time that ends a batch day',
    '00:00',
    localTime,
  );
  const isMigrated = await tryDatabase(context, database);
  const written = write(database, { timeZone: zone, cutOff });
  await tell(context, database, written, isMigrated ? 'settle doctor' : 'settle migrate up');
  return exitCodes.OK;
};

function refuseOtherPlaces({ configFile }: CommandContext): void {
  const other = configFile ?? process.env['SETTLE_CONFIG'];
  if (other !== undefined && other !== '') {
    throw new SettleError('USAGE', `settle init writes ${file} in this folder, and another file is named: ${other}.`, {
      next: `Leave out --config and SETTLE_CONFIG, or: settle config init > ${other}`,
    });
  }
  refuseExisting(file);
}

function refuseExisting(path: string): void {
  if (!existsSync(path)) return;
  throw new SettleError('FILE_NOT_WRITABLE', `${path} is here already; settle init overwrites nothing.`, {
    details: { file: path },
    next: path === file ? 'settle config show' : `Move ${path} away, or set SETTLE_DATABASE_URL_FILE to it.`,
  });
}

async function chooseDatabase(context: CommandContext, flag: string | undefined, asks: boolean): Promise<Chosen> {
  const given = ['SETTLE_DATABASE_URL', 'SETTLE_DATABASE_URL_FILE'].find((name) => (process.env[name] ?? '') !== '');
  if (given !== undefined) {
    if (flag === undefined) return { url: context.config.database.url, isGiven: true, hasPassword: false };
    throw new SettleError('USAGE', `--database is given, and ${given} is set, which would win.`, {
      next: `unset ${given}, or leave out --database.`,
    });
  }
  if (flag !== undefined || !asks) return withoutPassword(flag ?? defaultDatabaseUrl);
  for (;;) {
    const line = await context.ask(
      `Database, sqlite:PATH or mysql://USER@HOST:PORT/DATABASE [${defaultDatabaseUrl}]: `,
    );
    try {
      return await withAskedPassword(context, line.trim() === '' ? defaultDatabaseUrl : line.trim());
    } catch (error) {
      if (!(error instanceof SettleError) || error.code !== 'DATABASE_URL_INVALID') throw error;
      context.say(`${error.message} ${error.next}`);
    }
  }
}

/** What is on a command line is seen by every user of the machine, and kept in a history. */
function withoutPassword(url: string): Chosen {
  const target = parseDatabaseUrl(url);
  if (target.dialect === 'mysql' && target.password !== '') {
    throw new SettleError('USAGE', 'A password does not belong on a command line.', {
      next: 'Set SETTLE_DATABASE_URL, or SETTLE_DATABASE_URL_FILE with the path of a file that only you may read.',
    });
  }
  return { url, isGiven: false, hasPassword: false };
}

async function withAskedPassword(context: CommandContext, url: string): Promise<Chosen> {
  const target = parseDatabaseUrl(url);
  if (target.dialect !== 'mysql') return { url, isGiven: false, hasPassword: false };
  if (target.password !== '') return { url, isGiven: false, hasPassword: true };
  const password = await context.ask(`Password of ${target.user} (not shown; empty for none): `, { hidden: true });
  if (password === '') return { url, isGiven: false, hasPassword: false };
  const whole = new URL(url);
  whole.password = encodeURIComponent(password);
  return { url: whole.href, isGiven: false, hasPassword: true };
}

interface Rule {
  safeParse(value: string): { success: boolean };
  description?: string | undefined;
}

/** The flag, or the answer to a question; asked again until it is right. */
async function choose(
  context: CommandContext | null,
  flag: string | undefined,
  name: string,
  question: string,
  usual: string,
  rule: Rule,
): Promise<string> {
  if (flag !== undefined || context === null) {
    const value = flag ?? usual;
    if (rule.safeParse(value).success) return value;
    throw new SettleError('USAGE', `--${name} ${shown(value)} is not ${wanted(rule)}.`, {
      details: { flag: `--${name}` },
    });
  }
  for (;;) {
    const line = (await context.ask(`${question} [${usual}]: `)).trim();
    const value = line === '' ? usual : line;
    if (rule.safeParse(value).success) return value;
    context.say(`${shown(value)} is not ${wanted(rule)}.`);
  }
}

function wanted(rule: Rule): string {
  const { description } = (rule as Rule & { meta?: () => { description?: string } | undefined }).meta?.() ?? {};
  return description ?? 'what belongs there';
}

/** Whether nothing is to be migrated by this version. Throws why it cannot be used; makes nothing. */
async function tryDatabase({ config }: CommandContext, { url }: Chosen): Promise<boolean> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === 'sqlite' && !existsSync(target.path)) {
    const folder = dirname(resolve(target.path));
    if (existsSync(folder)) return false;
    throw new SettleError('DATABASE_NOT_WRITABLE', `There is no folder ${folder} for ${target.label}.`, {
      next: `mkdir -p ${folder}`,
    });
  }
  const { statementTimeout, connectTimeout } = config.database;
  const limits = { statementMsMax: statementTimeout, connectMsMax: connectTimeout };
  const database = await Database.open(target, { ...limits, readOnly: true });
  try {
    const { pending, unknown } = await schemaStatus(database);
    return pending.length === 0 || unknown.length > 0;
  } finally {
    await database.close();
  }
}

/** The names of the files that were written, readable by their owner only. Fails where one is there by now. */
function write({ url, isGiven, hasPassword }: Chosen, calendar: { timeZone: string; cutOff: string }): string[] {
  const inFile = !isGiven && !hasPassword;
  const text = settingsTemplate({ ...(inFile ? { database: { url } } : {}), calendar });
  const files: [string, string][] = [
    ...(hasPassword ? [[secretFile, `${url}\n`] as [string, string]] : []),
    [file, text],
  ];
  for (const [name] of files) refuseExisting(name);
  for (const [name, content] of files) {
    try {
      writeFileSync(name, content, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      throw new SettleError('FILE_NOT_WRITABLE', `${name} cannot be written: ${(error as Error).message}`, {
        details: { file: name },
        next: 'Start settle init in a folder that you may write.',
      });
    }
  }
  return files.map(([name]) => name);
}

async function tell(
  context: CommandContext,
  { url, hasPassword }: Chosen,
  files: string[],
  next: string,
): Promise<void> {
  const { label } = parseDatabaseUrl(url);
  const variable = hasPassword ? `SETTLE_DATABASE_URL_FILE=${resolve(secretFile)}` : null;
  if (context.output !== 'text') {
    await context.document({ schema: 'settle.init', files, database: label, environment: variable, next });
    return;
  }
  await context.print(`Database: ${label}\nWrote ${files.join(' and ')}.`);
  if (variable !== null) await context.print(`Type first, and set it for cron and services too:\n  export ${variable}`);
  await context.print(`Next: ${next}`);
}
