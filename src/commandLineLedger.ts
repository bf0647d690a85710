import { InvalidArgumentError, Option, type Command as Program } from 'commander';
import type { Command } from './commands/context.js';

export type Load<Options> = () => Promise<Command<Options>>;

/** How commands are added: what runs them, and the examples above their help. */
export interface Adding {
  on<Options>(command: Program, load: Load<Options>, options: (args: string[], given: Options) => object): Program;
  examples(command: Program, ...lines: string[]): Program;
}

export function wholeNumber(text: string): number {
  if (!/^(0|[1-9][0-9]{0,14})$/.test(text)) {
    throw new InvalidArgumentError(`"${text}" is not a whole number.`);
  }
  return Number(text);
}

/** `settle ledger …`: what looks at the books, and corrects them. */
export function addLedgerCommands(program: Program, { on, examples }: Adding): void {
  const same = <Options>(_args: string[], given: Options): object => given as object;
  const ledger = examples(
    program.command('ledger').description('the books'),
    'settle ledger trial-balance',
    'settle ledger balances --account M00042',
    'settle ledger balances --general --as-of 2026-11-29',
    'settle ledger export --format hledger --out books.journal',
    'settle ledger reverse S12.1.4 --by alice --reason "booked to the wrong account"',
  );
  on(
    ledger
      .command('balances')
      .description('newest balance per ledger account, sub-ledger account and currency, and what moved it last')
      .option('--account <account>', 'only this account')
      .option('--ledger-account <code>', 'only this ledger account')
      .option('--general', 'whole ledger accounts, without their sub-ledgers')
      .option('--as-of <day>', 'as booked up to and with this day'),
    async () => (await import('./commands/ledger.js')).balances,
    same,
  );
  on(
    ledger
      .command('entries')
      .description('journal entries with their ledger entries')
      .option('--account <account>', 'only this account')
      .option('--batch-day <day>', 'batch day, YYYY-MM-DD')
      .option('--limit <n>', 'at most so many journal entries', wholeNumber),
    async () => (await import('./commands/ledger.js')).entries,
    same,
  );
  on(
    ledger
      .command('trial-balance')
      .description('debits and credits of every ledger account; must agree')
      .option('--as-of <day>', 'as booked up to and with this day'),
    async () => (await import('./commands/ledger.js')).trialBalance,
    same,
  );
  on(
    ledger
      .command('export')
      .description('the journal in the form of another tool, to check the books with it')
      .addOption(new Option('--format <format>', 'form').choices(['hledger', 'beancount', 'csv']).makeOptionMandatory())
      .option('--from <day>', 'booked from this day on')
      .option('--until <day>', 'booked up to and with this day')
      .option('--out <file>', 'write to this file instead of stdout'),
    async () => (await import('./commands/ledgerExport.js')).exportLedger,
    same,
  );
  on(
    ledger
      .command('reverse')
      .description('take a journal entry back by another, booked on the open day; orders stay as they are')
      .argument('<biz-no>', 'number of the journal entry')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/ledgerReverse.js')).reverse,
    ([bizNo = ''], given) => ({ ...given, bizNo }),
  );
  on(
    ledger.command('accounts').description('the chart of accounts'),
    async () => (await import('./commands/ledger.js')).accounts,
    same,
  );
}
