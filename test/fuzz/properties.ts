import { errorCatalogue, exitCodes } from '../../src/kernel/errors.js';
import { cancellationCodes } from '../../src/kernel/cancellation.js';
import type { Ended } from '../support/program.js';

/** What any command must keep, whatever was typed: told as sentences, none when all hold. */
export function broken(ended: Ended, asJson: boolean): string[] {
  return [...exitCode(ended), ...foreignWords(ended), ...(asJson ? oneDocument(ended) : errorText(ended))];
}

// CLI.md's table.
const table: readonly number[] = Object.values(exitCodes);
const knownCodes: readonly string[] = [...Object.keys(errorCatalogue), ...Object.keys(cancellationCodes)];

function exitCode({ code }: Ended): string[] {
  if (code === null) return ['did not end in time, or was ended by a signal'];
  if (code === exitCodes.INTERNAL) return ['ended with 1: an error that nobody foresaw'];
  return table.includes(code) ? [] : [`exit code ${String(code)} is not in the table`];
}

const foreign: readonly RegExp[] = [
  /^ {4}at .+[:)]/m,
  /node:internal|node_modules|file:\/\/\//,
  /\[object Object\]|\bundefined is not (a|an|iterable)\b|Cannot read propert|is not a function|is not iterable/,
  /Invalid input|expected \w+, received|Too (small|big): expected|Unrecognized key|Invalid (string|option|value)/,
  /Unexpected (token|end of JSON|non-whitespace)|in JSON at position/,
  /Maximum call stack|Invalid array length|Invalid string length|heap out of memory/,
  /^(insert into|select .+ from|update .+ set|delete from) /im,
  /This is a bug|DeprecationWarning|MaxListenersExceeded|\(node:\d+\)/,
];

/** Words of a library, a driver or Node, which tell the person who typed nothing. */
function foreignWords({ stdout, stderr }: Ended): string[] {
  return foreign.flatMap((words) => {
    const found = words.exec(stderr) ?? words.exec(stdout.startsWith('create table') ? '' : stdout);
    return found === null ? [] : [`prints foreign words: ${found[0].slice(0, 120)}`];
  });
}

/** Exit codes that answer a question, or tell in the answer what is left: no error is printed then. */
const answers: readonly number[] = [
  exitCodes.OK,
  exitCodes.PARTIAL,
  exitCodes.INTEGRITY,
  exitCodes.PRECONDITION,
  exitCodes.NOTHING_DUE,
];

function errorText({ code, stdout, stderr }: Ended): string[] {
  const said = /^settle: ([A-Z_]+): /m.exec(stderr);
  if (said === null) {
    if (answers.includes(code ?? -1)) return [];
    // A run that was stopped by its deadline tells so in its answer.
    if (code === exitCodes.DEADLINE && stdout !== '') return [];
    // Files that were refused are told on stdout, where the other files are; a group alone prints its help.
    if (code === exitCodes.USAGE && /refused|Usage: settle/.test(stdout + stderr)) return [];
    return [`exit code ${String(code)} without an error code on stderr`];
  }
  if (!knownCodes.includes(said[1] ?? '')) return [`the code ${said[1] ?? ''} is not in the catalogue`];
  return /^ {2}next: \S/m.test(stderr) ? [] : ['an error without a next step'];
}

function oneDocument({ code, stdout, stderr }: Ended): string[] {
  const answer = stdout.trim();
  // Asked for as texts, by options that end everything else.
  if (code === exitCodes.OK && (/^\d+\.\d+\.\d+$/.test(answer) || answer.includes('Usage: settle'))) return [];
  if (answer !== '') {
    const document = documentIn(answer);
    if (document === null) return ['stdout is not one JSON document'];
    if (typeof document['schema'] !== 'string') return ['the document has no schema'];
    if (/"error":\{/.test(stderr)) return ['an answer on stdout and an error document on stderr'];
    return [];
  }
  if (code === exitCodes.OK) return ['neither an answer nor an error'];
  // Messages of a run may come before it.
  const { error } = documentIn(stderr.trim().split('\n').at(-1) ?? '') ?? {};
  if (typeof error !== 'object' || error === null) return ['the last line of stderr is not the error document'];
  const { code: name, message, details, exitCode: told } = error as Record<string, unknown>;
  const faults: string[] = [];
  if (!knownCodes.includes(String(name))) faults.push(`the code ${String(name)} is not in the catalogue`);
  if (typeof message !== 'string' || message.trim() === '') faults.push('the error has no message');
  if (told !== code) faults.push(`the document says exit code ${String(told)}, the process ${String(code)}`);
  const next = (details as Record<string, unknown> | undefined)?.['next'];
  if (typeof next !== 'string' || next.trim() === '') faults.push('an error without a next step');
  return faults;
}

export function documentIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
