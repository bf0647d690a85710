import { DateTime } from 'luxon';
import { parseInstant } from '../../kernel/instant.js';
import type { BatchDay } from '../../kernel/batchDay.js';
import { minorOf } from './amounts.js';
import { dayOfXml, timeOfXml } from './days.js';
import { refusal, shown, type Place } from './place.js';
import { at, textAt, type XmlNode } from './xml.js';

/** An amount with its currency, in minor units, unsigned. */
export interface CamtAmount {
  readonly minor: bigint;
  readonly currency: string;
}

/** Of an element that must be there: amounts are not made up. */
export function amountAt(node: XmlNode, ...path: readonly string[]): CamtAmount {
  const found = at(node, ...path);
  const field = [node.name, ...path].join('/');
  if (found === undefined) throw refusal('BAD_RECORD', `${field} is missing.`, node);
  return amountOf(found, field);
}

export function amountOf(node: XmlNode, field: string): CamtAmount {
  return { minor: minorOf(node.text.trim(), '.', node.currency, field, node), currency: node.currency };
}

/** True for CRDT, false for DBIT; null where the element is missing. */
export function isCreditAt(node: XmlNode): boolean | null {
  const found = at(node, 'CdtDbtInd');
  const text = found?.text.trim();
  if (found === undefined) return null;
  if (text !== 'CRDT' && text !== 'DBIT') {
    throw refusal('BAD_DIRECTION', `${node.name}/CdtDbtInd is ${shown(text ?? '')}, and must be CRDT or DBIT.`, found);
  }
  return text === 'CRDT';
}

export function directionAt(node: XmlNode): boolean {
  const credit = isCreditAt(node);
  if (credit === null) throw refusal('BAD_DIRECTION', `${node.name}/CdtDbtInd is missing.`, node);
  return credit;
}

/** A choice of day (Dt) and time (DtTm). The day is as the bank writes it; the instant only where its offset is known. */
export function dateAt(
  node: XmlNode,
  name: string,
  timeZone: string | null,
): { day: BatchDay; instant: string | null } | null {
  const date = at(node, name);
  if (date === undefined) return null;
  const field = `${node.name}/${name}`;
  const [day, time] = [at(date, 'Dt'), at(date, 'DtTm')];
  if (time !== undefined) {
    const read = timeOfXml(time.text.trim(), `${field}/DtTm`, time);
    return { day: read.day, instant: instantOf(read.day, read.time, read.offset, timeZone) };
  }
  if (day === undefined) throw refusal('BAD_DATE', `${field} holds neither Dt nor DtTm.`, date);
  return { day: dayOfXml(day.text.trim(), `${field}/Dt`, day), instant: null };
}

/** RFC 3339 in UTC. Null for a time without an offset and a zone, and for one that the zone's clocks left out. */
function instantOf(day: BatchDay, time: string, offset: string | null, timeZone: string | null): string | null {
  if (offset !== null) return parseInstant(`${day}T${time}${offset}`);
  if (timeZone === null) return null;
  const local = DateTime.fromISO(`${day}T${time.slice(0, 8)}`, { zone: timeZone });
  if (!local.isValid || local.toFormat("yyyy-MM-dd'T'HH:mm:ss") !== `${day}T${time.slice(0, 8)}`) return null;
  return parseInstant(local.toUTC().toFormat("yyyy-MM-dd'T'HH:mm:ss") + time.slice(8) + 'Z');
}

/** A whole number that counts or numbers; undefined where the element is missing. */
export function wholeAt(node: XmlNode, ...path: readonly string[]): bigint | undefined {
  const text = textAt(node, ...path);
  if (text === undefined) return undefined;
  if (!/^\d{1,18}$/.test(text)) {
    throw refusal(
      'BAD_RECORD',
      `${[node.name, ...path].join('/')} is ${shown(text)}, and must be a whole number.`,
      placeAt(node, path),
    );
  }
  return BigInt(text);
}

export function flagAt(node: XmlNode, ...path: readonly string[]): boolean | undefined {
  const text = textAt(node, ...path);
  if (text === undefined) return undefined;
  if (!/^(?:true|false|0|1)$/.test(text)) {
    throw refusal(
      'BAD_RECORD',
      `${[node.name, ...path].join('/')} is ${shown(text)}, and must be true or false.`,
      placeAt(node, path),
    );
  }
  return text === 'true' || text === '1';
}

function placeAt(node: XmlNode, path: readonly string[]): Place {
  return at(node, ...path) ?? node;
}
