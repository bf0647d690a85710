import { type Command as Program } from 'commander';
import { wholeNumber, type Adding } from './commandLineLedger.js';

const watchHelp = `
--watch draws the view again and again until Ctrl-C; where stdout is no terminal it prints one block after the other, and with
--output jsonl one document a line. --check prints one line; with thresholds it looks at what they name too.`;

/** What is going on, and what became of something. */
export function addViewCommands(program: Program, { on, examples }: Adding): void {
  const same = <Options>(_args: string[], given: Options): object => given as object;
  const day = ['--batch-day <day>', 'batch day, YYYY-MM-DD'] as const;

  on(
    examples(
      program
        .command('status')
        .description('who runs, how far, what is left')
        .argument('[run]', 'id of a run')
        .option('--watch', 'draw it again and again, until Ctrl-C')
        .option('--interval <time>', 'with --watch: time between two looks (default: 2s)')
        .option(
          '--check',
          'exit 0 only if the last due day is closed; 3 otherwise, 4 if its books contradict each other',
        )
        .option('--grace <time>', 'with --check: the due day may be open for so long after its cut-off')
        .option('--stuck-after <time>', 'what is PROCESSING for longer is stuck (default: 15m); --check exits 3 then')
        .option('--max-lag <time>', 'with --check: no message may wait for longer')
        .option('--max-unknown <n>', 'with --check: at most so many payouts UNKNOWN or MANUAL', wholeNumber)
        .option('--max-discrepancies <n>', 'with --check: at most so many open discrepancies', wholeNumber),
      'settle status',
      'settle status --watch',
      'settle status --check --grace 45m',
      'settle status --check --stuck-after 30m --max-lag 10m --max-unknown 0',
    ).addHelpText('after', watchHelp),
    async () => (await import('./commands/status.js')).status,
    (args, given) => ({ ...given, run: args[0] }),
  );
  on(
    examples(
      program
        .command('runs')
        .description('history of runs')
        .option(...day)
        .option('--limit <n>', 'at most so many', wholeNumber),
      'settle runs --limit 10',
    ),
    async () => (await import('./commands/status.js')).runs,
    same,
  );

  const explain = examples(
    program.command('explain').description('how something came to be what it is, and where it is stuck'),
    'settle explain order O-1001',
    'settle explain account M00042 --batch-day 2026-11-29',
    'settle explain payout 7',
    'settle explain discrepancy 12 --json',
  );
  on(
    explain
      .command('account')
      .description('the arithmetic from its orders of a day to what may be paid out')
      .argument('<account>', 'account number')
      .option(...day),
    async () => (await import('./commands/explain.js')).account,
    (args, given) => ({ ...given, account: args[0] }),
  );
  const stories = {
    order: ['from its capture to its payout and its statement, with the arithmetic of its net', 'order number'],
    payout: ['from its plan to the word of the channel and of its statement', 'id, or idempotency key'],
    deposit: ['from its event on the chain to what its scene credits', 'order number of the deposit'],
    discrepancy: ['the rows that differ, what was decided, and what is to be done', 'id'],
  } as const;
  for (const [kind, [description, id]] of Object.entries(stories)) {
    on(
      explain.command(kind).description(description).argument('<id>', id),
      async () => (await import('./commands/explain.js')).explainCommands[kind as keyof typeof stories],
      (args) => ({ id: args[0] }),
    );
  }
}
