import { z } from 'zod';
import { readChart, type ChartLine } from './kernel/chart.js';
import { SettleError } from './kernel/errors.js';
import { nearest } from './kernel/nearest.js';
import { shown } from './kernel/printable.js';
import { readSmallFile } from './kernel/smallFile.js';
import { isTree, lineOf, yamlTree, type Tree } from './kernel/yamlTree.js';
import { calendarSchema } from './configCalendar.js';
import { chainsSchema, depositsSchema } from './configDeposits.js';
import { notificationsSchema } from './configNotifications.js';
import { channelsSchema, payoutsSchema } from './configPayouts.js';
import { outboxSchema, routesSchema, sinksSchema } from './configSinks.js';
import { discrepanciesSchema, statementsSchema } from './configReconciliation.js';
import { sourceSchema } from './configSource.js';
import { duration } from './configValues.js';
import { defaultDatabaseUrl } from './db/url.js';

// What each setting must be is told in words of ours: the description of its schema.

/** Every setting, with its default. The same tree in settle.yaml; SETTLE_BATCH_PAGE_SIZE and so on in the environment. */
export const configSchema = z.strictObject({
  database: z
    .strictObject({
      url: z.string().meta({ description: 'the text of a database URL' }).default(defaultDatabaseUrl),
      statementTimeout: duration.prefault('5m'),
      connectTimeout: duration.prefault('10s'),
    })
    .prefault({}),
  calendar: calendarSchema,
  source: sourceSchema,
  accounts: z.strictObject({ autoRegister: z.boolean().default(true) }).prefault({}),
  ledger: z
    .strictObject({
      chart: z
        .unknown()
        .transform((value, context): ChartLine[] | undefined => {
          if (value === undefined) return undefined;
          const { lines, problems } = readChart(value);
          for (const { path, must } of problems) context.addIssue({ code: 'custom', path, message: must });
          return lines;
        })
        .optional(),
    })
    .prefault({}),
  batch: z
    .strictObject({
      lanes: z.int().min(1).max(64).optional(),
      pageSize: z.int().min(1).max(1_000_000).optional(),
      chunkSize: z.int().min(1).max(500_000).optional(),
      lookBackDays: z.int().min(0).max(366).default(31),
      leaseDuration: duration.prefault('30s'),
      shardTimeout: duration.prefault('15m'),
      messageAttempts: z.int().min(1).max(20).default(3),
    })
    .prefault({}),
  shard: z
    .strictObject({
      index: z.int().min(0).optional(),
      count: z.int().min(1).max(64).optional(),
    })
    .refine(
      ({ index, count }) => (index === undefined) === (count === undefined),
      'a mapping with both index and count, or empty',
    )
    .refine(({ index, count }) => index === undefined || count === undefined || index < count, {
      path: ['index'],
      message: 'less than shard.count: shards are counted from 0 here',
    })
    .prefault({}),
  payouts: payoutsSchema,
  channels: channelsSchema,
  sinks: sinksSchema,
  routes: routesSchema,
  outbox: outboxSchema,
  deposits: depositsSchema,
  chains: chainsSchema,
  statements: statementsSchema,
  discrepancies: discrepanciesSchema,
  notifications: notificationsSchema,
  report: z.strictObject({ dir: z.string().meta({ description: 'the path of a folder' }).optional() }).prefault({}),
});

export type Config = z.output<typeof configSchema>;

/**
 * Settings by precedence: flag > environment > file > default. Throws CONFIG_UNREADABLE or CONFIG_INVALID with the
 * setting, where it came from, and what it must be; values that may be secret are not repeated.
 */
export function loadConfig(options: {
  file?: string | undefined;
  environment: NodeJS.ProcessEnv;
  flags?: Tree;
}): Config {
  const explicit = explicitFile(options);
  const tree = fileTree(explicit);
  const fromEnvironment = environmentTree(options.environment);
  const merged = merge(merge(tree, fromEnvironment), options.flags ?? {});
  const result = configSchema.safeParse(merged);
  if (result.success) return result.data;
  const { issues } = result.error;
  const lines = issues
    .slice(0, issuesShown)
    .map((issue) => describe(issue, explicit ?? 'settle.yaml', merged, fromEnvironment));
  if (issues.length > issuesShown) lines.push(`${String(issues.length - issuesShown)} more are wrong.`);
  throw new SettleError('CONFIG_INVALID', `The configuration is not valid. ${lines.join(' ')}`, {
    details: { settings: issues.slice(0, issuesShown).map((issue) => issue.path.join('.')) },
    next: 'Mend the setting named above; settle run --help lists the flags, docs/configuration.md the settings.',
  });
}

