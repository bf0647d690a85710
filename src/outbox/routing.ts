import { crc32 } from 'node:zlib';
import { finalPayout } from './toEvent.js';
import { topics, type Topic } from '../kernel/topics.js';

/** Lanes of a sink that several relays may serve at the same time. */
export const sharedLanes = 16;

/** Which sinks get what. */
export interface Routing {
  readonly sinksOf: ReadonlyMap<Topic, readonly RoutedSink[]>;
}

export interface RoutedSink {
  readonly name: string;
  readonly lanes: number;
  /** Messages of earlier batch days are not for it; null for all. */
  readonly since: string | null;
}

/** A row of the outbox, as far as it says where it goes. */
export interface RoutedRow {
  readonly outboxTopic: string;
  readonly bizNo: string;
  readonly batchDay: string;
  readonly accountNo: string | null;
  /** The first characters of the payload. */
  readonly head: string;
}

const alone = new Set<Topic>([topics.alert, topics.dayClosed]);

/** Whether a message of the outbox is for others, and nothing to the ledger. */
export function isForOthersOnly(topic: Topic): boolean {
  return alone.has(topic);
}

/** What a row tells others; null when it is nobody's business. */
export function topicOf({ outboxTopic, bizNo, head }: RoutedRow): Topic | null {
  if (outboxTopic === topics.alert || outboxTopic === topics.dayClosed) return outboxTopic;
  const own = /^\{"v":3,"type":"([A-Z_]+)"/.exec(head)?.[1];
  // What cannot be read is a settlement, too: there it is parked, and not passed over.
  if (own === undefined) return topics.settlement;
  if (own === 'REVERSAL') return topics.reversal;
  return own === 'PAYOUT' && finalPayout.test(bizNo) ? topics.payout : null;
}

/**
 * The lane of a sink in which a message goes. An account keeps its lane, so that its messages stay in order. What people and
 * schedulers wait for has a lane of its own, the first, and does not queue behind a day's settlements.
 */
export function laneOf(topic: Topic, accountNo: string | null, lanes: number): number {
  if (lanes === 1 || alone.has(topic) || accountNo === null) return 0;
  return 1 + (crc32(accountNo) % (lanes - 1));
}

/** The sinks that are to have a row, each with the lane. */
export function deliveriesOf(row: RoutedRow, { sinksOf }: Routing): { topic: Topic; sink: string; laneNo: number }[] {
  const topic = topicOf(row);
  if (topic === null) return [];
  return (sinksOf.get(topic) ?? [])
    .filter(({ since }) => since === null || row.batchDay >= since)
    .map(({ name, lanes }) => ({ topic, sink: name, laneNo: laneOf(topic, row.accountNo, lanes) }));
}

/** The topics of outbox rows in which something for somebody may be. */
export function outboxTopicsOf({ sinksOf }: Routing, ledgerTopic: string): string[] {
  const wanted = [...sinksOf].filter(([, sinks]) => sinks.length > 0).map(([topic]) => topic);
  return [...new Set(wanted.map((topic) => (alone.has(topic) ? topic : ledgerTopic)))];
}
