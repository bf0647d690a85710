import { createHash } from 'node:crypto';
import { z } from 'zod';
import { stringify } from 'yaml';
import {
  configSchema,
  environmentTree,
  explicitFile,
  fileTree,
  leafPaths,
  lookUp,
  schemaNode,
  variableName,
  type JsonNode,
} from './config.js';
import { toJson } from './kernel/json.js';
import { isTree, type Tree } from './kernel/yamlTree.js';

export interface ShownSetting {
  /** "batch.lanes" */
  setting: string;
  /** As it is written in settle.yaml; null where nothing is set and there is no default. A secret is left out. */
  value: unknown;
  source: 'default' | 'file' | 'environment';
  /** The variable that would set it; null for what only the file can. */
  variable: string | null;
}

/** Every setting that holds, by name. Reads the file again: the settings themselves are known to be valid by then. */
export function shownSettings(options: { file: string | undefined; environment: NodeJS.ProcessEnv }): ShownSetting[] {
  const file = fileTree(explicitFile(options));
  const environment = environmentTree(options.environment);
  const known = leafPaths().filter(isPlain);
  const paths = new Map([...known, ...leavesOf(file), ...leavesOf(environment)].map((path) => [path.join('.'), path]));
  return [...paths].map(([setting, path]) => {
    const variable = known.some((one) => one.join('.') === setting) ? variableName(path) : null;
    const fromEnvironment = lookUp(environment, path);
    const fromFile = lookUp(file, path);
    const [value, source] =
      fromEnvironment !== undefined
        ? ([fromEnvironment, 'environment'] as const)
        : fromFile !== undefined
          ? ([fromFile, 'file'] as const)
          : ([schemaNode(path)?.default ?? null, 'default'] as const);
    return { setting, value: withoutSecret(path, value), source, variable };
  });
}

/**
 * SHA-256 over the names and values of all settings that hold, as `shownSettings` shows them: where they come from plays
 * no part, and secrets neither. Two runs with the same hash ran with the same settings.
 */
export function settingsHash(options: Parameters<typeof shownSettings>[0]): string {
  const lines = shownSettings(options).map(({ setting, value }) => `${setting} ${toJson(value)}`);
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}

/** A setting of its own, and no mapping of names that the user chooses. */
function isPlain(path: readonly string[]): boolean {
  return schemaNode(path)?.type !== 'object';
}

function leavesOf(tree: Tree, path: string[] = []): string[][] {
  return Object.entries(tree).flatMap(([key, value]) =>
    isTree(value) && Object.keys(value).length > 0 ? leavesOf(value, [...path, key]) : [[...path, key]],
  );
}

const hidden = '***';

/** The password of a URL, and what a command is given to fetch a secret; a secret itself is never in the settings. */
function withoutSecret(path: readonly string[], value: unknown): unknown {
  if (path.at(-1) === 'command' && Array.isArray(value)) return [value[0], ...value.slice(1).map(() => hidden)];
  if (typeof value !== 'string') return value;
  // Nobody knows where a password is in what is no address of a database.
  if (path.join('.') === 'database.url' && !/^(sqlite:|[a-z][a-z0-9+.-]*:\/\/([^:/?#@]*(:.*)?@)?[^@]*$)/i.test(value))
    return hidden;
  return value.replace(/^([a-z][a-z0-9+.-]*:\/\/[^:/?#@]*):.*@/i, `$1:${hidden}@`);
}

/** The JSON Schema of settle.yaml. */
export function settingsSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(configSchema, { io: 'input' }), title: 'settle.yaml' };
}

/**
 * A settle.yaml with every setting at its default, commented out, and what each must be. What `chosen` has, by section and
 * name, is set to that.
 */
export function settingsTemplate(chosen: Readonly<Record<string, Readonly<Record<string, string>>>> = {}): string {
  const sections = Object.entries(schemaNode([])?.properties ?? {}).map(([name, node]) =>
    section(name, node, chosen[name] ?? {}),
  );
  return [
    '# Settings of settle. Each can be set by an environment variable too: batch.pageSize is SETTLE_BATCH_PAGE_SIZE.',
    '# Secrets do not belong here: set SETTLE_DATABASE_URL, or SETTLE_DATABASE_URL_FILE with the path of a file.',
    ...sections,
  ]
    .join('\n')
    .concat('\n');
}

function section(name: string, node: JsonNode, chosen: Readonly<Record<string, string>>): string {
  const settings = Object.entries(node.properties ?? {});
  const lines = settings.map(([key, setting]) => {
    const value = chosen[key];
    return value === undefined
      ? `#   ${key}: ${example(setting)}${meaning(setting)}`
      : `  ${key}: ${stringify(value, { lineWidth: 0 }).trim()}${meaning(setting)}`;
  });
  if (lines.length === 0) return `# ${name}: {}`;
  return [`${Object.keys(chosen).length > 0 ? '' : '# '}${name}:`, ...lines].join('\n');
}

function example({ default: value }: JsonNode): string {
  return value === undefined ? '' : stringify(value).trim();
}

function meaning({ default: value, description, type, minimum, maximum }: JsonNode): string {
  const usual = value === undefined ? 'not set by default' : '';
  const range = type === 'integer' ? `a whole number from ${String(minimum)} to ${String(maximum)}` : '';
  const texts = [usual, description ?? range].filter((text) => text !== '');
  return texts.length === 0 ? '' : `  # ${texts.join('; ')}`;
}
