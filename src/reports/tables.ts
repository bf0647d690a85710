import Table from 'cli-table3';
import utils from 'cli-table3/src/utils.js';
import { printable } from './words.js';

export interface Column {
  title: string;
  /** Numbers and amounts go right, so that their digits line up. */
  align?: 'left' | 'right';
}

const noLines = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** The library's time grows with the square of the rows: a table is drawn in pieces of equal column widths. */
const pieceRows = 25;

/** A table of plain text without lines, colours or trailing blanks; every cell is made printable. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const body = rows.map((row) => row.map(printable));
  const head = columns.map((column) => column.title);
  const widths = columns.map((_, at) =>
    [head, ...body].reduce((widest, row) => Math.max(widest, widthOf(row[at] ?? '')), 1),
  );
  const pieces = [piece(columns, widths, [head])];
  for (let start = 0; start < body.length; start += pieceRows) {
    pieces.push(piece(columns, widths, body.slice(start, start + pieceRows)));
  }
  return pieces.join('\n');
}

function widthOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : utils.strlen(text);
}

function piece(columns: readonly Column[], widths: readonly number[], rows: readonly string[][]): string {
  const table = new Table({
    colAligns: columns.map((column) => column.align ?? 'left'),
    colWidths: [...widths],
    chars: noLines,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  table.push(...rows);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n');
}
