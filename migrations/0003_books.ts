import { refuse, type Vocabulary } from './vocabulary.js';

const appendOnly = ['journal_entry', 'ledger_entry'];
const events = ['update', 'delete'] as const;

/** What keeps the books from being written twice: rows of the ledger are added, and nothing else. */
export function up(v: Vocabulary): string[] {
  return appendOnly.flatMap((table) => events.map((event) => refuse(v, event, table)));
}

export function down(): string[] {
  return appendOnly.flatMap((table) => events.map((event) => `drop trigger if exists ${table}_no_${event}`));
}
