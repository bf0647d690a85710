import { command, told, type Bound, type Expected } from './bound.js';
import { accountNames, lastDay, soakDays } from './made.js';
import { signed, type Model } from './model.js';
import { carryOut, type RunAsk, type RunSaid } from './modelRun.js';
import type { Random } from './random.js';

const wholeAsk: Omit<RunAsk, 'target'> = { lookBackDays: 31, accounts: null, range: null, detailed: false };

function tuning(random: Random): string[] {
  const words: string[] = [];
  if (random.chance(0.6)) words.push('--lanes', String(random.int(1, 4)));
  if (random.chance(0.7)) words.push('--page-size', String(random.pick([1, 3, 10, 25, 50, 200])));
  if (random.chance(0.7)) words.push('--chunk-size', String(random.pick([1, 2, 5, 10, 30])));
  return words;
}

/** What the document of a run must say. */
function expectedOf(said: RunSaid, known: boolean): Expected {
  const { exitCode, document } = said;
  if (!known) return { exitCode: null };
  if (document === null) return { exitCode };
  return {
    exitCode,
    check: (answer) => {
      const { outcome, closed, alreadyClosed, quarantined, leftOrders, settledNow } = document;
      const stated = told(answer, {
        outcome,
        exitCode,
        closed,
        alreadyClosed,
        'accounts.quarantined': quarantined,
        cancellation: null,
        error: null,
      });
      if (alreadyClosed) return stated; // the figures are those of the run that closed the day
      const now = (answer['settledNow'] as { currency: string; orders: number; netMinor: string }[]).map(
        ({ currency, orders, netMinor }) => [currency, [orders, netMinor]],
      );
      const sorted = (entries: unknown[][]): string => JSON.stringify(entries.sort());
      const same = sorted(now) === sorted(Object.entries(settledNow));
      return [
        ...stated,
        ...told(answer, { leftOrders }),
        ...(same ? [] : [`the answer settled ${sorted(now)}, the model ${JSON.stringify(settledNow)}`]),
      ];
    },
  };
}

function runBound(args: string[], env: Record<string, string>, ask: RunAsk, dryRun: boolean): Bound {
  return command({
    args: [...args, ...(dryRun ? ['--dry-run'] : []), '--json'],
    env,
    ask,
    readOnly: dryRun,
    apply: (model) => {
      if (!dryRun) return expectedOf(carryOut(model, ask), true);
      // What a trigger will refuse cannot be foreseen; a dry run need not know.
      const known = model.refusing.net.size + model.refusing.ledger.size === 0;
      return expectedOf(carryOut(model.copy(), ask), known);
    },
  });
}

export function run(random: Random, options: { dryRun: boolean; accounts: boolean }): Bound {
  const target = random.chance(0.4) ? lastDay : random.pick(soakDays);
  const lookBackDays = random.chance(0.15) ? random.int(0, 2) : 31;
  const accounts = options.accounts ? Array.from({ length: random.int(1, 3) }, () => random.pick(accountNames)) : null;
  const detailed = random.chance(0.3);
  const args = [
    'run',
    '--batch-day',
    target,
    ...tuning(random),
    ...(detailed ? ['--detailed-exitcode'] : []),
    ...(accounts ?? []).flatMap((account) => ['--account', account]),
  ];
  const env: Record<string, string> = lookBackDays === 31 ? {} : { SETTLE_BATCH_LOOK_BACK_DAYS: String(lookBackDays) };
  return runBound(args, env, { ...wholeAsk, target, lookBackDays, accounts, detailed }, options.dryRun);
}

/** The whole of what is due, as cron would start it. */
export function runUpTo(target: string): Bound {
  return runBound(['run', '--batch-day', target], {}, { ...wholeAsk, target }, false);
}

export function resume(random: Random, model: Model): Bound {
  const target = model.lastRunDay;
  const args = ['resume', ...tuning(random)];
  if (target === null) return command({ args: [...args, '--json'], apply: () => ({ exitCode: 2 }) });
  return runBound(args, {}, { ...wholeAsk, target }, false);
}

export function rerun(random: Random, model: Model, dryRun: boolean): Bound {
  const target = random.pick(soakDays);
  const ids = model.ordersOf(target).map((order) => order.id);
  const whole = ids.length === 0 || random.chance(0.4);
  const from = whole ? 0n : random.pick(ids);
  const later = ids.filter((id) => id > from);
  const until = !whole && later.length > 0 && random.chance(0.5) ? random.pick(later) : null;
  const args = ['rerun', '--from-watermark', from.toString(), '--batch-day', target, '--reason', 'soak'];
  if (until !== null) args.push('--until', until.toString());
  return runBound([...args, ...tuning(random)], {}, { ...wholeAsk, target, range: { from, until } }, dryRun);
}

