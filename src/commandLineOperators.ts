import { Argument, type Command as Program } from 'commander';
import { wholeNumber, type Adding } from './commandLineLedger.js';

/** What the people who run the program need besides the days: leases, settings, the look at the machine. */
export function addOperatorCommands(program: Program, { on, examples }: Adding): void {
  const same = <Options>(_args: string[], given: Options): object => given as object;

  const lock = examples(program.command('lock').description('the lease that keeps two runs apart'), 'settle lock show');
  on(
    lock.command('show').description('who holds it and until when, shards too'),
    async () => (await import('./commands/lock.js')).show,
    same,
  );
  on(
    lock
      .command('release')
      .description('last resort: free leases whose holders are known to be dead')
      .option('--shard <i/n>', 'only the lease of this shard (default: every lease that is held)')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/lock.js')).release,
    same,
  );

  on(
    examples(
      program
        .command('doctor')
        .description('look at what a run relies on, and say what to type; changes nothing')
        .option('--offline', 'ask no host but the database'),
      'settle doctor',
      'settle doctor --offline',
      'settle doctor --json > doctor.json',
    ),
    async () => (await import('./commands/doctor.js')).doctor,
    same,
  );

  on(
    examples(
      program
        .command('init')
        .description('write a settle.yaml for this folder: asks, or takes flags with --yes; overwrites nothing')
        .option('--database <url>', 'sqlite:PATH or mysql://USER@HOST:PORT/DATABASE, without the password')
        .option('--time-zone <zone>', 'time zone of the cut-off, such as Asia/Shanghai (default: UTC)')
        .option('--cut-off <time>', 'local time that ends a batch day, such as 22:30 (default: 00:00)'),
      'settle init',
      'settle init --yes --database sqlite:settle.db --time-zone Asia/Shanghai',
    ),
    async () => (await import('./commands/init.js')).init,
    same,
  );

  on(
    examples(
      program
        .command('purge')
        .description('delete what only tells of work finished long ago; never orders, books or decisions')
        .requiredOption('--older-than <days>', 'what was finished more than so many days ago', wholeNumber)
        .option('--dry-run', 'delete nothing; count what would be deleted')
        .option('--by <name>', 'who decides (needed to delete)')
        .option('--reason <text>', 'why (needed to delete)'),
      'settle purge --older-than 90 --dry-run',
      'settle purge --older-than 90 --by alice --reason "kept for a quarter"',
    ),
    async () => (await import('./commands/purge.js')).purge,
    same,
  );

  on(
    examples(
      program
        .command('metrics')
        .description('what the database knows, as Prometheus reads it')
        .option(
          '--textfile <file>',
          'write this file, whole or not at all, for the textfile collector (ends in .prom)',
        ),
      'settle metrics',
      'settle metrics --textfile /var/lib/prometheus/node-exporter/settle.prom',
    ),
    async () => (await import('./commands/metrics.js')).metrics,
    same,
  );

  const notify = examples(
    program.command('notify').description('who is told how a day ended'),
    'settle notify test',
    'settle notify send',
  );
  const notices = {
    test: 'send a test to every target, and say how it went',
    send: 'tell what has changed and was not told, as each run does at its end',
  } as const;
  for (const kind of Object.keys(notices) as (keyof typeof notices)[]) {
    on(notify.command(kind).description(notices[kind]), async () => (await import('./commands/notify.js'))[kind], same);
  }

  const calendar = examples(
    program.command('calendar').description('batch days, business days and cut-offs'),
    'settle calendar show',
    'settle calendar show --from 2026-12-20 --days 20',
  );
  on(
    calendar
      .command('show')
      .description('the day that is due, and when the next days end, in local time and UTC')
      .option('--from <day>', 'first day to show (default: the day that is due)')
      .option('--days <n>', 'so many days (default: 10)', wholeNumber),
    async () => (await import('./commands/calendar.js')).calendarCommands.show,
    same,
  );

  const config = examples(
    program.command('config').description('the settings: which hold, and where they come from'),
    'settle config show',
    'settle config init > settle.yaml',
    'settle config schema > settle.schema.json',
  );
  const views = {
    show: 'every setting with its value and where it comes from; secrets are not shown',
    check: 'read the settings as a run would; exit 2 with the place of what is wrong',
    init: 'print a commented settle.yaml with every setting at its default',
    schema: 'print the JSON Schema of settle.yaml, for editors',
  } as const;
  for (const kind of Object.keys(views) as (keyof typeof views)[]) {
    on(
      config.command(kind).description(views[kind]),
      async () => (await import('./commands/config.js')).configCommands[kind],
      same,
    );
  }

  on(
    examples(
      program
        .command('completion')
        .description('print the script that completes commands and flags in a shell')
        .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish'])),
      'settle completion bash > ~/.local/share/bash-completion/completions/settle',
      'settle completion fish > ~/.config/fish/completions/settle.fish',
    ),
    async () => (await import('./commands/completion.js')).completion,
    (args) => ({ shell: args[0] }),
  );
}