/** The file that was named; undefined: settle.yaml, if there is one. */
export function explicitFile(options: {
  file?: string | undefined;
  environment: NodeJS.ProcessEnv;
}): string | undefined {
  return options.file ?? setOrUndefined(options.environment['SETTLE_CONFIG']);
}

const issuesShown = 10;

function describe(issue: z.core.$ZodIssue, file: string, tree: Tree, fromEnvironment: Tree): string {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return describeUnknown(issue.keys, path, file);
  const inEnvironment = lookUp(fromEnvironment, path) !== undefined;
  const where = inEnvironment ? `environment variable ${variablesAt(path)}` : placeInFile(file, path);
  const given = kindOfValue(lookUp(tree, path), path);
  // What holds between several settings stands with their rule; what holds of one, in its schema.
  const rule = issue.code === 'custom' && schemaNode(path)?.description === undefined ? issue.message : wanted(path);
  return `${path.join('.')} (${where}) must be ${rule}; it is ${given}.`;
}

/** "settle.yaml, line 12": where a setting stands, or the nearest one above it. */
export function placeInFile(file: string, path: readonly string[]): string {
  try {
    const line = lineOf(readSmallFile(file), path);
    return line === undefined ? file : `${file}, line ${String(line)}`;
  } catch {
    return file; // there is none, and the setting came from a flag
  }
}

function variablesAt(path: readonly string[]): string {
  const keys = keysAt(path);
  return keys.length === 0 ? variableName(path) : keys.map((key) => variableName([...path, key])).join(', ');
}

function describeUnknown(keys: readonly string[], path: readonly string[], file: string): string {
  const full = (key: string): string => shown([...path, key].join('.'));
  const lines = keys.slice(0, issuesShown).map((key) => {
    const near = nearest(key, keysAt(path));
    const advice = near === null ? `known here are ${keysAt(path).join(', ')}.` : `did you mean ${full(near)}?`;
    return `Unknown setting ${full(key)} in ${file}; ${advice}`;
  });
  if (keys.length > issuesShown) lines.push(`${String(keys.length - issuesShown)} more are unknown.`);
  return lines.join(' ');
}

/** What a setting must be, as its schema says it. */
function wanted(path: readonly string[]): string {
  const node = schemaNode(path);
  // Of an item of a list, what the list must be.
  if (node === undefined && path.length > 1) return wanted(path.slice(0, -1));
  const { description, type, minimum, maximum } = node ?? {};
  if (description !== undefined) return description;
  if (type === 'integer') return `a whole number from ${String(minimum)} to ${String(maximum)}`;
  if (type === 'boolean') return 'true or false';
  return `a mapping with some of ${keysAt(path).join(', ')}`;
}

/** What was given instead. The text of a database setting may hold a password, as may all that is out of its place. */
function kindOfValue(value: unknown, path: readonly string[]): string {
  if (value === null) return 'empty (null)';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return 'a mapping';
  return ['database', 'channels', 'sinks', 'chains', 'notifications'].includes(path[0] ?? '') || keysAt(path).length > 0
    ? 'another text'
    : `the text ${shown(value)}`;
}

