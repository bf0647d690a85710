import { Command as Program, Option } from 'commander';
import { addDepositCommands } from './commandLineDeposits.js';
import { addLedgerCommands, wholeNumber, type Load } from './commandLineLedger.js';
import { addOperatorCommands } from './commandLineOperators.js';
import { addOutboxCommands } from './commandLineOutbox.js';
import { addPayoutCommands } from './commandLinePayouts.js';
import { addSourceCommands } from './commandLineSource.js';
import { addStatementCommands } from './commandLineStatements.js';
import { addViewCommands } from './commandLineViews.js';
import type { Output, ProgressStyle } from './commands/context.js';
import { exitCodeHelp } from './kernel/exitCodeHelp.js';
import { programVersion } from './kernel/version.js';

// What can be typed. Loads commander and nothing else; a command is loaded when it is invoked.

const shardHelp = `
Shards: start n processes, on one machine or several, with --shard 1/n to --shard n/n. Each settles the accounts that
fall to it, then helps where one has died; one of them closes the day, and all exit as that one does. A scheduler that
numbers its processes from 0 (a Kubernetes Indexed Job) sets SETTLE_SHARD_INDEX and SETTLE_SHARD_COUNT instead.`;

export interface GlobalFlags {
  config?: string;
  json?: boolean;
  output?: Output;
  quiet?: boolean;
  verbose?: boolean;
  logFormat?: 'text' | 'json';
  logFile?: string;
  color?: boolean;
  progress?: ProgressStyle;
  input?: boolean;
  yes?: boolean;
}

export type { Load };
export type Invoke = (load: Load<never>, flags: GlobalFlags, options: object) => Promise<number>;

