import type { Vocabulary } from './vocabulary.js';

/** What the lanes of a run have in hand, as JSON; written with its progress, for whoever watches. */
export function up(v: Vocabulary): string[] {
  return [`alter table run add column at_work ${v.text}`];
}

export function down(): string[] {
  return ['alter table run drop column at_work'];
}
