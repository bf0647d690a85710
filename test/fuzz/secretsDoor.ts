import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { typedWords } from './argumentsDoor.js';
import type { Door } from './door.js';
import type { Random } from './random.js';
import { tryCommand } from './tryCommand.js';
import { wellFormed } from './wellFormed.js';

/** A word that stands for a password, and must be printed, logged and stored nowhere. */
export const canary = 'cAnAry7hunter2';

/** Every command, with a database URL that holds a password: right or broken, from the environment, a file or the config. */
export const secretsDoor: Door = {
  name: 'secrets',
  try: (random, place) =>
    tryCommand(random, place, (cwd) => {
      const url = urlWithSecret(random);
      const args = typedWords(random).map(wellFormed);
      const environment: Record<string, string> = { SETTLE_DATABASE_CONNECT_TIMEOUT: '20ms' };
      if (random.oneIn(5)) environment['SETTLE_DEBUG'] = '1';
      const given = random.whole(0, 3);
      if (given === 0) environment['SETTLE_DATABASE_URL'] = url;
      else if (given === 1) {
        writeFileSync(join(cwd, 'secret'), `${url}\n`);
        environment['SETTLE_DATABASE_URL_FILE'] = 'secret';
      } else {
        const quote = random.pick(['"', "'", '', '"']);
        const slip = random.pick(['', '', '  connectTimeout: soon\n', '  ulr: 1\n', '\t- x\n', '}']);
        writeFileSync(
          join(cwd, 'settle.yaml'),
          `database:\n  url: ${quote}${url}${random.oneIn(8) ? '' : quote}\n${slip}`,
        );
      }
      return {
        args,
        environment,
        shown: url,
        mayWrite: [
          ...args.map((word) => word.replace(/^-+[a-z-]*=?/, '')),
          ...args,
          'settle-demo',
          ...(args.includes('init') ? ['settle.yaml', 'database-url'] : []),
        ],
        mayChangeRows: true, // a config file of its own may name the usual database
        secret: canary,
      };
    }),
};

/** The parts of a URL, the first of each list being right; mostly one of them is wrong at a time. */
const parts: readonly (readonly string[])[] = [
  ['mysql', 'mariadb', 'MySQL', 'postgres', 'mysq', 'mysql '],
  ['://', ':', ':/'],
  ['settle', '', 'a%', 'se:ttle'],
  [':'],
  [
    canary,
    `${canary}%40`,
    `a@${canary}`,
    `a/${canary}`,
    `a#${canary}`,
    `a?${canary}`,
    `a:${canary}`,
    `%zz${canary}`,
    `${canary}%`,
    `é${canary}`,
    ` ${canary}`,
  ],
  ['@'],
  ['127.0.0.1:1', '[::1]:1', '127.0.0.1:99999', '127.0.0.1:x', ' ', '%'],
  ['/db', '', '/', '/a/b', '/%', '/db#x'],
  ['', '?ssl=on', '?ssl=verify', '?ssl=maybe', '?socket=%2Fnone.sock', '?x=1', `?${canary}=1`, `?ssl=${canary}`],
];

function urlWithSecret(random: Random): string {
  const [wrong, more] = [random.whole(0, parts.length - 1), random.oneIn(4) ? random.whole(0, parts.length - 1) : -1];
  return parts.map((choices, at) => (at === wrong || at === more ? random.pick(choices) : (choices[0] ?? ''))).join('');
}