/** The commands with their flags and help; `invoke` runs the one that was typed. */
export function buildProgram(invoke: Invoke, options: { silentErrors: boolean }): Program {
  const program = new Program('settle');
  // The caller prints what was wrong, and with --json nothing else; set before the commands, which copy it.
  program.configureOutput({
    outputError: () => undefined,
    ...(options.silentErrors ? { writeErr: () => undefined } : {}),
  });
  program
    .description(
      'End-of-day settlement: nets the day per account, books the ledger, proves nothing twice and nothing missing.',
    )
    .version(programVersion(), '-V, --version')
    .option('-c, --config <file>', 'config file (default: settle.yaml, if there is one)')
    .option('--json', 'one JSON document on stdout')
    .addOption(new Option('-o, --output <style>', 'style of the answer').choices(['text', 'json', 'jsonl']))
    .option('-q, --quiet', 'no messages on stderr')
    .option('-v, --verbose', 'a line of progress every second instead of every 30')
    .addOption(new Option('--log-format <format>', 'form of messages').choices(['text', 'json']))
    .option('--log-file <file>', 'append messages to this file too')
    .option('--color', 'colour even where stdout is no terminal')
    .option('--no-color', 'no colour')
    .addOption(new Option('--progress <style>', 'progress on stderr').choices(['auto', 'plain', 'none']))
    .option('--no-input', 'never ask; fail and name the flag instead')
    .option('-y, --yes', 'answer yes to what would be asked')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp({ showGlobalOptions: true });
  program.addHelpText('before', 'Examples:\n  settle demo\n  settle import orders orders.csv\n  settle run\n');
  program.addHelpText('after', exitCodeHelp);

  const on = <Options>(
    command: Program,
    load: Load<Options>,
    options: (args: string[], given: Options) => object,
  ): Program =>
    command.exitOverride().action(async (...received: unknown[]) => {
      const self = received[received.length - 1] as Program;
      const given = self.opts<Options & object>();
      await invoke(load, self.optsWithGlobals<GlobalFlags>(), options(self.args, given));
    });
  const examples = (command: Program, ...lines: string[]): Program =>
    command
      .addHelpText('beforeAll', `Examples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`)
      .addHelpText('afterAll', exitCodeHelp);
  const same = <Options>(_args: string[], given: Options): object => given as object;
  const day = ['--batch-day <day>', 'batch day, YYYY-MM-DD'] as const;

  const migrate = examples(
    program.command('migrate').description('create or change the tables of the database'),
    'settle migrate up',
    'settle migrate sql > review.sql',
  );
  on(
    migrate
      .command('up')
      .description('apply what is pending')
      .option('--unlock', 'free the lock that a killed migration left'),
    async () => (await import('./commands/migrate.js')).up,
    same,
  );
  const migrations = {
    down: 'undo the newest migration and drop its rows (asks for --yes)',
    status: 'what is applied and pending',
    sql: 'print the statements that "up" would run',
  } as const;
  for (const kind of Object.keys(migrations) as (keyof typeof migrations)[]) {
    on(
      migrate.command(kind).description(migrations[kind]),
      async () => (await import('./commands/migrate.js'))[kind],
      same,
    );
  }

  const imports = examples(
    program.command('import').description('read files (CSV with a header, or NDJSON)'),
    'settle import accounts accounts.csv',
    'settle import fee-plans plans.csv && settle import terms terms.csv',
    'settle import orders orders-2026-11-29.csv --json',
    'zcat orders.csv.gz | settle import orders -',
  );
  const imported = {
    orders: 'store orders; a repeat changes nothing',
    accounts: 'store accounts and their states',
    'fee-plans': 'store fee plans; a file is taken whole or not at all',
    terms: 'store the terms under which accounts settle; a file is taken whole or not at all',
    beneficiaries: 'store where accounts are paid out to; a file is taken whole or not at all',
  } as const;
  for (const kind of Object.keys(imported) as (keyof typeof imported)[]) {
    const command = imports.command(kind).description(imported[kind]);
    on(
      command.argument('<file...>', 'files, or - for standard input'),
      async () => (await import('./commands/import.js')).importCommands[kind],
      (files) => ({ files }),
    );
  }

  const tuning = (command: Program): Program =>
    command
      .option(
        '--lanes <n>',
        'lanes that write at the same time (default: one a core, 2 to 4; 1 on SQLite)',
        wholeNumber,
      )
      .option('--page-size <n>', 'orders read, and netted together (default: 500000; 1000000 on SQLite)', wholeNumber)
      .option('--chunk-size <n>', 'orders in one transaction (default: 10000; 200000 on SQLite)', wholeNumber)
      .option('--max-duration <time>', 'stop in good order after this time, such as 90m (exit 12)')
      .option('--shard-timeout <time>', 'leave a shard that takes longer to the next run (default: 15m)')
      .option('--report-dir <dir>', 'write the report of the day into this folder');
  on(
    examples(
      tuning(
        program
          .command('run')
          .description('settle the day that is due, missed days first')
          .option(...day)
          .option('--dry-run', 'write nothing; say what a real run would do')
          .option('--account <account...>', 'only these accounts; the day stays open')
          .option('--shard <i/n>', 'share the day with n - 1 other processes, this one being number i')
          .option('--detailed-exitcode', 'exit 10 when nothing was due'),
      ),
      'settle run',
      'settle run --batch-day 2026-11-29 --dry-run',
      'settle run --json > run.json',
      'settle run --shard 2/4',
    ).addHelpText('after', shardHelp),
    async () => (await import('./commands/run.js')).run,
    same,
  );
  on(
    examples(
      tuning(
        program
          .command('resume')
          .description('continue a stopped, dead or PARTIAL run')
          .argument('[run]', 'id of the run (default: the last one that is not finished)'),
      ),
      'settle resume',
      'settle resume 17',
    ),
    async () => (await import('./commands/run.js')).resume,
    (args, given) => ({ ...given, run: args[0] }),
  );
  on(
    examples(
      tuning(
        program
          .command('rerun')
          .description('go over the orders after a watermark again; settles only what is left')
          .requiredOption('--from-watermark <id>', 'order id after which to start; 0 for the whole day')
          .option('--until <id>', 'last order id')
          .option(...day)
          .requiredOption('--reason <text>', 'why; kept with the run')
          .option('--dry-run', 'write nothing; say what would change'),
      ),
      'settle rerun --from-watermark 0 --batch-day 2026-11-29 --reason "late file from channel B"',
    ),
    async () => (await import('./commands/run.js')).rerun,
    same,
  );

  addViewCommands(program, { on, examples });
  on(
    examples(
      program
        .command('report')
        .description('the report of a day, from stored facts: the same bytes every time')
        .option(...day)
        .addOption(new Option('--format <format>', 'form of the report').choices(['text', 'html', 'csv', 'json']))
        .option('--compare <day>', 'the day to stand it beside (default: the last one before it)')
        .option('--month <month>', 'all days of a month instead, YYYY-MM')
        .option('--out <file>', 'file to write, or - for stdout'),
      'settle report',
      'settle report --batch-day 2026-11-29 --format html --out report.html',
      'settle report --compare 2026-11-22 --format csv --out movers.csv',
      'settle report --month 2026-11 --out november.html',
    ),
    async () => (await import('./commands/report.js')).report,
    same,
  );
  on(
    examples(
      program
        .command('verify')
        .description('recompute the invariants from the rows, independently')
        .option(...day),
      'settle verify',
      'settle verify --batch-day 2026-11-29 --json',
    ),
    async () => (await import('./commands/verify.js')).verify,
    same,
  );
  addLedgerCommands(program, { on, examples });
  addPayoutCommands(program, { on, examples });
  addDepositCommands(program, { on, examples });
  addStatementCommands(program, { on, examples });

  addOutboxCommands(program, { on, examples });

  const order = examples(
    program.command('order').description('single orders'),
    'settle order cancel O-1001 --by alice --reason "captured twice"',
  );
  on(
    order
      .command('cancel')
      .description('cancel orders that no run has claimed (what is settled is reversed by another order)')
      .argument('<order-no...>', 'order numbers')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/order.js')).cancel,
    (args, given) => ({ ...given, orderNos: args }),
  );

  const quarantine = examples(
    program.command('quarantine').description('accounts set aside'),
    'settle quarantine list',
    'settle quarantine release M00042 --by alice --reason "unfrozen by compliance"',
  );
  on(
    quarantine
      .command('list')
      .description('accounts set aside, and why')
      .option(...day),
    async () => (await import('./commands/quarantine.js')).list,
    same,
  );
  on(
    quarantine
      .command('release')
      .description('let an account be settled again by the next run')
      .argument('<account>', 'account number')
      .option(...day)
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/quarantine.js')).release,
    (args, given) => ({ ...given, account: args[0] }),
  );

  addOperatorCommands(program, { on, examples });
  addSourceCommands(program, { on, examples });

  on(
    examples(
      program
        .command('demo')
        .description('make a realistic day and settle it, on the embedded database')
        .option('--dir <dir>', 'folder for the demo (default: settle-demo)')
        .option('--orders <n>', 'orders of the day (default: 50000)', wholeNumber),
      'settle demo',
      'settle demo --orders 200000',
    ),
    async () => (await import('./commands/demo.js')).demo,
    same,
  );
  return program;
}
