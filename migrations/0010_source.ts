import type { Vocabulary } from './vocabulary.js';

/**
 * Which chunk has claimed an order of a table that is not ours and has no columns for it. One row an order, for ever: the
 * key is what keeps an order from being settled twice when somebody sets its state back.
 */
export function up(v: Vocabulary): string[] {
  return [
    `create table claimed_order (
      order_id ${v.big} not null primary key,
      run_id ${v.big} not null,
      chunk_no ${v.int} not null
    ) ${v.end}`,
  ];
}

export function down(): string[] {
  return ['drop table if exists claimed_order'];
}