export function fileTree(explicit: string | undefined): Tree {
  const file = explicit ?? 'settle.yaml';
  let text: string;
  try {
    text = readSmallFile(file);
  } catch (error) {
    if (explicit === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new SettleError('CONFIG_UNREADABLE', `The config file ${file} cannot be read: ${(error as Error).message}`, {
      details: { file },
      next: 'Check the path given with --config or SETTLE_CONFIG.',
      cause: error,
    });
  }
  const { tree, problem, line, column } = yamlTree(text);
  if (tree !== null) return tree;
  const at = line === undefined ? '' : ` at line ${String(line)}, column ${String(column)}`;
  throw new SettleError('CONFIG_UNREADABLE', `The config file ${file} is not valid YAML${at}: ${problem}`, {
    details: { file, line: line ?? null, column: column ?? null },
    next: 'Mend the file, or name another with --config.',
  });
}

/** Every leaf of the schema has a variable: batch.pageSize is SETTLE_BATCH_PAGE_SIZE. An empty one counts as unset. */
export function environmentTree(environment: NodeJS.ProcessEnv): Tree {
  const tree: Tree = {};
  refuseSlips(environment);
  for (const path of leafPaths().filter((leaf) => schemaNode(leaf)?.type !== 'object')) {
    const name = variableName(path);
    const secretFile = setOrUndefined(environment[`${name}_FILE`]);
    const text =
      setOrUndefined(environment[name]) ?? (secretFile === undefined ? undefined : secretFrom(name, secretFile));
    if (text === undefined) continue;
    let node = tree;
    for (const key of path.slice(0, -1)) node = (node[key] ??= {}) as Tree;
    node[path[path.length - 1] as string] = scalar(text, path);
  }
  return tree;
}

/** A variable that is nearly one of ours would be passed over in silence, and the run would go to another database. */
function refuseSlips(environment: NodeJS.ProcessEnv): void {
  const known = leafPaths().flatMap((path) => [variableName(path), `${variableName(path)}_FILE`]);
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('SETTLE_') || known.includes(name)) continue;
    const near = nearest(name, known);
    if (near === null) continue;
    throw new SettleError('CONFIG_INVALID', `Unknown environment variable ${name}; did you mean ${near}?`, {
      details: { settings: [name] },
      next: `Rename it to ${near}, or unset it.`,
    });
  }
}

function secretFrom(name: string, file: string): string {
  try {
    return readSmallFile(file).trim();
  } catch (error) {
    throw new SettleError(
      'CONFIG_UNREADABLE',
      `${name}_FILE names a file that cannot be read: ${(error as Error).message}`,
      {
        details: { setting: `${name}_FILE` },
        next: `Mend the path in ${name}_FILE.`,
      },
    );
  }
}

/** Numbers and booleans by an exact pattern, so that "", "1e3" or "0x10" never become a number; lists by comma. */
function scalar(text: string, path: string[]): unknown {
  const kind = leafKind(path);
  if (kind === 'number' && /^(0|[1-9][0-9]*)$/.test(text)) return Number(text);
  if (kind === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  if (kind === 'list') return text.split(',').map((item) => item.trim());
  return text;
}

function setOrUndefined(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text;
}

export function variableName(path: readonly string[]): string {
  return `SETTLE_${path.map((key) => key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()).join('_')}`;
}

export type JsonNode = {
  type?: string;
  default?: unknown;
  description?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, JsonNode>;
  additionalProperties?: JsonNode | boolean;
  oneOf?: JsonNode[];
  anyOf?: JsonNode[];
};
let schemaTree: JsonNode | undefined;

export function schemaNode(path: readonly string[]): JsonNode | undefined {
  schemaTree ??= z.toJSONSchema(configSchema, { io: 'input' }) as JsonNode;
  let node: JsonNode | undefined = schemaTree;
  for (const key of path) node = childOf(node, key);
  return node;
}

/** A setting below another: named there, one of a free choice of names, or of one of several forms that it may have. */
function childOf(node: JsonNode | undefined, key: string): JsonNode | undefined {
  const { properties, additionalProperties, oneOf = [], anyOf = [] } = node ?? {};
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  if (typeof additionalProperties === 'object') return additionalProperties;
  return [...oneOf, ...anyOf].map((form) => childOf(form, key)).find((child) => child !== undefined);
}

function keysAt(path: readonly string[]): string[] {
  return Object.keys(schemaNode(path)?.properties ?? {});
}

function leafKind(path: readonly string[]): 'number' | 'boolean' | 'list' | 'text' {
  const type = schemaNode(path)?.type;
  if (type === 'array') return 'list';
  return type === 'integer' || type === 'number' ? 'number' : type === 'boolean' ? 'boolean' : 'text';
}

export function leafPaths(path: string[] = []): string[][] {
  const keys = keysAt(path);
  return keys.length === 0 ? [path] : keys.flatMap((key) => leafPaths([...path, key]));
}

export function lookUp(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as Tree | null | undefined)?.[key], tree);
}

function merge(under: Tree, over: Tree): Tree {
  const merged: Tree = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isTree(value) && isTree(below) ? merge(below, value) : value;
  }
  return merged;
}
