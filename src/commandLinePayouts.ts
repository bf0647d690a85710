import type { Command as Program } from 'commander';
import { wholeNumber, type Adding } from './commandLineLedger.js';

/** `settle payout …`: money out. */
export function addPayoutCommands(program: Program, { on, examples }: Adding): void {
  const same = <Options>(_args: string[], given: Options): object => given as object;
  const payout = examples(
    program.command('payout').description('money out: a time-out is UNKNOWN and never a failure'),
    'settle payout run',
    'settle payout check',
    'settle payout list --state MANUAL',
    'settle payout review 17 --approve --by alice --reason "on the bank statement of 30 November"',
  );
  const channel = ['--channel <name>', 'only this channel'] as const;
  on(
    payout
      .command('run')
      .description('make the payouts of the last closed day, and submit what is due')
      .option(...channel),
    async () => (await import('./commands/payout.js')).run,
    same,
  );
  on(
    payout
      .command('check')
      .description('ask about payouts whose outcome is not known, those that are due for it')
      .option(...channel),
    async () => (await import('./commands/payout.js')).check,
    same,
  );
  on(
    payout
      .command('list')
      .description('payouts, the newest first')
      .option('--batch-day <day>', 'batch day, YYYY-MM-DD')
      .option('--state <state>', 'only those in this state')
      .option('--account <account>', 'only those of this account')
      .option('--limit <n>', 'at most so many (default: 1000)', wholeNumber),
    async () => (await import('./commands/payoutViews.js')).list,
    same,
  );
  on(
    payout.command('carried').description('what is payable and not planned: no beneficiary, on hold, not active'),
    async () => (await import('./commands/payoutViews.js')).carried,
    same,
  );
  on(
    payout
      .command('show')
      .description('one payout and all that happened to it')
      .argument('<payout>', 'id or idempotency key'),
    async () => (await import('./commands/payoutViews.js')).show,
    (args) => ({ payout: args[0] }),
  );
  on(
    payout
      .command('review')
      .description('decide on a MANUAL payout')
      .argument('<payout>', 'id')
      .option('--approve', 'it was paid')
      .option('--reject', 'it was not paid: back to the payable of the account')
      .option('--retry', 'it was not paid: submit it again, under the same key')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/payoutViews.js')).review,
    (args, given) => ({ ...given, payout: args[0] }),
  );
  on(
    examples(
      payout.command('answers').description('take what a bank reports on a payment file (ISO 20022 pain.002)'),
      'settle payout answers pain002-20261130.xml --channel sepa',
    )
      .argument('<file>', 'the report; - for standard input')
      .requiredOption('--channel <name>', 'the channel whose payment file it is on'),
    async () => (await import('./commands/payoutAnswers.js')).answers,
    (args, given) => ({ ...given, file: args[0] }),
  );
  addChannelCommands(program, { on, examples });
}

/** `settle channel …`: what payouts go over. */
function addChannelCommands(program: Program, { on, examples }: Adding): void {
  const group = examples(
    program.command('channel').description('what payouts go over'),
    'settle channel simulate --port 8080 --scenario storm',
  );
  on(
    group
      .command('simulate')
      .description('be a channel on this machine that moves no money and misbehaves as told; for tests')
      .requiredOption('--port <n>', 'port to listen on; 0 for any that is free', wholeNumber)
      .option('--scenario <name>', 'name of a scenario, or a JSON file (default: honest)')
      .option('--book <file>', 'file that keeps what was paid')
      .option('--secret-env <name>', 'environment variable with the secret that requests are signed with')
      .option('--secret-file <file>', 'file with the secret that requests are signed with'),
    async () => (await import('./commands/channel.js')).simulate,
    (_args, given) => given as object,
  );
}
