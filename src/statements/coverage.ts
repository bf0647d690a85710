import type { Session } from '../db/session.js';
import { toTextOrNull } from '../db/values.js';
import { addDays, type BatchDay } from '../kernel/batchDay.js';

/** Days of which a channel's statements are there, both inclusive. */
export interface Covered {
  readonly from: BatchDay;
  readonly to: BatchDay;
}

/** The days that the statements of a channel cover, in order, what touches put together; intraday reports cover none. */
export async function coverageOf(session: Session, channel: string): Promise<Covered[]> {
  const rows = await session.rows(
    `select h.from_day, h.to_day from statement_file f join statement_head h on h.file_id = f.id
      where f.channel = ? and f.state in ('BOOKED', 'FLAGGED') and h.intraday = 0
      order by h.from_day, h.to_day`,
    [channel],
  );
  const spans = rows.flatMap((row) => {
    const [from, to] = [toTextOrNull(row['from_day']), toTextOrNull(row['to_day'])];
    return from === null || to === null ? [] : [{ from, to }];
  });
  return joined(spans);
}

/** Spans in order, those that overlap or touch made one. */
export function joined(spans: readonly Covered[]): Covered[] {
  const result: Covered[] = [];
  for (const span of [...spans].sort((a, b) => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0))) {
    const last = result.at(-1);
    if (last === undefined || span.from > addDays(last.to, 1)) result.push(span);
    else if (span.to > last.to) result[result.length - 1] = { from: last.from, to: span.to };
  }
  return result;
}
