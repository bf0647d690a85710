import { SettleError } from '../kernel/errors.js';
import { nearest } from '../kernel/nearest.js';
import { shown } from '../kernel/printable.js';
import { bankFormats } from './bank/index.js';
import { headOf } from './file.js';
import { plainFormat } from './plain.js';
import { providerFormats } from './providers/index.js';
import { StatementRefusal } from './refusal.js';
import type { StatementFormat, StatementSource } from './statement.js';

/** Every format that can be read, in the order in which they are asked whether a file is theirs. */
export const statementFormats: readonly StatementFormat[] = [plainFormat, ...bankFormats, ...providerFormats];

/** The format of this name. Throws USAGE for one that is not known. */
export function formatNamed(name: string): StatementFormat {
  const found = statementFormats.find((format) => format.name === name);
  if (found !== undefined) return found;
  const names = statementFormats.map((format) => format.name);
  const near = nearest(name, names);
  throw new SettleError('USAGE', `No format is called ${shown(name)}.`, {
    details: { format: name, known: names },
    next: near === null ? `Known: ${names.join(', ')}` : `Did you mean ${near}?`,
  });
}

/** The format of a file by its content alone, never by its name. Throws a StatementRefusal. */
export async function sniffFormat(source: StatementSource): Promise<StatementFormat> {
  const head = await headOf(source);
  if (head.length === 0) throw new StatementRefusal('EMPTY_FILE', 'The file is empty.');
  const found = statementFormats.filter((format) => format.sniff(head));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (only !== undefined) {
    const names = found.map(({ name }) => name).join(', ');
    throw new StatementRefusal('UNKNOWN_FORMAT', `The file may be any of ${names}: say which with --format.`);
  }
  throw otherThanStatement(head);
}

/** Channels answer with a page or a document where they have no statement: no empty day, and no statement. */
function otherThanStatement(head: Buffer): StatementRefusal {
  const start = head
    .subarray(0, 2_000)
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart();
  if (/^<(!doctype html|html)/i.test(start)) {
    return new StatementRefusal('NOT_A_STATEMENT', 'The file is a web page: the download answered with an error.', 1);
  }
  if (/^\{/.test(start) && /"(code|error|errcode|err_code|message)"/i.test(start)) {
    return new StatementRefusal('NOT_A_STATEMENT', `The file is an error document: ${shown(start.slice(0, 200))}.`, 1);
  }
  if (/^<xml>/i.test(start) && /return_code|err_code|error/i.test(start)) {
    return new StatementRefusal('NOT_A_STATEMENT', `The file is an error document: ${shown(start.slice(0, 200))}.`, 1);
  }
  return new StatementRefusal('UNKNOWN_FORMAT', `No format is known that begins with ${shown(start.slice(0, 60))}.`, 1);
}
