import { z } from 'zod';
import { dayShapes } from './data.js';

// test/bench/history.jsonl: one line for each saved run of the benchmark, the newest last. Lines are only ever added.

const whole = z.int().positive();
const rate = whole.describe('orders a second');
const ratio = z.number().positive();
const latency = z.strictObject({
  p50: z.number().nonnegative(),
  p99: z.number().nonnegative(),
  errors: z.int().nonnegative(),
});

const engine = { engine: z.enum(['mariadb', 'mysql', 'sqlite']), server: z.string().min(1) };

/** What the server counted during settle run. */
const served = z.strictObject({
  statementsPerThousand: z.number().positive(),
  commitsPerThousand: z.number().positive(),
  deadlocks: z.int().nonnegative().nullable(),
});

const contestFigures = z.strictObject({
  ...engine,
  floors: z.array(z.strictObject({ connections: whole, ordersPerSecond: rate, messages: whole })).min(1),
  oneByOne: z.strictObject({ connections: whole, ordersPerSecond: rate }),
  settle: z.strictObject({ ordersPerSecond: rate, messages: whole, peakBytes: whole, served: served.nullable() }),
  elephant: z.strictObject({ ordersPerSecond: rate, peakBytes: whole }).nullable(),
  ratios: z
    .strictObject({
      settleToFloor: ratio,
      settleToBestFloor: ratio,
      settleToOneByOne: ratio,
      elephantToEven: ratio.nullable(),
    })
    .refine(({ settleToFloor, settleToBestFloor }) => settleToBestFloor <= settleToFloor, {
      message: 'no floor is better than the best',
    }),
  foreign: z.strictObject({ idle: latency, besideFloor: latency, besideSettle: latency }).nullable(),
});

const scaleFigures = z.strictObject({
  ...engine,
  laps: z
    .array(z.strictObject({ orders: whole, ms: whole, ordersPerSecond: rate, peakBytes: whole, messages: whole }))
    .min(2),
});

const made = {
  date: z.iso.datetime({ precision: 3 }),
  commit: z.string().regex(/^[0-9a-f]{40}$/),
  /** The tree held changes that no commit has. */
  dirty: z.literal(true).optional(),
  command: z.string().startsWith('npm run bench'),
  machine: z.strictObject({
    cpus: whole,
    cpu: z.string(),
    memoryBytes: whole,
    node: z.string().startsWith('v'),
    /** Programs that were at work when the benchmark began, as a mean of the last minute. */
    load: z.number().nonnegative(),
  }),
};

const day = { accounts: whole, shape: z.enum(dayShapes), lanes: whole.nullable() };

const historyLine = z.discriminatedUnion('measure', [
  z.strictObject({
    measure: z.literal('contest'),
    ...made,
    sizes: z.strictObject({ orders: whole, ...day, sample: whole, rangeOrders: whole, repeat: whole }),
    engines: z.array(contestFigures).min(1),
  }),
  z.strictObject({
    measure: z.literal('scale'),
    ...made,
    sizes: z.strictObject({ orders: z.array(whole).min(2), ...day }),
    engines: z.array(scaleFigures).min(1),
  }),
]);

/** When and with what a line's figures were made. */
export type Made = z.infer<z.ZodObject<typeof made>>;
export type HistoryLine = z.infer<typeof historyLine>;
export type ContestLine = Extract<HistoryLine, { measure: 'contest' }>;
export type ScaleLine = Extract<HistoryLine, { measure: 'scale' }>;
export type ContestFigures = z.infer<typeof contestFigures>;
export type ScaleFigures = z.infer<typeof scaleFigures>;

/** The lines of the file's text, oldest first. Throws an Error that names the line which is not one. */
export function parseHistory(text: string): HistoryLine[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error('The last line of the history has no end.');
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line, at) => parseLine(line, at + 1));
  const turned = lines.findIndex(({ date }, at) => at > 0 && date <= (lines[at - 1] as HistoryLine).date);
  if (turned !== -1) throw new Error(`Line ${String(turned + 1)} of the history is not newer than the one before it.`);
  return lines;
}

function parseLine(text: string, lineNo: number): HistoryLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`Line ${String(lineNo)} of the history is not JSON.`, { cause: error });
  }
  const parsed = historyLine.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`Line ${String(lineNo)} of the history:\n${z.prettifyError(parsed.error)}`);
}
