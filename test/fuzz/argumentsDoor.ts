import type { Command, Option } from 'commander';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildProgram } from '../../src/commandLine.js';
import type { Door } from './door.js';
import { fileBytes } from './files.js';
import { nasty, type Random } from './random.js';
import { tryCommand } from './tryCommand.js';
import { wellFormed } from './wellFormed.js';

// What can be typed, found by walking the command line itself: a new command or option is tried without being told.

const program = buildProgram(() => Promise.resolve(0), { silentErrors: true });

interface Typable {
  words: readonly string[];
  command: Command;
}

function typablesOf(command: Command, words: readonly string[] = []): Typable[] {
  const below = command.commands.flatMap((child) => typablesOf(child, [...words, child.name()]));
  return [...(words.length === 0 ? [] : [{ words, command }]), ...below];
}

const typables = typablesOf(program);
const everyOption = [program, ...typables.map(({ command }) => command)].flatMap((command) => command.options);

/** Options, values and arguments of every command, right and wrong, in any order. */
export const argumentsDoor: Door = {
  name: 'arguments',
  try: (random, place) =>
    tryCommand(random, place, (cwd) => {
      writeFileSync(join(cwd, 'orders.csv'), fileBytes('orders', random));
      writeFileSync(join(cwd, 'accounts.csv'), fileBytes('accounts', random));
      // What no operating system hands over: a name of half a character is another name on the disk.
      const args = typedWords(random).map(wellFormed);
      return {
        args,
        environment: {},
        shown: '',
        mayWrite: [
          ...args.map((word) => word.replace(/^-+[a-z-]*=?/, '')),
          ...args,
          'settle-demo',
          ...(args.includes('init') ? ['settle.yaml', 'database-url'] : []),
        ],
        mayChangeRows: true,
      };
    }),
};

/** A command as somebody might type it. */
export function typedWords(random: Random): string[] {
  const { words, command } = random.pick(typables);
  const parts: string[][] = [];
  for (const option of command.options) {
    if (option.mandatory ? !random.oneIn(12) : random.oneIn(3)) parts.push(written(option, random));
  }
  for (const option of program.options) if (random.oneIn(10)) parts.push(written(option, random));
  if (random.oneIn(8)) parts.push(written(random.pick(everyOption), random));
  if (random.oneIn(6) && parts.length > 0) parts.push([...random.pick(parts)]);
  for (const argument of command.registeredArguments) {
    if (argument.required ? !random.oneIn(8) : random.oneIn(3)) parts.push([argumentValue(random)]);
    if (argument.variadic && random.oneIn(3)) parts.push([argumentValue(random)]);
  }
  if (random.oneIn(10)) parts.push([random.pick(nasty)]);
  if (random.oneIn(20)) parts.push(['--']);
  if (random.oneIn(25)) parts.push([`--${random.text(8)}`]);
  // Fifty thousand orders a demo would take all the time there is.
  if (words[0] === 'demo') parts.unshift(['--orders', random.pick(['1', '20', '0', '999999999999999', 'x'])]);
  const mixed = (random.oneIn(4) ? random.shuffled(parts) : parts).flat();
  const all = random.oneIn(6) ? random.shuffled([...words, ...mixed]) : [...words, ...mixed];
  if (random.oneIn(30)) all.splice(random.whole(0, all.length), 1);
  const whole = words[0] === 'demo' && !all.includes('--orders') ? [...all, '--orders', '5'] : all;
  return random.oneIn(5) ? ['--json', ...whole] : whole;
}

function written(option: Option, random: Random): string[] {
  const flag = (random.oneIn(4) ? option.short : option.long) ?? option.long ?? '';
  if (!option.required && !option.optional) return random.oneIn(25) ? [`${flag}=x`] : [flag];
  if (random.oneIn(25)) return [flag];
  const value = optionValue(option, random);
  if (option.long === flag && random.oneIn(4)) return [`${flag}=${value}`];
  return option.variadic && random.oneIn(3) ? [flag, value, optionValue(option, random)] : [flag, value];
}

const likely: Readonly<Record<string, readonly string[]>> = {
  '--batch-day': ['2026-11-29', '2026-11-28', '2026-11-30', '2026-02-30', 'today', '9999-12-31', '1000-01-01'],
  '--as-of': ['2026-11-29', '2026-13-01', '9999-12-31'],
  '--max-duration': ['1ms', '10s', '90m', '0s', '577h', '1e3s'],
  '--lanes': ['1', '2', '64', '65', '0', '999999999999999'],
  '--page-size': ['1', '2', '200000', '200001', '0'],
  '--chunk-size': ['1', '2', '50000', '50001', '0'],
  '--limit': ['1', '0', '1000000', '1000001', '-1'],
  '--from-watermark': ['0', '1', '5', '9223372036854775807', '9999999999999999999', '-1', 'x'],
  '--until': ['0', '1', '5', '9223372036854775807'],
  '--account': ['M1', 'M2', 'M3', 'none'],
  '--by': ['alice', ' ', '=1+1'],
  '--reason': ['because', '', '--json', '-x'],
  '--config': ['none.yaml', 'orders.csv', '.', '/dev/null', '/dev/zero'],
  '--log-file': ['x.log', '.', '/dev/null', '/dev/full', 'none/x.log', '/proc/none'],
  '--out': ['r.html', 'r.csv', 'r.json', '-', '.', '/dev/null', '/dev/full', 'none/r.txt', 'r'],
  '--report-dir': ['reports', 'a/b/c', '.', 'orders.csv', '/dev/null/x', '/proc/none'],
  '--dir': ['demo', 'a/b', 'orders.csv', '/proc/none', '/dev/null'],
  '--orders': ['1', '20', '0', '999999999999999'],
};

function optionValue(option: Option, random: Random): string {
  const known = option.argChoices ?? likely[option.long ?? ''];
  if (known !== undefined && !random.oneIn(5)) return random.pick(known);
  return random.oneIn(3) ? random.text() : random.pick(nasty);
}

function argumentValue(random: Random): string {
  if (random.oneIn(4)) return random.pick(nasty);
  return random.pick([
    'orders.csv',
    'accounts.csv',
    '-',
    'none.csv',
    '.',
    'M1',
    'M2',
    '1',
    '2',
    '99',
    'x',
    '1:2026-11-28',
  ]);
}
