import * as dailyBatch from './0001_daily_batch.js';
import * as terms from './0002_terms.js';
import * as books from './0003_books.js';
import * as payouts from './0004_payouts.js';
import * as sinks from './0005_sinks.js';
import * as statements from './0006_statements.js';
import * as deposits from './0007_deposits.js';
import * as runAtWork from './0008_run_at_work.js';
import * as notifications from './0009_notifications.js';
import * as source from './0010_source.js';
import type { Vocabulary } from './vocabulary.js';

export interface Migration {
  name: string;
  up(vocabulary: Vocabulary): string[];
  down(vocabulary: Vocabulary): string[];
}

/** All migrations, oldest first. A released one is never edited; a change is a new one. */
export const migrations: readonly Migration[] = [
  { name: '0001_daily_batch', ...dailyBatch },
  { name: '0002_terms', ...terms },
  { name: '0003_books', ...books },
  { name: '0004_payouts', ...payouts },
  { name: '0005_sinks', ...sinks },
  { name: '0006_statements', ...statements },
  { name: '0007_deposits', ...deposits },
  { name: '0008_run_at_work', ...runAtWork },
  { name: '0009_notifications', ...notifications },
  { name: '0010_source', ...source },
];
