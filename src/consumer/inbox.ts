import { createHash } from 'node:crypto';
import type { SettleEvent } from '../outbox/events.js';

export type InboxDialect = 'mysql' | 'postgres' | 'sqlite';

/** The statement that makes the table in which a receiver keeps what it has handled. */
export function inboxTable(dialect: InboxDialect): string {
  const text = (length: number): string => {
    if (dialect === 'mysql') return `varchar(${String(length)}) character set utf8mb4 collate utf8mb4_bin`;
    return dialect === 'postgres' ? `varchar(${String(length)})` : 'text';
  };
  const moment = { mysql: 'timestamp(3)', postgres: 'timestamptz', sqlite: 'text' }[dialect];
  const now = dialect === 'mysql' ? 'current_timestamp(3)' : 'current_timestamp';
  return `create table if not exists settle_inbox (
    source ${text(200)} not null,
    id ${text(40)} not null,
    digest char(64) not null,
    handled_at ${moment} not null default ${now},
    primary key (source, id)
  )`;
}

/** A transaction of the receiver's own database, in which its effect is written too. Statements have `?` for values. */
export interface Inbox {
  /** Rows of a SELECT. */
  select(sql: string, values: readonly string[]): Promise<readonly object[]>;
  /** Carries out an INSERT; throws when the key is taken. */
  insert(sql: string, values: readonly string[]): Promise<void>;
}

/** A message whose identity was seen before, with another content. It was not handled. */
export class ContentDiffers extends Error {
  override readonly name = 'ContentDiffers';
}

/**
 * Handles a message once, however often it comes: `effect` and the mark that it has happened are in the same transaction, the
 * one behind `inbox`, which the caller begins and commits. Resolves with false when the message was handled before. Of two
 * that handle it at the same time the slower one's INSERT throws: roll back, and let the message come again.
 */
export async function handleOnce(
  inbox: Inbox,
  event: SettleEvent,
  effect: (event: SettleEvent) => Promise<void>,
): Promise<boolean> {
  const digest = createHash('sha256').update(JSON.stringify(event)).digest('hex');
  const key = [event.source, event.id];
  const [known] = await inbox.select('select digest from settle_inbox where source = ? and id = ?', key);
  if (known !== undefined) {
    if ((known as { digest: unknown }).digest === digest) return false;
    throw new ContentDiffers(`Message ${event.id} of ${event.source} came before with another content.`);
  }
  await inbox.insert('insert into settle_inbox (source, id, digest) values (?, ?, ?)', [...key, digest]);
  await effect(event);
  return true;
}