export function release(random: Random, model: Model): Bound {
  const held = [...model.setAside.keys()];
  const [day = '', account = ''] = (held.length > 0 && random.chance(0.85) ? random.pick(held) : '2024-03-01 A1').split(
    ' ',
  );
  const onDay = random.chance(0.5) ? day : null;
  return command({
    args: [
      'quarantine',
      'release',
      account,
      ...(onDay === null ? [] : ['--batch-day', onDay]),
      '--by',
      'soak',
      '--reason',
      'soak',
    ],
    apply: (target) => ({ exitCode: target.release(account, onDay) }),
  });
}

export function requeue(): Bound {
  return command({
    args: ['outbox', 'requeue', '--by', 'soak', '--reason', 'soak'],
    apply: (model) => {
      model.requeue();
      return { exitCode: 0 };
    },
  });
}

const reading = (args: string[], apply: (model: Model) => Expected): Bound => command({ args, readOnly: true, apply });

export const verify = (random: Random): Bound => verifyDay(random.chance(0.3) ? random.pick(soakDays) : null);
export const verifyAll = (): Bound => verifyDay(null);

function verifyDay(day: string | null): Bound {
  return reading(['verify', ...(day === null ? [] : ['--batch-day', day]), '--json'], (model) => ({
    exitCode: day === null || model.days.has(day) ? 0 : 2,
  }));
}

export function reconcile(day: string): Bound {
  return reading(['reconcile', '--batch-day', day, '--json'], (model) => {
    if (!model.days.has(day)) return { exitCode: 2 };
    const waits = model
      .ordersOf(day)
      .some((order) => order.state === 'PROCESSING' || (order.state === 'INIT' && !model.isHeld(order)));
    // What is left may lie above the last frozen id, which then knows nothing of it.
    if (model.days.get(day)?.closed === true && !waits) return { exitCode: 0 };
    return {
      exitCode: null,
      check: (answer) => told(answer, answer['outcome'] === 'OK' ? {} : { outcome: 'UNFINISHED' }),
    };
  });
}

export function report(random: Random): Bound {
  const day = random.pick(soakDays);
  return reading(['report', '--batch-day', day, '--json'], (model) => {
    if (!model.days.has(day)) return { exitCode: 2 };
    const positions = new Map<string, [number, bigint]>();
    for (const order of model.ordersOf(day)) {
      if (order.state !== 'PROCESSING' && order.state !== 'SUCCESS') continue;
      const key = `${order.account} ${order.currency}`;
      const [orders, net] = positions.get(key) ?? [0, 0n];
      positions.set(key, [orders + 1, net + signed(order)]);
    }
    const expected = [...positions].map(([key, [orders, net]]) => `${key} ${String(orders)} ${net.toString()}`).sort();
    return {
      exitCode: 0,
      check: (answer) => {
        const listed = answer['netPositions'] as Record<string, string | number>[];
        const actual = listed.map((row) =>
          [row['accountNo'], row['currency'], row['orders'], row['netMinor']].join(' '),
        );
        const same = JSON.stringify(actual.sort()) === JSON.stringify(expected);
        return [
          ...(same ? [] : [`the report has ${actual.join('; ')}, the model ${expected.join('; ')}`]),
          ...told(answer, { batchDay: day }),
          ...((answer['status'] === 'CLOSED') === model.days.get(day)?.closed ? [] : ['the report errs about the day']),
        ];
      },
    };
  });
}

export function status(): Bound {
  return reading(['status', '--json'], (model) => {
    const parked = [...model.orders.values()].some((order) => order.parked);
    const open = [...model.days].filter(([, { closed }]) => !closed).map(([day]) => day);
    const { size } = model.setAside;
    return {
      exitCode: 0,
      check: (answer) => [
        ...told(answer, { openDays: open.sort(), 'left.quarantinedAccounts': size }),
        ...(parked === (answer['left'] as { messagesParked: number }).messagesParked > 0
          ? []
          : ['the status errs about parked messages']),
      ],
    };
  });
}

export function quarantineList(): Bound {
  return reading(['quarantine', 'list', '--json'], (model) => ({
    exitCode: 0,
    check: (answer) => {
      const rows = answer['accounts'] as { accountNo: string; batchDay: string; code: string }[];
      const listed = rows.map((row) => `${row.batchDay} ${row.accountNo} ${row.code}`).sort();
      const expected = [...model.setAside].map(([key, { code }]) => `${key} ${code}`).sort();
      return JSON.stringify(listed) === JSON.stringify(expected) ? [] : [`the list has ${listed.join('; ')}`];
    },
  }));
}
