import { oneOf, type Vocabulary } from './vocabulary.js';

const outcomes = ['CLOSED', 'PARTIAL', 'OPEN', 'INTEGRITY', 'DEADLINE', 'INTERRUPTED', 'FAILED'];

/** What each target of notifications was last told of each day. */
export function up(v: Vocabulary): string[] {
  return [
    // told: null until the first delivery. changes: deliveries so far, which names the next one. Whoever is about to deliver
    // has the row until claim_ms, under a number of their own.
    `create table notification (
      batch_day ${v.day} not null,
      target ${v.code} not null,
      told ${v.code},
      changes ${v.int} not null default 0,
      claim_no ${v.big} not null default 0,
      claim_ms ${v.big} not null default 0,
      told_ms ${v.big},
      primary key (batch_day, target),
      constraint notification_told check (${oneOf('told', outcomes)}),
      constraint notification_when check ((told is null) = (told_ms is null))
    ) ${v.end}`,
    `create index notification_target on notification (target, batch_day)`,
  ];
}

export function down(): string[] {
  return ['drop table if exists notification'];
}
