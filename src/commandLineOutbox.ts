import type { Command as Program } from 'commander';
import { wholeNumber, type Adding } from './commandLineLedger.js';

/** `settle outbox …`: what is told to the ledger and to others. */
export function addOutboxCommands(program: Program, { on, examples }: Adding): void {
  const same = <Options>(_args: string[], given: Options): object => given as object;
  const outbox = examples(
    program.command('outbox').description('messages on their way, to the ledger and to others'),
    'settle outbox status',
    'settle outbox relay',
    'settle outbox relay --once --sink partner',
    'settle outbox requeue --by alice --reason "disk replaced"',
  );
  on(
    outbox.command('status').description('messages by state, the oldest that waits, and what each sink lacks'),
    async () => (await import('./commands/outbox.js')).status,
    same,
  );
  on(
    outbox
      .command('relay')
      .description('deliver to the sinks that the routes name, until it is stopped; several relays share the work')
      .option('--once', 'end once what can be sent is sent (exit 75 when a sink is not to be had)')
      .option('--sink <name>', 'only to this sink'),
    async () => (await import('./commands/outboxRelay.js')).relay,
    same,
  );
  on(
    outbox
      .command('requeue')
      .description('put parked messages back')
      .argument('[biz-no...]', 'messages (default: all parked)')
      .option('--sink <name>', 'only what is parked for this sink')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/outbox.js')).requeue,
    (args, given) => ({ ...given, bizNos: args }),
  );
  on(
    outbox
      .command('purge')
      .description('forget what was sent to which sink long ago; the messages themselves stay')
      .requiredOption('--days <n>', 'what was sent more than so many days ago', wholeNumber)
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/outbox.js')).purge,
    same,
  );
}
