import { z } from 'zod';
import { configSchema } from '../../src/config.js';
import { nasty, type Random } from './random.js';

interface Node {
  properties?: Record<string, Node>;
}

/** Every setting there is, as paths: ["batch", "pageSize"]. Told by the schema, so that no new one is forgotten. */
export const settingPaths: readonly (readonly string[])[] = pathsOf(
  z.toJSONSchema(configSchema, { io: 'input' }) as Node,
);

function pathsOf(node: Node, path: string[] = []): string[][] {
  const keys = Object.keys(node.properties ?? {});
  return keys.length === 0 ? [path] : keys.flatMap((key) => pathsOf(node.properties?.[key] ?? {}, [...path, key]));
}

export function variableOf(path: readonly string[]): string {
  return ['settle', ...path.map((key) => key.replace(/[A-Z]/g, '_$&'))].join('_').toUpperCase();
}

const likely: readonly string[] = [
  '1',
  '4',
  '65',
  '500',
  '1000000',
  '30s',
  '500ms',
  '0s',
  '1.5m',
  '577h',
  'true',
  'false',
  'yes',
  'UTC',
  'Asia/Shanghai',
  'Mars/Olympus',
  'Etc/GMT+14',
  '22:30',
  '24:00',
  '9:30',
  'sqlite:settle.db',
  'sqlite:none/none.db',
  'sqlite::memory:',
  'sqlite:',
  'postgres://u:p@h/d',
  './reports',
];

/** A value as somebody might type it for some setting, seldom for the right one. */
export function settingValue(random: Random): string {
  return random.oneIn(3) ? random.pick(nasty) : random.oneIn(6) ? random.text(30) : random.pick(likely);
}

/** Addresses of a server that is not there: nothing listens on this port. */
export function serverUrl(random: Random): string {
  const part = (): string =>
    random.pick(['settle', 'p%40ss', 'p@ss', '%', '%zz', 'a:b', 'a/b', 'a#b', 'a?b', '', '😀']);
  const query = random.pick([
    '',
    '',
    '?ssl=on',
    '?ssl=verify',
    '?ssl=',
    '?socket=%2Fnone.sock',
    '?x=1',
    '?ssl=on&ssl=off',
  ]);
  return `${random.pick(['mysql', 'mariadb', 'MYSQL'])}://${part()}:${part()}@127.0.0.1:1/${part()}${query}`;
}

/** Commands that read settings and change nothing. */
export const harmless: readonly (readonly string[])[] = [
  ['lock', 'show'],
  ['runs'],
  ['status'],
  ['migrate', 'status'],
  ['ledger', 'accounts'],
  ['run', '--dry-run'],
];
