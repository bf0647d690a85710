import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../src/db/database.js';
import { migrateUp } from '../../src/db/schema.js';
import { repeatable } from '../../src/db/transaction.js';
import { day, moneyDump } from '../support/day.js';
import { settle, type Ended } from '../support/program.js';
import { cancelOrder, givenCrashDay, givenParkedDay, tuning } from './days.js';
import {
  chunkFaults,
  contradictions,
  furtherRunChanges,
  halfImported,
  halfSchema,
  importedRows,
  leftovers,
  schemaDump,
} from './oracle.js';
import type { Seed } from './places.js';

/** A command that is killed at each of its statements, and what must hold afterwards. */
export interface Scenario {
  name: ScenarioName;
  seed: Seed;
  args: readonly string[];
  /** Further starts, one of whose ends every experiment must come to; null for the seed as it is. */
  variants: readonly ((database: Database) => Promise<void>)[];
  /** Between the kill and the restart: whatever is half-done, or contradicts itself. */
  half(database: Database): Promise<string[]>;
  /** Starts the command again, as an operator would. */
  again(url: string): Promise<Ended>;
  /** By business key; equal to that of an undisturbed run. */
  picture(database: Database): Promise<string[]>;
  /** What else must not be there in the end. */
  faults(database: Database): Promise<string[]>;
  remove(): void;
}

export const scenarioNames = ['run', 'parked', 'import', 'migrate'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export function scenarioOf(name: ScenarioName): Scenario {
  if (name === 'run') return runScenario();
  if (name === 'parked') return parkedScenario();
  return name === 'import' ? importScenario() : migrateScenario();
}

const runArgs = ['run', '--batch-day', day, ...tuning, '--json', '--progress', 'none'];
const nothing = (): void => undefined;

function runScenario(): Scenario {
  return {
    name: 'run',
    seed: givenCrashDay,
    args: runArgs,
    // Killed between the cancellation and the listing, the run that goes on never knew the order.
    variants: [
      async (database) => {
        await database.transact(repeatable('cancel', (trx) => trx.change(cancelOrder('W1'))));
      },
    ],
    half: async (database) => [...(await chunkFaults(database)), ...(await contradictions(database, 'UNFINISHED'))],
    again: (url) => settle(runArgs, { url }),
    picture: moneyDump,
    faults: async (database) => [
      ...(await chunkFaults(database)),
      ...(await contradictions(database, 'OK')),
      ...(await leftovers(database)),
      ...(await furtherRunChanges(database, 'no row')),
    ],
    remove: nothing,
  };
}

/** The day stays open, so that each run of it is one more; what must not change is the money. */
function parkedScenario(): Scenario {
  return {
    ...runScenario(),
    name: 'parked',
    seed: givenParkedDay,
    variants: [],
    faults: async (database) => [
      ...(await chunkFaults(database)),
      ...(await contradictions(database, 'UNFINISHED')),
      ...(await leftovers(database)),
      ...(await furtherRunChanges(database, 'no money')),
    ],
  };
}

const header = 'order_no,account_no,batch_day,type,amount,currency,channel,occurred_at';
const line = (orderNo: string, accountNo: string, amount: string): string =>
  `${orderNo},${accountNo},${day},PAYMENT,${amount},USD,CARD,2026-11-29T10:00:00Z`;
const files = [
  [line('I1', 'A', '1.00'), line('I2', 'B', '2.00'), line('I3', 'A', '3.00'), line('I1', 'A', '1.00')],
  // A repeat of the first file, and a conflict with it: one row is refused, so the command ends as PARTIAL.
  [line('J1', 'C', '4.00'), line('I2', 'B', '2.00'), line('I3', 'A', '9.99'), line('J2', 'B', '5.00')],
];

function importScenario(): Scenario {
  const folder = mkdtempSync(join(tmpdir(), 'settle-crash-import-'));
  const paths = files.map((lines, at) => {
    const path = join(folder, `orders-${String(at + 1)}.csv`);
    writeFileSync(path, `${[header, ...lines].join('\n')}\n`);
    return path;
  });
  const args = ['import', 'orders', ...paths, '--json', '--progress', 'none'];
  return {
    name: 'import',
    seed: async (database) => {
      await migrateUp(database);
    },
    args,
    variants: [],
    half: (database) =>
      halfImported(database, [
        ['I1', 'I2', 'I3'],
        ['J1', 'J2'],
      ]),
    again: (url) => settle(args, { url }),
    picture: importedRows,
    faults: () => Promise.resolve([]),
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function migrateScenario(): Scenario {
  const args = ['migrate', 'up', '--json'];
  return {
    name: 'migrate',
    seed: null,
    args,
    variants: [],
    half: halfSchema,
    again: async (url) => {
      const ended = await settle(args, { url });
      // A killed migration leaves its lock behind; the message says what to type.
      if (ended.code !== 5 || !ended.stderr.includes('settle migrate up --unlock')) return ended;
      return settle([...args, '--unlock'], { url });
    },
    picture: schemaDump,
    faults: async (database) => {
      const applied = await migrateUp(database);
      return applied.length === 0 ? [] : [`migrate up applied ${applied.join(', ')} once more`];
    },
    remove: nothing,
  };
}
