import { appendFileSync, openSync } from 'node:fs';
import type pc from 'picocolors';
import type { Config } from '../config.js';
import { Database, type OpenOptions } from '../db/database.js';
import { migrateUp, requireSchema, schemaStatus } from '../db/schema.js';
import { parseDatabaseUrl } from '../db/url.js';
import type { Clock } from '../kernel/clock.js';
import { SettleError } from '../kernel/errors.js';
import { toJson } from '../kernel/json.js';

export type Output = 'text' | 'json' | 'jsonl';
export type ProgressStyle = 'auto' | 'plain' | 'none';

/** What every command is given. The answer goes to stdout, all else to stderr. */
export interface CommandContext {
  config: Config;
  /** `--config`, if it was given. */
  configFile: string | undefined;
  clock: Clock;
  output: Output;
  progress: ProgressStyle;
  quiet: boolean;
  verbose: boolean;
  /** May ask the person at the terminal. */
  interactive: boolean;
  /** Asks that person, and gives the line that was typed; only where `interactive`. `hidden`: what is typed is not shown. */
  ask(question: string, options?: { hidden?: boolean }): Promise<string>;
  /** `--yes`: goes on without asking. */
  assumeYes: boolean;
  colors: ReturnType<typeof pc.createColors>;
  /** Aborted by the first SIGINT or SIGTERM, with a Cancellation as its reason. */
  signal: AbortSignal;
  /** Prints a line of the answer (text output). Resolves when the stream took it; a closed pipe is not an error. */
  print(text: string): Promise<void>;
  /** Prints the one JSON document of the command. */
  document(value: { schema: string } & Record<string, unknown>): Promise<void>;
  /** A message for the person watching; silent with --quiet, but kept in the log file. */
  say(text: string): void;
}

/** Ends with the exit code. */
export type Command<Options> = (context: CommandContext, options: Options) => Promise<number>;

/** Writes whole texts to a stream; after the reader went away (EPIPE) it drops the rest in silence. */
export function lineWriter(stream: NodeJS.WritableStream): (text: string) => Promise<void> {
  let closed = false;
  stream.on('error', () => {
    closed = true;
  });
  return (text) =>
    new Promise((resolve) => {
      if (closed) {
        resolve();
        return;
      }
      stream.write(`${text}\n`, () => {
        resolve();
      });
    });
}

/**
 * Where messages go: to stderr unless quiet, and to the log file if there is one (mode 0600, appended). As JSON each is
 * one object a line. Throws FILE_NOT_WRITABLE for a log file that cannot be opened, before anything has begun.
 */
export function messageWriter(
  stderr: (text: string) => Promise<void>,
  options: { quiet: boolean; format: 'text' | 'json'; file: string | undefined; clock: Clock },
): (text: string) => void {
  let log = options.file === undefined ? null : openLog(options.file);
  return (text) => {
    const line =
      options.format === 'text'
        ? text
        : toJson({ time: options.clock.now().toISOString(), level: 'info', message: text });
    if (!options.quiet) void stderr(line);
    if (log === null) return;
    try {
      appendFileSync(log, `${line}\n`);
    } catch (error) {
      // A full disk of the log must not end a run; what follows is only on stderr.
      log = null;
      if (!options.quiet) void stderr(`The log file ${options.file ?? ''} takes no more: ${(error as Error).message}`);
    }
  };
}

function openLog(file: string): number {
  try {
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw new SettleError('FILE_NOT_WRITABLE', `The log file ${file} cannot be written: ${(error as Error).message}`, {
      details: { file },
      next: 'Name another file with --log-file.',
    });
  }
}

export function documentText(value: Record<string, unknown> & { schema: string }, output: Output): string {
  const { schema, ...rest } = value;
  return toJson({ schema, schemaVersion: 1, ...rest }, output === 'json' ? 2 : undefined);
}

/**
 * Opens the configured database for a command and closes it afterwards. The embedded default is created and migrated
 * by itself; on any other the schema must be there, or the command ends with SCHEMA_PENDING.
 */
export async function withDatabase<T>(
  context: CommandContext,
  work: (database: Database) => Promise<T>,
  options: OpenOptions & { schema?: 'required' | 'none' } = {},
): Promise<T> {
  const target = parseDatabaseUrl(context.config.database.url);
  const ownFile =
    target.dialect === 'sqlite' && target.isDefault && options.readOnly !== true && options.schema !== 'none';
  const database = await Database.open(target, {
    create: ownFile,
    statementMsMax: context.config.database.statementTimeout,
    connectMsMax: context.config.database.connectTimeout,
    ...options,
  });
  try {
    if (options.schema !== 'none') {
      if (ownFile && (await schemaStatus(database)).applied.length === 0) {
        await migrateUp(database);
        // With --json stderr is for one error document at most.
        if (context.output === 'text')
          context.say(`Made a new database, ${target.path}, in this folder; SETTLE_DATABASE_URL names another.`);
      }
      await requireSchema(database);
      if (context.config.source !== undefined) {
        const { useConfiguredSource } = await import('./orderSource.js');
        await useConfiguredSource(context, database);
      }
    }
    return await work(database);
  } finally {
    await database.close();
  }
}
