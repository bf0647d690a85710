import type { ServerValues } from '../db/serverValues.js';
import { fail, ok, warn, type Finding } from '../kernel/finding.js';

/** What each run needs, and what `settle migrate` needs besides. */
const forRuns = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];
const forMigrations = ['CREATE', 'ALTER', 'INDEX', 'DROP', 'REFERENCES', 'TRIGGER'];

/**
 * Whether the user may do what Settle does in its database. Pure: the lines of SHOW GRANTS in, the finding out. Rights to
 * migrate are missed only while a migration is pending: a user who may run and no more is a good one.
 */
export function grantsFinding(lines: readonly string[], database: string, pending: number): Finding {
  const name = 'grants';
  const held = privilegesOn(lines, database);
  const lacks = (wanted: readonly string[]): string[] =>
    held.has('ALL PRIVILEGES') ? [] : wanted.filter((privilege) => !held.has(privilege));
  const [run, migrate] = [lacks(forRuns), lacks(forMigrations)];
  const missing = [...run, ...(pending > 0 ? migrate : [])];
  if (missing.length === 0) {
    const cannot = migrate.length === 0 ? '' : `; not to migrate (no ${migrate.join(', ')})`;
    return ok(name, `the user may do what a run does${cannot}`);
  }
  const found = `the user lacks ${missing.join(', ')} on ${database}`;
  const fix = `As an administrator: grant ${missing.join(', ').toLowerCase()} on ${database}.* to this user`;
  // What a role gives is not among the lines on every server.
  if (lines.some(isRole)) return warn(name, `${found}, unless a role gives it`, `${fix}, or to its role`);
  return fail(name, found, fix);
}

/** Under a binary log a server lets only an administrator make triggers, unless it is told to trust. Said before it happens. */
export function triggersFinding({ settings, grants }: ServerValues, pending: number): Finding[] {
  const isRefused = settings.get('log_bin') === 'ON' && settings.get('log_bin_trust_function_creators') !== 'ON';
  const isAdministrator = grants.some((line) => /^GRANT (ALL PRIVILEGES|.*\bSUPER\b).* ON \*\.\* TO /i.test(line));
  if (pending === 0 || !isRefused || isAdministrator) return [];
  return [
    warn(
      'triggers',
      'log_bin_trust_function_creators = OFF under a binary log: this user may not make the triggers of a migration',
      'set global log_bin_trust_function_creators = 1, or let an administrator run: settle migrate up',
    ),
  ];
}

function isRole(line: string): boolean {
  return /^GRANT /i.test(line) && !/ ON /i.test(line);
}

/** Privileges, in capitals, that the lines give on every table of the database. */
function privilegesOn(lines: readonly string[], database: string): Set<string> {
  const held = new Set<string>();
  for (const line of lines) {
    const [, list = '', place = ''] = /^GRANT (.+?) ON (\*|`(?:[^`]|``)*`|[^`.\s]+)\.\* TO /i.exec(line) ?? [];
    if (!covers(place, database)) continue;
    for (const privilege of list.split(',')) held.add(privilege.trim().toUpperCase());
  }
  return held;
}

/** A grant names databases by a pattern, as LIKE does: % and _ stand for others unless a backslash is before them. */
function covers(place: string, database: string): boolean {
  if (place === '') return false;
  if (place === '*') return true;
  const pattern = place.replace(/^`|`$/g, '').replaceAll('``', '`');
  const source = pattern.replace(/\\([%_\\])|[%_]|[^%_\\]|\\/gu, (part: string, escaped: string | undefined) => {
    if (escaped !== undefined) return escapeRegExp(escaped);
    return part === '%' ? '.*' : part === '_' ? '.' : escapeRegExp(part);
  });
  return new RegExp(`^${source}$`, 'su').test(database);
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
