import type { Command as Program } from 'commander';
import { wholeNumber, type Adding } from './commandLineLedger.js';

/** `settle deposit …`: orders that are paid on a chain. */
export function addDepositCommands(program: Program, adding: Adding): void {
  const { on, examples } = adding;
  const deposit = examples(
    program.command('deposit').description('money in on chains: one event pays one order, once'),
    'settle deposit import deposits.csv',
    'settle deposit plan R-1001 --tx 0x5c50…',
    'settle deposit review approve R-1001 --fingerprint 1:9f86… --by alice --reason "as ordered"',
    'settle deposit settle R-1001 --by alice --reason "as ordered"',
  );
  const asGiven = (args: string[], given: object): object => ({ ...given, outTradeNo: args[0] });
  const place = (command: Program): Program =>
    command
      .option('--tx <hash>', 'the transaction that paid it (default: the one of the order)')
      .option('--log-index <n>', 'the log that paid it, where several could be meant', wholeNumber);

  on(
    examples(
      deposit.command('import').description('store deposit orders (CSV or NDJSON); a repeat changes nothing'),
      'settle deposit import deposits.csv',
    ).argument('<file...>', 'files, or - for standard input'),
    async () => (await import('./commands/deposit.js')).importOrders,
    (files) => ({ files }),
  );
  on(
    examples(
      deposit.command('create').description('store one deposit order'),
      'settle deposit create R-1001 --chain base --token 0x8335… --receiver 0x90f8… --amount-raw 25000000 --scene recharge --account-no M00042',
    )
      .argument('<order>', 'its number, out_trade_no')
      .requiredOption('--chain <name>', 'a configured chain')
      .requiredOption('--token <address>', 'contract of the token')
      .requiredOption('--receiver <address>', 'where it is to be paid')
      .requiredOption('--amount-raw <digits>', 'base units of the token')
      .requiredOption('--scene <name>', 'what its payment brings about')
      .option('--account-no <account>', 'the account that the scene credits')
      .option('--created-at <instant>', 'since when it may be paid (default: now)')
      .option('--expires-at <instant>', 'until when it may be paid')
      .option('--required-confirmations <n>', "blocks that it asks for (default: the chain's)"),
    async () => (await import('./commands/deposit.js')).create,
    asGiven,
  );
  on(
    examples(
      place(
        deposit
          .command('plan')
          .description('whether an order could be settled now, and why not; writes nothing')
          .argument('[order]', 'its number (default: every pending order of which a transaction is known)'),
      ),
      'settle deposit plan R-1001',
      'settle deposit plan R-1001 --tx 0x5c50… --log-index 7 --json',
      'settle deposit plan --output jsonl > plans.jsonl',
    ),
    async () => (await import('./commands/deposit.js')).plan,
    asGiven,
  );
  on(
    deposit
      .command('settle')
      .description('settle an order whose review is approved, once, and act on it by its scene')
      .argument('<order>', 'its number')
      .option('--fingerprint <fingerprint>', 'the approved review, where there are several')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/deposit.js')).settle,
    asGiven,
  );
  on(
    examples(
      deposit.command('auto').description('what needs no person: timed-out reviews, bounded retries, scenes'),
      '*/5 * * * *  settle deposit auto --quiet',
    ),
    async () => (await import('./commands/depositReview.js')).auto,
    () => ({}),
  );
  on(
    deposit.command('deliver').description('act on settled deposits by their scenes, where that was cut off'),
    async () => (await import('./commands/depositReview.js')).deliver,
    () => ({}),
  );
  addViews(deposit, adding);
  addReviews(deposit, adding, place);
  addAudit(deposit, adding);
}

function addViews(deposit: Program, { on }: Adding): void {
  on(
    deposit
      .command('list')
      .description('deposit orders, the newest first')
      .option('--status <status>', 'only those: pending, success, closed, refunded')
      .option('--chain <name>', 'only those of this chain')
      .option('--tx <hash>', 'only those that this transaction pays, or is said to pay')
      .option('--limit <n>', 'at most so many (default: 1000)', wholeNumber),
    async () => (await import('./commands/depositViews.js')).list,
    (_args, given) => given as object,
  );
  on(
    deposit
      .command('show')
      .description('one order, its reviews and settlement, and all that happened to it')
      .argument('<order>', 'its number'),
    async () => (await import('./commands/depositViews.js')).show,
    (args) => ({ outTradeNo: args[0] }),
  );
  on(
    deposit.command('reasons').description('every reason code: what it means, and what to do'),
    async () => (await import('./commands/depositViews.js')).reasonsCommand,
    () => ({}),
  );
}

