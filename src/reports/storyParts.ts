import type { Session } from '../db/session.js';
import type { Discrepancy } from '../discrepancies/discrepancy.js';
import { discrepanciesOf, discrepancyHistory } from '../discrepancies/views.js';
import { entriesNumbered } from '../ledger/entryViews.js';
import { messagesNumbered, type MessageView } from '../outbox/messageViews.js';
import { matchesOf, type LineView } from '../statements/lineViews.js';
import { amountText, moveText, partsText, row, type StoryRow } from './story.js';

// Parts that several stories have: messages, journal entries, lines of statements, discrepancies.

/** A message, and where it was delivered to. */
export function messageRows(message: MessageView): StoryRow[] {
  const { bizNo, topic, createdAt, sentAt, state, attempts, lastError, deliveries } = message;
  const rows = [row(createdAt, 'outbox', `message ${bizNo} (${topic})`)];
  if (sentAt !== null) rows.push(row(sentAt, 'outbox', `message ${bizNo} SENT`));
  else if (state === 'PARKED' || attempts > 0) {
    const tries = `after ${String(attempts)} attempts`;
    rows.push(row(createdAt, 'outbox', `message ${bizNo} ${state} ${tries}: ${lastError ?? '-'}`));
  }
  for (const one of deliveries) {
    const why = one.state === 'SENT' || one.lastError === null ? '' : `: ${one.lastError}`;
    rows.push(row(one.sentAt ?? createdAt, 'delivery', `message ${bizNo} to ${one.sink} ${one.state}${why}`));
  }
  return rows;
}

/** Journal entries with these numbers and those that took them back, with every leg. */
export async function journalRows(session: Session, bizNos: readonly string[]): Promise<StoryRow[]> {
  const numbers = bizNos.flatMap((bizNo) => [bizNo, `R-${bizNo}`, `R-R-${bizNo}`]);
  const entries = await entriesNumbered(session, numbers);
  return entries.flatMap(({ bizNo, type, bookingDay, batchDay, postedAt, ledgerEntries }) => {
    const late = bookingDay === batchDay ? '' : `, booked on ${bookingDay}`;
    return [
      row(postedAt, 'journal_entry', `${bizNo} ${type}${late}`),
      ...ledgerEntries.map(({ ledgerAccount, subAccount, side, currency, amountMinor, reason }) =>
        row(postedAt, 'ledger_entry', partsText([`${side} ${ledgerAccount}`, subAccount, reason]), {
          amountMinor,
          currency,
        }),
      ),
    ];
  });
}

/** A line of a statement, as its file brought it. */
export function lineRow(line: LineView): StoryRow {
  const { channel, file, lineNo, importedAt, kind, state, ourReference, channelReference, movesMinor, currency } = line;
  const references = partsText([ourReference, channelReference]);
  const what = partsText([
    `line ${String(lineNo)} of ${file} (${channel}): ${kind}${state === 'FAILED' ? ' FAILED' : ''}`,
    references,
    `booked on ${line.bookedDay}`,
  ]);
  return row(importedAt, 'statement_line', what, { amountMinor: movesMinor, currency });
}

/** The lines that statements have of it, and every difference that was found. */
export async function statedRows(
  session: Session,
  ours: 'ORDER' | 'PAYOUT',
  id: bigint,
): Promise<{ rows: StoryRow[]; open: Discrepancy[]; isStated: boolean }> {
  const matches = await matchesOf(session, ours, id);
  const rows = matches.flatMap(({ line, role, verdict, matchedAt }) => [
    lineRow(line),
    row(matchedAt, 'statement_match', `matched as ${role}: ${verdict}`),
  ]);
  const found = await discrepanciesOf(session, { ours, id });
  for (const one of found) rows.push(...(await discrepancyRows(session, one)));
  const open = found.filter(({ state }) => state !== 'RESOLVED' && state !== 'IGNORED');
  return { rows, open, isStated: matches.length > 0 };
}

/** A difference from its finding on: what was found, every move, every decision. */
export async function discrepancyRows(session: Session, one: Discrepancy): Promise<StoryRow[]> {
  const { id, firstSeen, currency, stakeMinor } = one;
  const what = `discrepancy ${String(id)} ${one.class} (${one.severity}): ${sidesText(one)}`;
  const { moves, reviews } = await discrepancyHistory(session, id);
  return [
    row(firstSeen, 'discrepancy', what, currency === null ? undefined : { amountMinor: stakeMinor, currency }),
    ...moves.map(({ at, event, from, to, actor, reason }) =>
      row(
        at,
        'discrepancy_move',
        partsText([`discrepancy ${String(id)} ${event}: ${moveText(from, to)}`, actor, reason]),
      ),
    ),
    ...reviews.map(({ at, decision, by, reason, isConfirmation }) =>
      row(at, 'discrepancy_review', `${by} ${isConfirmation ? 'confirmed' : 'decided'} ${decision}: ${reason}`),
    ),
  ];
}

/** "expected 10.00 USD, found 10.05 USD". */
export function sidesText(one: Discrepancy): string {
  const side = (minor: bigint | null, text: string | null): string => {
    const amount =
      minor === null || one.currency === null ? null : amountText({ amountMinor: minor, currency: one.currency });
    return [amount, text].filter((part) => part !== null && part !== '').join(' ') || 'nothing';
  };
  return `expected ${side(one.expectedMinor, one.expectedText)}, found ${side(one.actualMinor, one.actualText)}`;
}

/** The messages with these numbers, as rows. */
export async function messageRowsOf(session: Session, bizNos: readonly string[]): Promise<StoryRow[]> {
  return (await messagesNumbered(session, bizNos)).flatMap(messageRows);
}
