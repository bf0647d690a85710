import { readFileSync } from 'node:fs';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { z } from 'zod';
import { SettleError } from './kernel/errors.js';
import { defaultDatabaseUrl } from './db/url.js';

const duration = z
  .string()
  .regex(/^[1-9][0-9]*(ms|s|m|h)$/, 'a duration such as 500ms, 30s, 15m or 2h')
  .transform(durationMs)
  .refine(isShort, 'at most 24 days (576h)');

/** What a timer of Node holds; a longer one would fire at once. */
export function isShort(ms: number): boolean {
  return ms <= 576 * 3_600_000;
}

/** Milliseconds of "500ms", "30s", "15m", "2h". */
export function durationMs(text: string): number {
  const [, amount, unit] = /^([0-9]+)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit ?? 'ms'] ?? 1;
  return Number(amount) * factor;
}

const timeZone = z.string().refine(isTimeZone, 'a time zone of the IANA list, such as Asia/Shanghai');

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Every setting, with its default. The same tree in settle.yaml; SETTLE_BATCH_PAGE_SIZE and so on in the environment. */
export const configSchema = z.strictObject({
  database: z
    .strictObject({
      url: z.string().default(defaultDatabaseUrl),
      statementTimeout: duration.prefault('5m'),
      connectTimeout: duration.prefault('10s'),
    })
    .prefault({}),
  calendar: z
    .strictObject({
      timeZone: timeZone.default('UTC'),
      cutOff: z
        .string()
        .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'a local time such as 22:30')
        .default('00:00'),
    })
    .prefault({}),
  accounts: z.strictObject({ autoRegister: z.boolean().default(true) }).prefault({}),
  batch: z
    .strictObject({
      lanes: z.int().min(1).max(64).optional(),
      pageSize: z.int().min(1).max(200_000).default(80_000),
      chunkSize: z.int().min(1).max(50_000).optional(),
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
    .refine(({ index, count }) => (index === undefined) === (count === undefined), 'index and count, both or neither')
    .refine(({ index, count }) => index === undefined || count === undefined || index < count, {
      path: ['index'],
      message: 'less than shard.count: shards are counted from 0 here',
    })
    .prefault({}),
  report: z.strictObject({ dir: z.string().optional() }).prefault({}),
});

export type Config = z.output<typeof configSchema>;

type Tree = { [key: string]: unknown };

/**
 * Settings by precedence: flag > environment > file > default. Throws CONFIG_UNREADABLE or CONFIG_INVALID with the
 * setting, where it came from, and what it must be; values that may be secret are not repeated.
 */
export function loadConfig(options: {
  file?: string | undefined;
  environment: NodeJS.ProcessEnv;
  flags?: Tree;
}): Config {
  const explicit = options.file ?? setOrUndefined(options.environment['SETTLE_CONFIG']);
  const tree = fileTree(explicit);
  const fromEnvironment = environmentTree(options.environment);
  const merged = merge(merge(tree, fromEnvironment), options.flags ?? {});
  const result = configSchema.safeParse(merged);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => describe(issue, explicit ?? 'settle.yaml', fromEnvironment));
  throw new SettleError('CONFIG_INVALID', `The configuration is not valid. ${lines.join(' ')}`, {
    details: { settings: result.error.issues.map((issue) => issue.path.join('.')) },
    next: 'Mend the setting named above; settle run --help lists the flags, README.md the settings.',
  });
}

function describe(issue: z.core.$ZodIssue, file: string, fromEnvironment: Tree): string {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .map((key) => {
        const near = nearest(key, keysAt(path));
        const full = [...path, key].join('.');
        return `Unknown setting "${full}" in ${file}${near === null ? '' : `; did you mean "${[...path, near].join('.')}"`}?`;
      })
      .join(' ');
  }
  const inEnvironment = lookUp(fromEnvironment, path) !== undefined;
  const where = inEnvironment ? `environment variable ${variableName(path)}` : file;
  const wanted =
    issue.code === 'invalid_format' || issue.code === 'custom' ? `must be ${issue.message}` : issue.message;
  return `${path.join('.')} (${where}): ${wanted}.`;
}

function fileTree(explicit: string | undefined): Tree {
  const file = explicit ?? 'settle.yaml';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (explicit === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new SettleError('CONFIG_UNREADABLE', `The config file ${file} cannot be read: ${(error as Error).message}`, {
      details: { file },
      next: 'Check the path given with --config or SETTLE_CONFIG.',
      cause: error,
    });
  }
  try {
    const tree: unknown = parseYaml(text) ?? {};
    if (typeof tree !== 'object' || Array.isArray(tree)) throw new Error('it is not a mapping of settings');
    return tree as Tree;
  } catch (error) {
    const at = error instanceof YAMLParseError ? error.linePos?.[0] : undefined;
    throw new SettleError(
      'CONFIG_UNREADABLE',
      `The config file ${file} is not valid YAML${at === undefined ? '' : ` at line ${String(at.line)}, column ${String(at.col)}`}: ${(error as Error).message.split('\n')[0] ?? ''}`,
      {
        details: { file, line: at?.line ?? null, column: at?.col ?? null },
        next: 'Mend the file, or name another with --config.',
      },
    );
  }
}

/** Every leaf of the schema has a variable: batch.pageSize is SETTLE_BATCH_PAGE_SIZE. An empty one counts as unset. */
function environmentTree(environment: NodeJS.ProcessEnv): Tree {
  const tree: Tree = {};
  refuseSlips(environment);
  for (const path of leafPaths()) {
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
    return readFileSync(file, 'utf8').trim();
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

/** Numbers and booleans by an exact pattern, so that "", "1e3" or "0x10" never become a number. */
function scalar(text: string, path: string[]): unknown {
  const kind = leafKind(path);
  if (kind === 'number' && /^(0|[1-9][0-9]*)$/.test(text)) return Number(text);
  if (kind === 'boolean' && /^(true|false)$/.test(text)) return text === 'true';
  return text;
}

function setOrUndefined(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text;
}

function variableName(path: readonly string[]): string {
  return `SETTLE_${path.map((key) => key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()).join('_')}`;
}

type JsonNode = { type?: string; properties?: Record<string, JsonNode> };
let schemaTree: JsonNode | undefined;

function schemaNode(path: readonly string[]): JsonNode | undefined {
  schemaTree ??= z.toJSONSchema(configSchema, { io: 'input' }) as JsonNode;
  let node: JsonNode | undefined = schemaTree;
  for (const key of path) node = node?.properties?.[key];
  return node;
}

function keysAt(path: readonly string[]): string[] {
  return Object.keys(schemaNode(path)?.properties ?? {});
}

function leafKind(path: readonly string[]): 'number' | 'boolean' | 'text' {
  const type = schemaNode(path)?.type;
  return type === 'integer' || type === 'number' ? 'number' : type === 'boolean' ? 'boolean' : 'text';
}

function leafPaths(path: string[] = []): string[][] {
  const keys = keysAt(path);
  return keys.length === 0 ? [path] : keys.flatMap((key) => leafPaths([...path, key]));
}

function lookUp(tree: Tree, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (node as Tree | undefined)?.[key], tree);
}

function merge(under: Tree, over: Tree): Tree {
  const merged: Tree = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    merged[key] = isTree(value) && isTree(below) ? merge(below, value) : value;
  }
  return merged;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The known key with the smallest edit distance, when it is near enough to be a slip. */
function nearest(key: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = 3;
  for (const candidate of known) {
    const distance = editDistance(key.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
      );
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
