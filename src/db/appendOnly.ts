import { migrations } from '../../migrations/index.js';
import { vocabularies, type Engine } from '../../migrations/vocabulary.js';
import type { Session } from './session.js';
import { toText } from './values.js';

/** Tables whose rows are only ever added, each with a trigger against UPDATE and one against DELETE. */
const tables = [
  ...['journal_entry', 'ledger_entry', 'chain_link', 'payout_move', 'payout_review'],
  ...['discrepancy_move', 'discrepancy_review', 'deposit_transaction', 'deposit_log'],
] as const;

/** The trigger against entries on a closed day. */
const closedDay = 'journal_entry_closed_day';

/**
 * Triggers that ought to refuse changes of the books and are not there, or say something else: "journal_entry_no_update".
 * A server shows them only to a user with the TRIGGER privilege; to any other they are missing.
 */
export async function missingTriggers(session: Session): Promise<string[]> {
  const rows = await session.rows(
    session.dialect === 'sqlite'
      ? `select name, tbl_name as of_table, sql as body from sqlite_master where type = 'trigger'`
      : `select trigger_name as name, event_object_table as of_table,
                concat(action_timing, ' ', event_manipulation, ' ', action_statement) as body
           from information_schema.triggers where trigger_schema = database()`,
  );
  const there = new Map(rows.map((row) => [`${toText(row['of_table'])} ${toText(row['name'])}`, String(row['body'])]));
  const isThere = (table: string, name: string, ...parts: string[]): boolean => {
    const body = there.get(`${table} ${name}`)?.toLowerCase();
    return parts.every((part) => body?.includes(part) === true);
  };
  const missing = tables.flatMap((table) =>
    ['update', 'delete']
      .filter((event) => !isThere(table, `${table}_no_${event}`, `before ${event}`, 'append-only'))
      .map((event) => `${table}_no_${event}`),
  );
  if (!isThere('journal_entry', closedDay, 'before insert', 'closed_through', 'insert is refused'))
    missing.push(closedDay);
  return missing;
}

/** The statement that puts a trigger back. */
export function triggerSql(engine: Engine, name: string): string {
  const statements = migrations.flatMap((migration) => migration.up(vocabularies[engine]));
  return statements.find((sql) => sql.startsWith(`create trigger ${name} `)) ?? '';
}
