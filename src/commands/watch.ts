import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../db/database.js';
import { Cancellation } from '../kernel/cancellation.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { collectLive, Pace, type LiveView } from '../reports/live.js';
import { liveFrame } from '../reports/liveFrame.js';
import { documentText, withDatabase, type CommandContext } from './context.js';

/** What a terminal is told; one write a frame, so that nothing of a half-drawn one is ever seen. */
const terminal = {
  enter: '\u001b[?1049h\u001b[?25l',
  /** Cursor home, each line with the rest of its old text cleared, and what is below. */
  frame: (lines: readonly string[]) => `\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\r\n')}\u001b[J`,
  leave: '\u001b[?25h\u001b[?1049l',
} as const;

export interface Watching {
  intervalMs: number;
  stuckMs: number;
  dueDay(): string;
}

/**
 * `settle status --watch`: the live view until somebody stops it; exit code 130 or 143 then. On a terminal it is drawn in
 * place, and the last frame stays; elsewhere each look is a block, or with `jsonl` a document. A database that is gone for
 * a while is said in the view, and looked for again.
 */
export async function watch(context: CommandContext, stdout: NodeJS.WriteStream, watching: Watching): Promise<number> {
  if (context.output === 'json') {
    throw new SettleError('USAGE', '--watch gives one document after the other, and --json is for one.', {
      next: 'settle status --watch --output jsonl',
    });
  }
  const isDrawn = context.output === 'text' && stdout.isTTY;
  const pace = new Pace();
  // Set inside a function, which the compiler does not follow.
  let view = null as LiveView | null;
  await withDatabase(context, async (database) => {
    if (isDrawn) stdout.write(terminal.enter);
    try {
      while (!context.signal.aborted) {
        const looked = await look(database, watching);
        if (looked instanceof SettleError && view === null) throw looked;
        if (!(looked instanceof SettleError)) view = pace.of(looked);
        await show(context, stdout, isDrawn, view as LiveView, looked instanceof SettleError ? looked : null);
        await sleep(watching.intervalMs, null, { signal: context.signal }).catch(() => null);
      }
    } finally {
      if (isDrawn) stdout.write(terminal.leave);
    }
  });
  if (isDrawn && view !== null) await context.print(liveFrame(view, { ...sizeOf(stdout), rows: null }).join('\n'));
  const { reason } = context.signal as { reason: unknown };
  return reason instanceof Cancellation ? reason.exitCode : exitCodes.OK;
}

/** The view, or why the database could not be asked. */
function look(database: Database, { dueDay, stuckMs }: Watching): Promise<LiveView | SettleError> {
  return database
    .snapshot((session) => collectLive(session, dueDay(), stuckMs))
    .catch((error: unknown) => {
      if (error instanceof SettleError && error.exitCode === exitCodes.TEMPFAIL) return error;
      throw error;
    });
}

async function show(
  context: CommandContext,
  stdout: NodeJS.WriteStream,
  isDrawn: boolean,
  view: LiveView,
  trouble: SettleError | null,
): Promise<void> {
  const why = trouble === null ? null : `${trouble.code}: ${trouble.message} What is shown is older.`;
  if (context.output !== 'text') {
    await context.print(documentText({ schema: 'settle.statusWatch', ...view, trouble: why }, 'jsonl'));
  } else if (isDrawn) {
    const lines = liveFrame(view, sizeOf(stdout), why);
    await new Promise((resolve) => stdout.write(terminal.frame(lines), resolve));
  } else await context.print(`${liveFrame(view, { columns: usualColumns, rows: null }, why).join('\n')}\n`);
}

const usualColumns = 80;

function sizeOf({ columns = usualColumns, rows }: Partial<NodeJS.WriteStream>): {
  columns: number;
  rows: number | null;
} {
  return { columns: columns > 0 ? columns : usualColumns, rows: rows === undefined || rows <= 0 ? null : rows };
}
