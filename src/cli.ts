import { CommanderError, type Command as Program } from 'commander';
import { buildProgram, type GlobalFlags, type Load } from './commandLine.js';
import { exitCodes, SettleError } from './kernel/errors.js';
import { exitCodeOf } from './kernel/exitCodeOf.js';
import { Cancellation } from './kernel/cancellation.js';
import type { Command, CommandContext } from './commands/context.js';

// Start-up is part of the product: this file loads commander and nothing else; a command loads what it needs when it runs.

/** Runs the command line and gives the exit code; never throws, never calls process.exit (which cuts piped output). */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.OK;
  // A reader that went away (`settle runs | head`) is no error, and must never harm a run.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const wantsJson = asksForJson(argv);
  const program = buildProgram(
    (command, flags, options) => runCommand(command, flags, options).then((code) => (exitCode = code)),
    { silentErrors: wantsJson },
  );
  try {
    if (argv.length <= 2) {
      program.outputHelp();
      return exitCodes.OK;
    }
    // Asked by the shell while somebody types: no setting is read for it, and none may be in its way.
    if (argv[2] === 'complete' && argv[3] === '--') {
      (await import('./commands/completion.js')).completeWords(program, argv.slice(4));
      return exitCodes.OK;
    }
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportError(error, wantsJson);
    if (error.exitCode === 0) return exitCodes.OK;
    const isGroupAlone = error.code === 'commander.help';
    // Its help is printed already, where a person looks.
    if (isGroupAlone && !wantsJson) return exitCodes.USAGE;
    const message = isGroupAlone
      ? 'A command is missing.'
      : error.message.replace(/^error: /, '').replaceAll('\n', ' ');
    return reportError(new SettleError('USAGE', message, { next: helpFor(program, argv.slice(2)) }), wantsJson);
  }
}

/** The help of the command that the words name, as far as they name one. */
function helpFor(program: Program, words: readonly string[]): string {
  const path = ['settle'];
  let group = program;
  for (const word of words) {
    const named = group.commands.find((command) => command.name() === word);
    if (named === undefined) continue; // a flag, its value, or what nobody knows
    group = named;
    path.push(word);
  }
  return `${path.join(' ')} --help`;
}

/** Told from the words themselves, since an error may be that they cannot be parsed. */
function asksForJson(argv: readonly string[]): boolean {
  return argv.some(
    (word, at) =>
      /^(--json|(-o|--output=)jsonl?)$/.test(word) ||
      (/^(-o|--output)$/.test(word) && /^jsonl?$/.test(argv[at + 1] ?? '')),
  );
}

async function runCommand(load: Load<never>, flags: GlobalFlags, options: object): Promise<number> {
  const [{ loadConfig }, { documentText, lineWriter, messageWriter }, { systemClock }, { default: pc }] =
    await Promise.all([
      import('./config.js'),
      import('./commands/context.js'),
      import('./kernel/clock.js'),
      import('picocolors'),
    ]);
  const output = flags.json === true ? 'json' : (flags.output ?? 'text');
  const write = lineWriter(process.stdout);
  const say = messageWriter(lineWriter(process.stderr), {
    quiet: flags.quiet ?? false,
    format: flags.logFormat ?? 'text',
    file: flags.logFile,
    clock: systemClock,
  });
  const config = loadConfig({ file: flags.config, environment: process.env });
  const { signal, dispose } = listenForSignals(say);
  const context: CommandContext = {
    config,
    configFile: flags.config,
    clock: systemClock,
    output,
    progress: flags.progress ?? 'auto',
    quiet: flags.quiet ?? false,
    verbose: flags.verbose ?? false,
    interactive: flags.input !== false && process.stdin.isTTY === true,
    ask: async (question, { hidden = false } = {}) =>
      (await import('./commands/ask.js')).askLine(question, { hidden, signal }),
    assumeYes: flags.yes ?? false,
    colors: pc.createColors(flags.color ?? (pc.isColorSupported && process.stdout.isTTY === true)),
    signal,
    print: write,
    document: (value) => write(documentText(value, output)),
    say,
  };
  try {
    const command = (await load()) as Command<object>;
    return await command(context, options);
  } finally {
    dispose();
  }
}

/** The first signal asks to stop; the second stops at once, which is safe too: what is not committed never was. */
function listenForSignals(say: (text: string) => void): { signal: AbortSignal; dispose: () => void } {
  const controller = new AbortController();
  const onSignal = (name: 'SIGINT' | 'SIGTERM') => () => {
    if (controller.signal.aborted) process.exit(exitCodes[name]);
    say(`${name}: finishing what is in flight; a second one stops at once.`);
    controller.abort(new Cancellation(name, `The process received ${name}.`));
  };
  const listeners = { SIGINT: onSignal('SIGINT'), SIGTERM: onSignal('SIGTERM') };
  process.on('SIGINT', listeners.SIGINT);
  process.on('SIGTERM', listeners.SIGTERM);
  return {
    signal: controller.signal,
    dispose: () => {
      process.off('SIGINT', listeners.SIGINT);
      process.off('SIGTERM', listeners.SIGTERM);
    },
  };
}

function reportError(error: unknown, asJson: boolean): number {
  const known = error instanceof SettleError || error instanceof Cancellation ? error : null;
  const exitCode = exitCodeOf(error);
  const code = known?.code ?? 'INTERNAL';
  const text = error instanceof Cancellation ? error.detail : error instanceof Error ? error.message : String(error);
  const details = known instanceof SettleError ? known.details : {};
  const next = known instanceof SettleError ? known.next : nextAfter(known);
  if (asJson) {
    printErrorDocument({ code, message: text, details: { ...details, next }, exitCode });
  } else {
    process.stderr.write(`settle: ${code}: ${text}\n`);
    if (known === null) process.stderr.write('  This is a bug. What was committed stands.\n');
    process.stderr.write(`  next: ${next}\n`);
    if (known === null && process.env['SETTLE_DEBUG'] === '1' && error instanceof Error)
      process.stderr.write(`${error.stack ?? ''}\n`);
  }
  return exitCode;
}

function nextAfter(cancelled: Cancellation | null): string {
  return cancelled === null
    ? 'settle status shows where the day is.'
    : 'settle resume goes on; settle status shows where.';
}

function printErrorDocument(error: { code: string; message: string; details: object; exitCode: number }): void {
  const text = JSON.stringify({ error }, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  process.stderr.write(`${text}\n`);
}
