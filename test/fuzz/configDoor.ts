import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Door } from './door.js';
import { nasty, type Random } from './random.js';
import { harmless, settingPaths, settingValue } from './settings.js';
import { tryCommand } from './tryCommand.js';

/** The config file: named, by the environment, or found in the folder. */
export const configDoor: Door = {
  name: 'config',
  try: (random, place) =>
    tryCommand(random, place, (cwd) => {
      const [name, args, environment] = random.pick<[string, string[], Record<string, string>]>([
        ['settle.yaml', [], {}],
        ['other.yml', ['--config', 'other.yml'], {}],
        ['by env.yaml', [], { SETTLE_CONFIG: 'by env.yaml' }],
      ]);
      const bytes = configBytes(random);
      const path = join(cwd, name);
      if (random.oneIn(60)) mkdirSync(path);
      else if (random.oneIn(60)) symlinkSync(random.pick(['nowhere', name, '/dev/null', '/dev/zero']), path);
      else writeFileSync(path, bytes);
      return {
        args: [...random.pick(harmless), ...args],
        environment,
        shown: JSON.stringify(bytes.toString('latin1').slice(0, 2_000)),
        mayWrite: [],
      };
    }),
};

function configBytes(random: Random): Buffer {
  if (random.oneIn(15)) return random.bytes(random.whole(0, 200));
  if (random.oneIn(8)) return Buffer.from(random.pick(attacks)());
  if (random.oneIn(12)) return Buffer.from(random.text(120));
  let bytes: Buffer = Buffer.from(settingsText(random));
  if (random.oneIn(4)) bytes = damaged(bytes, random);
  return bytes;
}

function settingsText(random: Random): string {
  const tree = new Map<string, string[]>();
  for (let count = random.whole(1, 6); count > 0; count -= 1) {
    const [section = '', key = ''] = random.pick(settingPaths);
    const name = random.oneIn(12) ? slip(random.oneIn(2) ? section : key, random) : null;
    const line = `${name ?? key}: ${scalarText(random)}`;
    const under = random.oneIn(20) ? slip(section, random) : section;
    tree.set(under, [...(tree.get(under) ?? []), line]);
  }
  const flow = random.oneIn(3);
  return [...tree]
    .map(([section, lines]) => {
      if (random.oneIn(25)) return `${section}: ${scalarText(random)}\n`;
      return flow
        ? `${section}: { ${lines.join(', ')} }\n`
        : `${section}:\n${lines.map((line) => `  ${line}\n`).join('')}`;
    })
    .join('');
}

function scalarText(random: Random): string {
  if (random.oneIn(3)) {
    return random.pick([
      'null',
      '~',
      '[]',
      '{}',
      '[1, 2]',
      '{ a: 1 }',
      '.inf',
      '.nan',
      '-1',
      '0',
      '4',
      '4.5',
      '1e308',
      '0x10',
      '0o17',
      'true',
      'yes',
      '2026-11-29',
      '!!binary aGk=',
      '!!set {a}',
      '&a x',
      '*a',
      '9'.repeat(40),
      '|',
      '>',
    ]);
  }
  const value = settingValue(random);
  return random.oneIn(2) ? JSON.stringify(value) : value;
}

function slip(word: string, random: Random): string {
  const at = random.whole(0, word.length);
  return random.pick([
    word.slice(0, at) + word.slice(at + 1),
    word.toUpperCase(),
    `${word.slice(0, at)}x${word.slice(at)}`,
    '__proto__',
    'constructor',
    'toString',
    '? [a, b]',
    '1',
    '<<',
    JSON.stringify(random.pick(nasty)),
  ]);
}

function damaged(bytes: Buffer, random: Random): Buffer {
  const at = random.whole(0, bytes.length);
  const put = random.pick([
    Buffer.from('\t'),
    Buffer.from('\0'),
    Buffer.from('"'),
    Buffer.from('---\n'),
    Buffer.from('}'),
    Buffer.from('&x '),
    random.bytes(2),
    Buffer.from('\ufeff'),
    Buffer.from('\u2028'),
  ]);
  return random.pick([
    () => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at)]),
    () => bytes.subarray(0, at),
    () => Buffer.concat([bytes, bytes]),
    () => Buffer.from(bytes.toString(), 'utf16le'),
    () => Buffer.from(bytes.toString().replaceAll('\n', '\r\n')),
  ])();
}

const attacks: readonly (() => string)[] = [
  () => {
    const laughs = Array.from({ length: 9 }, (_, at) =>
      at === 0
        ? 'a0: &a0 ["lol"]'
        : `a${String(at)}: &a${String(at)} [${Array(9)
            .fill(`*a${String(at - 1)}`)
            .join(', ')}]`,
    );
    return `${laughs.join('\n')}\nbatch: { lanes: *a8 }\n`;
  },
  () => 'batch: &a { lanes: 2 }\ncalendar: *a\n',
  () => 'batch: &a [*a]\n',
  () => 'batch: &a { lanes: *a }\n',
  () => 'base: &b { lanes: 3 }\nbatch: { <<: *b }\n',
  () => 'batch: { <<: { __proto__: { lanes: 3 } } }\n',
  () => '__proto__: { batch: { lanes: 3 } }\n',
  () => 'constructor: { prototype: { lanes: 3 } }\n',
  () => `batch: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`,
  () => `batch: ${'{a: '.repeat(20_000)}\n`,
  () => '- '.repeat(30_000),
  () => 'a: '.repeat(3_000),
  () => `batch: { lanes: ${'9'.repeat(100_000)} }\n`,
  () => `batch: "${'x'.repeat(3_000_000)}"\n`,
  () => `${'k'.repeat(2_000_000)}: 1\n`,
  () => Array.from({ length: 20_000 }, (_, at) => `k${String(at)}: ${String(at)}`).join('\n'),
  () => 'batch: !!js/function "function () { return 1 }"\n',
  () => 'batch: !ruby/object:Gem {}\n',
  () => '%YAML 9.9\n---\nbatch: {}\n',
  () => 'batch: {}\n---\nbatch: {}\n',
  () => 'batch: { lanes: 1 }\nbatch: { lanes: 2 }\n',
  () => '? { a: 1 }\n: 2\n',
  () => '? [batch]\n: { lanes: 1 }\n',
  () => 'null: 1\ntrue: 2\n1: 3\n1.5: 4\n',
  () => '!!set { batch, calendar }\n',
  () => '!!map [1]\n',
  () => '!!omap [ batch: {} ]\n',
  () => 'batch: !!str\n',
  () => '!!binary |\n  YmF0Y2g6IHt9\n',
];
