import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';
import { fromInstant } from '../../src/db/values.js';
import { numbered, seedClosedDay, seedOrder, type SeedOrder } from './closedDay.js';

export const reportedDay = '2026-11-29';

const lastDayNo = 29;
const firstDayNo = 17;

/**
 * Some closed days with everything in them that a report can show: several currencies, long and hostile names, accounts
 * that moved, one that is set aside, payouts in every state, discrepancies of several ages. Returns the last day.
 */
export async function seedReportedDays(database: Database): Promise<string> {
  for (let no = firstDayNo; no <= lastDayNo; no += 1) {
    if (no === 22) continue; // a day without a batch
    const day = `2026-11-${String(no)}`;
    await seedClosedDay(database, {
      day,
      orders: ordersOf(no),
      setAside: no === lastDayNo ? { 'FROZEN<1>': 'ACCOUNT_FROZEN' } : {},
      chunkSize: 20,
    });
  }
  await database.transact(
    repeatable('prepare a report', async (trx) => {
      const at = (instant: string): string => fromInstant(trx.dialect, instant);
      await trx.insertMany('payout', payoutColumns, payoutRows(at));
      await trx.insertMany('discrepancy', discrepancyColumns, discrepancyRows(at));
      await trx.change('update run set document = ? where batch_day = ?', [document(), reportedDay]);
    }),
  );
  return reportedDay;
}

const longName = `SHOP-${'0123456789'.repeat(5)}-END`;

function ordersOf(no: number): SeedOrder[] {
  const factor = BigInt(7 + ((no * 13) % 9));
  const accounts = Array.from({ length: 14 }, (_, at) => `M${String(at).padStart(5, '0')}`);
  return numbered(`D${String(no)}-`, [
    ...accounts.flatMap((account, at) => [
      seedOrder(account, 'PAYMENT', 12_345n * factor * BigInt(at + 1)),
      seedOrder(account, 'FEE', 123n * factor),
      ...(at % 3 === 0 ? [seedOrder(account, 'REFUND', 4_000n * BigInt(at + 1))] : []),
      ...(at % 4 === 0 ? [seedOrder(account, 'PAYMENT', 9_800n * factor, 'JPY')] : []),
      ...(at % 5 === 0 ? [seedOrder(account, 'PAYMENT', 77_125n * factor, 'KWD')] : []),
    ]),
    seedOrder('M00003', 'ADJUSTMENT', -2_500n),
    seedOrder(longName, 'PAYMENT', 3_141_592_653_589n),
    seedOrder('OWES', 'REFUND', 50_000n, 'EUR'),
    ...(no === lastDayNo
      ? [seedOrder('FROZEN<1>', 'PAYMENT', 7_700n), seedOrder('<b>new</b>', 'PAYMENT', 99_999n)]
      : []),
  ]);
}

const payoutColumns = [
  ...['batch_day', 'account_no', 'currency', 'seq', 'amount_minor', 'channel', 'destination', 'holder', 'due_day'],
  ...['idempotency_key', 'state', 'submitted_on', 'returned_on', 'finished_at', 'next_ms', 'created_at'],
];

function payoutRows(at: (instant: string) => string): (string | number | bigint | null)[][] {
  const states = ['SUCCESS', 'SUCCESS', 'SUCCESS', 'UNKNOWN', 'MANUAL', 'FAILED', 'INIT'];
  const moment = at('2026-11-30T01:00:00.000Z');
  return states.map((state, index) => [
    ...[
      reportedDay,
      `M0000${String(index)}`,
      'USD',
      1,
      100_000n * BigInt(index + 1),
      'bank',
      '{}',
      'Holder',
      reportedDay,
    ],
    ...[`key-${String(index)}`, state, state === 'INIT' ? null : reportedDay, state === 'FAILED' ? reportedDay : null],
    ...[['SUCCESS', 'FAILED'].includes(state) ? moment : null, state === 'UNKNOWN' ? 1n : null, moment],
  ]);
}

const discrepancyColumns = [
  ...['identity', 'scope', 'class', 'severity', 'state', 'channel', 'batch_day', 'item_key', 'currency'],
  ...['expected_minor', 'actual_minor', 'stake_minor', 'effect_minor', 'owner', 'first_seen', 'last_seen'],
];

function discrepancyRows(at: (instant: string) => string): (string | null)[][] {
  const rows: [string, string, string | null, string | null, string, string][] = [
    ['MISSING_THEIRS', 'HIGH', '-198729', null, '2026-11-30T02:00:00.000Z', 'RETRYING'],
    ['AMOUNT', 'HIGH', '198729', '198829', '2026-12-08T02:00:00.000Z', 'MANUAL'],
    ['DUPLICATE', 'MEDIUM', null, '-10434', '2026-12-30T02:00:00.000Z', 'OPEN'],
    ['FEE', 'LOW', '8', '9', '2027-01-02T02:00:00.000Z', 'OPEN'],
  ];
  return rows.map(([kind, severity, expected, actual, seen, state], index) => [
    ...[String(index).repeat(64), 'CHANNEL', kind, severity, state, 'bank', reportedDay],
    ...[`20261129-b0337189752119d6259df8df2b${String(index)}`, 'USD', expected, actual, '100', '0'],
    ...[index === 1 ? 'alice' : null, at(seen), at('2027-01-02T03:00:00.000Z')],
  ]);
}

function document(): string {
  return JSON.stringify({
    checks: ['read-totals', 'batch-totals', 'sub-ledger', 'trial-balance'].map((name) => ({ name, ok: true })),
    stageTimes: [
      { stage: 'FREEZE', durationMs: 140 },
      { stage: 'SETTLING', durationMs: 61_000 },
      { stage: 'POSTING', durationMs: 34_000 },
      { stage: 'RECONCILING', durationMs: 5_400 },
    ],
    slowestShards: [
      { lane: 4, accountNo: longName, orders: 10_000, durationMs: 14_200, medianMs: 1_100 },
      { lane: 2, accountNo: null, orders: 9_000, durationMs: 2_100, medianMs: 1_100 },
      { lane: 1, accountNo: 'SHOP<9>', orders: 8_000, durationMs: 1_900, medianMs: 1_100 },
    ],
    provenance: { version: '0.1.0', configHash: 'c'.repeat(64), timeZone: 'Europe/Paris', cutOff: '00:00' },
  });
}
