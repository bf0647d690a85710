import { oneOf, type Vocabulary } from './vocabulary.js';

/** What of the outbox goes out to others: which sink still waits for which message, and who delivers. */
export function up(v: Vocabulary): string[] {
  return [
    // Whether a relay has seen the message. Asked of the row and not of an id: ids are committed out of order.
    `alter table outbox add column routed ${v.int} not null default 0`,
    `create index outbox_unrouted on outbox (topic, routed, id)`,

    // One row for each sink that is to have a message. next_ms: not to be tried again before.
    `create table delivery (
      outbox_id ${v.big} not null,
      sink ${v.code} not null,
      topic ${v.code} not null,
      lane_no ${v.int} not null,
      state ${v.code} not null default 'NEW',
      attempts ${v.int} not null default 0,
      next_ms ${v.big} not null default 0,
      last_error ${v.text},
      sent_ms ${v.big},
      primary key (outbox_id, sink),
      constraint delivery_state check (${oneOf('state', ['NEW', 'SENT', 'PARKED'])}),
      constraint delivery_sent check ((state = 'SENT') = (sent_ms is not null)),
      constraint delivery_parked check (state <> 'PARKED' or last_error is not null)
    ) ${v.end}`,
    `create index delivery_due on delivery (sink, state, lane_no, outbox_id)`,

    // The messages of an account are in one lane of a sink, and a lane is one relay's until free_ms. The row of sink ''
    // is locked by whoever routes messages.
    `create table relay_lane (
      sink ${v.code} not null,
      lane_no ${v.int} not null,
      turns ${v.big} not null default 0,
      owner ${v.text},
      free_ms ${v.big} not null default 0,
      primary key (sink, lane_no)
    ) ${v.end}`,
    `insert into relay_lane (sink, lane_no) values ('', 0)`,
  ];
}

export function down(v: Vocabulary): string[] {
  return [
    'drop table if exists relay_lane',
    'drop table if exists delivery',
    v.engine === 'sqlite' ? 'drop index outbox_unrouted' : 'drop index outbox_unrouted on outbox',
    'alter table outbox drop column routed',
  ];
}
