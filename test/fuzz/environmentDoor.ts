import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Door } from './door.js';
import type { Random } from './random.js';
import { harmless, serverUrl, settingPaths, settingValue, variableOf } from './settings.js';
import { tryCommand } from './tryCommand.js';

const variables = settingPaths.map(variableOf);

/** Variables of the environment, and the files that the `…_FILE` ones name. */
export const environmentDoor: Door = {
  name: 'environment',
  try: (random, place) =>
    tryCommand(random, place, (cwd) => {
      const environment: Record<string, string> = {};
      for (let count = random.whole(1, 3); count > 0; count -= 1) {
        const name = variableName(random);
        if (name.endsWith('_FILE') && !random.oneIn(8)) environment[name] = secretFile(random, cwd, count);
        else
          environment[name] =
            random.oneIn(6) && name === 'SETTLE_DATABASE_URL' ? serverUrl(random) : settingValue(random);
        // What no operating system can put there.
        environment[name] = environment[name]?.replaceAll('\0', '') ?? '';
      }
      if (/(mysql|mariadb):/i.test(JSON.stringify(environment)))
        environment['SETTLE_DATABASE_CONNECT_TIMEOUT'] = '20ms';
      return { args: [...random.pick(harmless)], environment, shown: '', mayWrite: [] };
    }),
};

function variableName(random: Random): string {
  const name = random.oneIn(5) ? 'SETTLE_DATABASE_URL' : random.pick([...variables, 'SETTLE_CONFIG']);
  if (random.oneIn(3)) return `${name}_FILE`;
  const at = random.whole('SETTLE_'.length, name.length);
  if (random.oneIn(15)) return name.slice(0, at) + random.pick(['', 'X', '_']) + name.slice(at + 1);
  if (random.oneIn(40)) return random.pick(['SETTLE_', 'SETTLE___PROTO__', 'SETTLE_CONSTRUCTOR', 'SETTLE_TOSTRING']);
  return name;
}

function secretFile(random: Random, cwd: string, number: number): string {
  const name = `secret-${String(number)}`;
  const path = join(cwd, name);
  const contents: readonly (() => Buffer)[] = [
    () => Buffer.from(`${settingValue(random)}\n`),
    () => Buffer.from(`${settingValue(random)}\n`),
    () => Buffer.from(`\ufeff${settingValue(random)}\r\n`),
    () => Buffer.from(`${serverUrl(random)}\n`),
    () => random.bytes(64),
    () => Buffer.alloc(0),
    () => Buffer.from('\n\n'),
    () => Buffer.from('a\0b'),
    () => Buffer.alloc(random.oneIn(20) ? 5_000_000 : 100_000, 'x'),
    () => Buffer.from('sqlite:settle.db', 'utf16le'),
  ];
  switch (random.whole(0, 6)) {
    case 0:
      return random.pick([
        'nowhere',
        '/dev/null',
        '/dev/zero',
        '/proc/self/mem',
        '/proc/none',
        'x'.repeat(300),
        `${name}/x`,
      ]);
    case 1:
      mkdirSync(path);
      return name;
    case 2:
      symlinkSync(random.pick([name, 'settle.db', 'nowhere']), path);
      return name;
    case 3:
      writeFileSync(path, random.pick(contents)());
      chmodSync(path, 0o000);
      return name;
    default:
      writeFileSync(path, random.pick(contents)());
      return name;
  }
}
