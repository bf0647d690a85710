import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { cancellationCodes } from '../src/kernel/cancellation.js';
import { errorCatalogue, exitCodes } from '../src/kernel/errors.js';
import { verifyChecks } from '../src/reconciliation/checklist.js';

const handbook = readFileSync('docs/handbook.md', 'utf8');
/** The words in the first column of its tables. */
const named = [...handbook.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) => cell.split(/, | \/ /));

test('the handbook has each error code once, and none that the program does not know', () => {
  const codes = named.filter((word) => /^[A-Z]+(_[A-Z]+)*$/.test(word)).sort();
  const quarantine = [...readFileSync('src/settlement/quarantine.ts', 'utf8').matchAll(/^ {2}\| '([A-Z_]+)'/gm)];
  const ours = [...Object.keys(errorCatalogue), ...quarantine.map(([, code = '']) => code)];
  expect(quarantine.length).toBeGreaterThan(4);
  expect(codes).toEqual(ours.sort());
});

test('it has each exit code and each check', () => {
  const numbers = named.map((word) => Number(/^\d+/.exec(word)?.[0] ?? NaN)).filter(Number.isInteger);
  expect([...new Set(numbers)]).toEqual(Object.values(exitCodes));
  for (const name of Object.keys(verifyChecks)) expect(named).toContain(name);
});

test('the README has each reason why a run stops', () => {
  const readme = readFileSync('README.md', 'utf8');
  for (const code of Object.keys(cancellationCodes))
    expect(readme).toMatch(new RegExp(`^\\|.*\\b${code}\\b.*\\|`, 'm'));
});

test('every command that it says to type is one', async () => {
  const { buildProgram } = await import('../src/commandLine.js');
  const program = buildProgram(() => Promise.resolve(0), { silentErrors: true });
  const typed = [...handbook.matchAll(/`settle ([a-z][^`]*)`/g)].map(([, words = '']) => words.split(' '));
  expect(typed.length).toBeGreaterThan(30);
  for (const words of typed) {
    let group = program;
    for (const word of words) {
      const next = group.commands.find((command) => command.name() === word.split('|')[0]);
      if (next === undefined) break;
      group = next;
    }
    // A group alone is no command.
    expect([words.join(' '), group.commands.length]).toEqual([words.join(' '), 0]);
  }
});
