import { Gauge, Registry } from 'prom-client';
import { countedPayoutStates } from '../payouts/stateViews.js';
import { discrepancyClasses, runMoves } from '../kernel/states.js';
import type { Facts, LastRun, OpenFacts } from './facts.js';

/** What is measured, as Prometheus reads it. Gauges only: the database counts, and a process of ours does not live on. */
export async function metricsText(facts: Facts, oldestUnsettledMs: number): Promise<string> {
  const sheet = new Sheet();
  putRuns(sheet, facts);
  putOpen(sheet, facts.open);
  sheet.put(
    'settle_oldest_unsettled_seconds',
    'Time since the cut-off of the earliest day that is not closed; 0: none.',
    [[{}, oldestUnsettledMs / 1_000]],
  );
  sheet.put('settle_leases', 'Leases that are held: one of a whole run, or one a shard.', [[{}, facts.leases.held]]);
  sheet.put('settle_lease_heartbeat_age_seconds', 'Age of the oldest heartbeat of a lease that is held; 0: none is.', [
    [{}, facts.leases.heartbeatAgeMs / 1_000],
  ]);
  return sheet.text();
}

type Samples = readonly (readonly [labels: Record<string, string>, value: number])[];

class Sheet {
  private readonly registry = new Registry();

  put(name: string, help: string, samples: Samples): void {
    // Without a label the library would print a 0 for what is not known.
    const labelNames = samples.length === 0 ? ['none'] : Object.keys(samples[0]?.[0] ?? {});
    const gauge = new Gauge({ name, help, labelNames, registers: [this.registry] });
    for (const [labels, value] of samples) gauge.set(labels, value);
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }
}

const seconds = (instant: string): number => Date.parse(instant) / 1_000;

function putRuns(sheet: Sheet, { lastAttemptAt, lastSuccessAt, lastRun }: Facts): void {
  const at = (name: string, help: string, instant: string | null): void => {
    sheet.put(name, help, instant === null ? [] : [[{}, seconds(instant)]]);
  };
  at('settle_last_attempt_timestamp_seconds', 'When the newest run began.', lastAttemptAt);
  at('settle_last_success_timestamp_seconds', 'When a batch day was last closed.', lastSuccessAt);
  if (lastRun !== null) putLastRun(sheet, lastRun);
}

function putLastRun(sheet: Sheet, last: LastRun): void {
  const { run, stageTimes, totals, accounts } = last;
  const outcomes = Object.keys(runMoves).filter((state) => state !== 'RUNNING');
  sheet.put(
    'settle_last_run_outcome',
    'How the last run over all accounts ended: 1 for its outcome.',
    outcomes.map((outcome) => [{ outcome }, outcome === run.state ? 1 : 0]),
  );
  sheet.put('settle_last_run_exit_code', 'Exit code of the last run over all accounts.', [[{}, run.exitCode ?? -1]]);
  sheet.put('settle_last_run_duration_seconds', 'How long it took.', [[{}, last.durationMs / 1_000]]);
  sheet.put(
    'settle_last_run_stage_duration_seconds',
    'How long each of its stages took.',
    stageTimes.map(({ stage, durationMs }) => [{ stage }, durationMs / 1_000]),
  );
  sheet.put(
    'settle_last_run_orders',
    'Orders of its day, by how far they have come, from source to posted.',
    totals.map(({ stage, currency, orders }) => [{ stage, currency }, orders]),
  );
  sheet.put('settle_last_run_accounts', 'Accounts of its day.', [
    [{ state: 'settled' }, accounts.settled],
    [{ state: 'quarantined' }, accounts.quarantined],
    [{ state: 'carried_forward' }, accounts.carriedForward],
  ]);
  sheet.put('settle_last_run_cas_losses', 'Orders that somebody else moved before it could claim them.', [
    [{}, last.casLosses],
  ]);
  sheet.put('settle_last_run_cancelled_shards', 'Shards that it left to the next run.', [[{}, last.cancelledShards]]);
}

function putOpen(sheet: Sheet, open: OpenFacts): void {
  sheet.put('settle_open_orders', 'Orders of days that are begun and not closed.', [
    [{ state: 'INIT' }, open.orders.waiting],
    [{ state: 'PROCESSING' }, open.orders.processing],
  ]);
  sheet.put('settle_quarantined_accounts', 'Accounts that are set aside, each for each of its days.', [
    [{}, open.quarantinedAccounts],
  ]);
  const { topics, sinks } = open;
  sheet.put(
    'settle_outbox_messages',
    'Messages that wait in the outbox, or were given up.',
    topics.flatMap(({ name: topic, waiting, parked }) => [
      [{ topic, state: 'NEW' }, waiting],
      [{ topic, state: 'PARKED' }, parked],
    ]),
  );
  sheet.put(
    'settle_outbox_oldest_seconds',
    'Age of the message that has waited longest.',
    topics.map(({ name: topic, oldestMs }) => [{ topic }, oldestMs / 1_000]),
  );
  sheet.put(
    'settle_outbox_retries',
    'Failed tries of messages that wait or were given up.',
    topics.map(({ name: topic, retries }) => [{ topic }, retries]),
  );
  sheet.put(
    'settle_delivery_messages',
    'Messages that a sink waits for, or that were given up for it.',
    sinks.flatMap(({ name: sink, waiting, parked }) => [
      [{ sink, state: 'NEW' }, waiting],
      [{ sink, state: 'PARKED' }, parked],
    ]),
  );
  sheet.put(
    'settle_delivery_oldest_seconds',
    'Age of the message that a sink has waited for longest.',
    sinks.map(({ name: sink, oldestMs }) => [{ sink }, oldestMs / 1_000]),
  );
  sheet.put(
    'settle_delivery_retries',
    'Failed tries of messages that a sink waits for, or that were given up for it.',
    sinks.map(({ name: sink, retries }) => [{ sink }, retries]),
  );
  putMoney(sheet, open);
}

function putMoney(sheet: Sheet, { payouts, deposits, discrepancies }: OpenFacts): void {
  const lanes = [...new Set(payouts.map(({ channel, currency }) => JSON.stringify([channel, currency])))];
  sheet.put(
    'settle_payouts',
    'Payouts that are not done, and those that failed.',
    lanes.flatMap((lane) => {
      const [channel, currency] = JSON.parse(lane) as [string, string];
      const counted = payouts.filter((count) => count.channel === channel && count.currency === currency);
      return countedPayoutStates.map(
        (state) =>
          [{ channel, currency, state }, counted.find((count) => count.state === state)?.payouts ?? 0] as const,
      );
    }),
  );
  sheet.put('settle_deposits', 'Orders that wait to be paid on a chain.', [[{ state: 'pending' }, deposits.pending]]);
  sheet.put('settle_deposit_reviews', 'Plans that wait for a person (open) or to be executed (approved).', [
    [{ state: 'open' }, deposits.reviewsOpen],
    [{ state: 'approved' }, deposits.reviewsApproved],
  ]);
  sheet.put('settle_deposit_findings', 'What audits found and nobody has decided on.', [
    [{ state: 'open' }, deposits.findingsOpen],
  ]);
  sheet.put(
    'settle_open_discrepancies',
    'Discrepancies that are open.',
    discrepancyClasses.map((name) => [{ class: name }, discrepancies.find((one) => one.class === name)?.count ?? 0]),
  );
}