function addReviews(deposit: Program, { on, examples }: Adding, place: (command: Program) => Program): void {
  const asGiven = (args: string[], given: object): object => ({ ...given, outTradeNo: args[0] });
  const review = examples(
    deposit.command('review').description('what people say of plans; nothing is settled without it'),
    'settle deposit review open',
    'settle deposit review list',
    'settle deposit review approve R-1001 --fingerprint 1:9f86… --by alice --reason "as ordered"',
  );
  on(
    review
      .command('list')
      .description('reviews that are open, the oldest first')
      .option('--state <state>', 'those in this state: open, approved, rejected, executed')
      .option('--all', 'in any state')
      .option('--limit <n>', 'at most so many (default: 1000)', wholeNumber),
    async () => (await import('./commands/depositReview.js')).list,
    (_args, given) => given as object,
  );
  on(
    place(
      review
        .command('open')
        .description('put plans before people that they can decide on')
        .argument('[order]', 'its number (default: every pending order of which a transaction is known)'),
    ),
    async () => (await import('./commands/depositReview.js')).open,
    asGiven,
  );
  const decision = (command: Program): Program =>
    place(command)
      .argument('<order>', 'its number')
      .requiredOption('--fingerprint <fingerprint>', 'of the plan that was looked at')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why');
  on(
    decision(review.command('approve').description('agree to exactly what was shown; settles nothing yet')),
    async () => (await import('./commands/depositReview.js')).approve,
    asGiven,
  );
  on(
    decision(review.command('reject').description('refuse it; nothing is settled, nothing refunded')),
    async () => (await import('./commands/depositReview.js')).reject,
    asGiven,
  );
}

function addAudit(deposit: Program, { on, examples }: Adding): void {
  on(
    examples(
      deposit
        .command('audit')
        .description('look at settled deposits on the chain again; changes no order and no money')
        .option('--chain <name>', 'only of this chain')
        .option('--older-than-minutes <n>', 'only settlements of that age (default: 60)', wholeNumber)
        .option('--limit <n>', 'at most so many; the next audit goes on from there (default: 50)', wholeNumber)
        .option('--required-confirmations <n>', 'blocks to ask for', wholeNumber)
        .option('--all', 'show those without a risk too'),
      'settle deposit audit',
      'settle deposit audit --chain base --older-than-minutes 1440 --limit 1000',
    ),
    async () => (await import('./commands/depositAudit.js')).audit,
    (_args, given) => given as object,
  );
  on(
    deposit
      .command('recheck')
      .description('audit the settlement of a finding again; changes nothing')
      .argument('<finding>', 'its id'),
    async () => (await import('./commands/depositAudit.js')).recheck,
    (args) => ({ id: args[0] }),
  );
  const compensation = examples(
    deposit.command('compensation').description('what may be done about findings; none of it moves money'),
    'settle deposit compensation candidates',
    'settle deposit compensation plan 3',
  );
  on(
    compensation
      .command('candidates')
      .description('open findings, the riskiest first')
      .option('--limit <n>', 'at most so many (default: 1000)', wholeNumber),
    async () => (await import('./commands/depositAudit.js')).candidates,
    (_args, given) => given as object,
  );
  on(
    compensation
      .command('plan')
      .description('what a person may do about findings; does none of it')
      .argument('<finding...>', 'their ids'),
    async () => (await import('./commands/depositAudit.js')).compensationPlan,
    (ids) => ({ ids }),
  );
  on(
    deposit
      .command('mark')
      .description('close findings in the log; moves no money')
      .argument('<finding...>', 'their ids')
      .option('--resolved', 'it is dealt with')
      .option('--ignored', 'it is of no account')
      .requiredOption('--by <name>', 'who decides')
      .requiredOption('--reason <text>', 'why'),
    async () => (await import('./commands/depositAudit.js')).mark,
    (ids, given) => ({ ...(given as object), ids }),
  );
}
