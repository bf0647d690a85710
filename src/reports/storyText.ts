import { formatMinorGrouped } from '../kernel/money.js';
import type { Arithmetic, Story } from './story.js';
import { textTable } from './tables.js';
import { countText, momentText, printable } from './words.js';

/** A story as one page of text: what it is, its arithmetic, every row in the order of time, where it is stuck, what to type. */
export function storyText(story: Story): string {
  const { head, timeline, arithmetic, stuck, next } = story;
  const parts = [head.map(printable).join('\n'), ...arithmetic.map(arithmeticText)];
  parts.push(timelineText(timeline));
  parts.push(stuck === null ? 'Nothing is left to be done with it.' : printable(`Stands: ${stuck}`));
  if (next !== null) parts[parts.length - 1] += `\nNext: ${printable(next)}`;
  return parts.join('\n\n');
}

function arithmeticText({ title, currency, lines, agrees }: Arithmetic): string {
  const table = textTable(
    [{ title: currency }, { title: 'orders', align: 'right' }, { title: 'amount', align: 'right' }],
    lines.map(({ what, orders, amountMinor }) => [
      ...[what, orders === null ? '' : countText(orders), formatMinorGrouped(amountMinor, currency)],
    ]),
  );
  const warning = agrees ? '' : '\n! The lines do not add up to what is stored. Type: settle verify';
  return `${printable(title)}\n${table}${warning}`;
}

function timelineText(timeline: Story['timeline']): string {
  return textTable(
    [{ title: 'at' }, { title: 'row' }, { title: 'what' }, { title: 'amount', align: 'right' }, { title: '' }],
    timeline.map(({ at, table, what, amountMinor, currency }) => [
      ...[momentText(at), table, what],
      ...(amountMinor === null || currency === null ? ['', ''] : [formatMinorGrouped(amountMinor, currency), currency]),
    ]),
  );
}
