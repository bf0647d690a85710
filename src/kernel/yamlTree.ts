import { isMap, isNode, isPair, LineCounter, parseDocument } from 'yaml';

export type Tree = { [key: string]: unknown };

/** The mapping in a YAML text, or what is wrong with it and where. */
export interface YamlTree {
  tree: Tree | null;
  problem: string;
  line?: number | undefined;
  column?: number | undefined;
}

export function yamlTree(text: string): YamlTree {
  try {
    const document = parseDocument(text, { logLevel: 'error' });
    // A warning is for a tag that is not known: its value would be taken for something else.
    const [mistake] = [...document.errors, ...document.warnings];
    if (mistake?.code === 'RESOURCE_EXHAUSTION') return tooMuch;
    if (mistake !== undefined) {
      const [at] = mistake.linePos ?? [];
      return { tree: null, problem: mistake.message.split('\n')[0] ?? '', line: at?.line, column: at?.col };
    }
    const value: unknown = document.toJS() ?? {};
    return isTree(value) ? { tree: value, problem: '' } : { tree: null, problem: 'it is not a mapping of settings' };
  } catch {
    return tooMuch; // an alias of nothing, or of too much
  }
}

/** Beyond what any settings are, on purpose or by accident. */
const tooMuch: YamlTree = { tree: null, problem: 'it nests or repeats too much, or names what it does not define' };

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The line on which a setting stands, or the nearest one above it that is there; undefined when none is. */
export function lineOf(text: string, path: readonly string[]): number | undefined {
  const lines = new LineCounter();
  let node: unknown = parseDocument(text, { logLevel: 'error', lineCounter: lines }).contents;
  let offset: number | undefined;
  for (const key of path) {
    if (!isMap(node)) break;
    const pair = node.items.find((item) => isPair(item) && String(item.key) === key);
    if (pair === undefined) break;
    if (isNode(pair.key)) offset = pair.key.range?.[0];
    node = pair.value;
  }
  return offset === undefined ? undefined : lines.linePos(offset).line;
}
