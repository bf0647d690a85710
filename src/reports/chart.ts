import { scaleBand, scaleLinear, scalePoint } from 'd3-scale';
import { line } from 'd3-shape';

// Small SVG charts without colours of their own: classes of the page's style fill them, and outline, place and the written
// value say whatever a colour says. Every number stands in the table beside the chart too, so that a chart has only a title
// and a description for those who do not see it. Lengths are drawn from doubles; the texts are exact.

export interface Chart {
  title: string;
  /** One sentence that says what there is to be seen. */
  description: string;
  width: number;
  height: number;
  /** Inner SVG, escaped. */
  body: string;
}

export interface Bar {
  label: string;
  /** Where the bar begins and ends on the scale; what it adds is `to` less `from`. */
  from: number;
  to: number;
  /** The exact value, as it is written. */
  text: string;
  /** `less`: an outline only, for what is taken away; `sum`: the result. */
  kind?: 'less' | 'sum';
}

const width = 420;
const letter = 13;

/** Text made fit for SVG. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${String(character.charCodeAt(0))};`);
}

/** At most so many letters; a longer one ends with an ellipsis, and stands whole in the table. */
function shortened(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join('')}…`;
}

const at = (value: number): string => String(Math.round(value * 10) / 10);

/** A bar below each label, its value at the end of the line; bars may float, as those of a waterfall do. */
export function barChart(title: string, description: string, bars: readonly Bar[], mark?: MarkedValue): Chart {
  const ends = bars.flatMap(({ from, to }) => [from, to]);
  const x = scaleLinear()
    .domain([Math.min(0, ...ends), Math.max(0, ...ends, mark?.value ?? 0, Number.MIN_VALUE)])
    .range([0, width]);
  const rowHeight = 38;
  const top = mark === undefined ? 0 : 20;
  const rows = bars.map(({ label, from, to, text, kind }, index) => {
    const y = top + index * rowHeight;
    const [left, right] = [Math.min(x(from), x(to)), Math.max(x(from), x(to))];
    const name = shortened(label, Math.max(12, 50 - text.length));
    return (
      `<text x="0" y="${at(y + letter)}">${escaped(name)}</text>` +
      `<text class="value${kind === 'sum' ? ' strong' : ''}" x="${String(width)}" y="${at(y + letter)}">${escaped(text)}</text>` +
      `<rect class="bar ${kind ?? 'more'}" x="${at(left)}" y="${at(y + 18)}" width="${at(from === to ? 0 : Math.max(1, right - left))}" height="12" rx="2"/>`
    );
  });
  const height = top + bars.length * rowHeight;
  const zero =
    x(0) === 0
      ? ''
      : `<line class="axis" x1="${at(x(0))}" x2="${at(x(0))}" y1="${String(top + 15)}" y2="${at(height - 4)}"/>`;
  return { title, description, width, height, body: rows.join('') + zero + markLine(mark, x, top, height) };
}

/** A value that bars are measured against, as a dashed line across them with its name. */
export interface MarkedValue {
  value: number;
  text: string;
}

function markLine(mark: MarkedValue | undefined, x: (value: number) => number, top: number, height: number): string {
  if (mark === undefined) return '';
  const place = x(mark.value);
  const anchor = place > width / 2 ? 'end' : 'start';
  return (
    `<line class="mark" x1="${at(place)}" x2="${at(place)}" y1="${String(top - 4)}" y2="${at(height - 4)}"/>` +
    `<text class="soft" x="${at(place)}" y="${String(letter - 2)}" text-anchor="${anchor}">${escaped(mark.text)}</text>`
  );
}

export interface Column {
  label: string;
  value: number;
  text: string;
  /** The one that the page is about. */
  isThis: boolean;
}

const plot = { height: 210, top: 26, bottom: 180 };

/** Upright columns from zero, one a day; the one that the page is about is filled and carries its value. */
export function columnChart(title: string, description: string, columns: readonly Column[]): Chart {
  const x = scaleBand<number>()
    .domain(columns.map((_, index) => index))
    .range([0, width])
    .paddingInner(0.28)
    .paddingOuter(0.1);
  const y = scaleLinear()
    .domain([0, Math.max(1, ...columns.map(({ value }) => value))])
    .range([plot.bottom, plot.top]);
  // Labels must not run into one another; the last always has one.
  const every = Math.ceil((columns.length * 44) / width);
  const drawn = columns.map(({ label, value, text, isThis }, index) => {
    const left = x(index) ?? 0;
    const middle = left + x.bandwidth() / 2;
    const shown = (columns.length - 1 - index) % every === 0;
    return (
      `<rect class="bar ${isThis ? 'sum' : 'other'}" x="${at(left)}" y="${at(y(value))}" width="${at(x.bandwidth())}" height="${at(Math.max(1, plot.bottom - y(value)))}" rx="2"/>` +
      (shown ? textAt('soft', middle, plot.bottom + 18, label) : '') +
      (isThis ? textAt('strong', middle, Math.max(letter, y(value) - 7), text) : '')
    );
  });
  const base = `<line class="axis" x1="0" x2="${String(width)}" y1="${String(plot.bottom)}" y2="${String(plot.bottom)}"/>`;
  return { title, description, width, height: plot.height, body: drawn.join('') + base };
}

/** A text centred at a place, but kept inside of the picture. */
function textAt(kind: 'soft' | 'strong', x: number, y: number, text: string): string {
  const half = text.length * 3.9;
  const anchor = x + half > width ? 'end' : x - half < 0 ? 'start' : 'middle';
  const place = anchor === 'end' ? width : anchor === 'start' ? 0 : x;
  return `<text class="${kind}" x="${at(place)}" y="${at(y)}" text-anchor="${anchor}">${escaped(text)}</text>`;
}

export interface Point {
  label: string;
  value: number;
  text: string;
}

/** A line through the days of a month, from zero, with the highest value written at it. */
export function lineChart(title: string, description: string, points: readonly Point[]): Chart {
  const values = points.map(({ value }) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values, Number.MIN_VALUE)];
  const x = scalePoint<number>()
    .domain(points.map((_, index) => index))
    .range([8, width - 8]);
  const y = scaleLinear().domain([low, high]).range([plot.bottom, plot.top]);
  const path = line<Point>()
    .x((_, index) => x(index) ?? 0)
    .y(({ value }) => y(value))
    .digits(1)(points as Point[]);
  const every = Math.ceil((points.length * 44) / width);
  const dots = points.map(({ label, value }, index) => {
    const left = x(index) ?? 0;
    const shown = index % every === 0;
    return (
      `<circle class="dot" cx="${at(left)}" cy="${at(y(value))}" r="3"/>` +
      (shown ? textAt('soft', left, plot.bottom + 22, label) : '')
    );
  });
  const highest = values.indexOf(Math.max(...values));
  const top = points[highest];
  const written =
    top === undefined ? '' : textAt('strong', x(highest) ?? 0, Math.max(letter, y(top.value) - 9), top.text);
  const zero = `<line class="axis" x1="0" x2="${String(width)}" y1="${at(y(0))}" y2="${at(y(0))}"/>`;
  const body = `${zero}<path class="line" d="${path ?? ''}"/>${dots.join('')}${written}`;
  return { title, description, width, height: plot.height, body };
}
