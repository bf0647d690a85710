import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Database } from '../../src/db/database.js';
import { repeatable } from '../../src/db/transaction.js';

export const foreignAccounts = 1_000;

/** How long somebody else's small update took, in milliseconds. */
export interface ForeignLatency {
  updates: number;
  /** All it sent to the server, as the server counts it. */
  statements: number;
  errors: number;
  p50: number;
  p99: number;
  max: number;
}

/** A table that has nothing to do with Settle: another program's accounts on the same server. */
export async function createForeignTable(database: Database): Promise<void> {
  await dropForeignTable(database);
  await database.read((session) =>
    session.change('create table bench_foreign_account (id int not null primary key, balance bigint not null)'),
  );
  const rows = Array.from({ length: foreignAccounts }, (_, index) => [index + 1, 0]);
  await database.transact(
    repeatable('fill bench_foreign_account', (trx) => trx.insertMany('bench_foreign_account', ['id', 'balance'], rows)),
  );
}

export async function dropForeignTable(database: Database): Promise<void> {
  await database.read((session) => session.change('drop table if exists bench_foreign_account'));
}

/** Runs the foreign writer, a process of its own, for as long as `work` takes. */
export async function besideForeignWriter<T>(url: string, work: () => Promise<T>): Promise<[T, ForeignLatency]> {
  const entry = fileURLToPath(new URL('./foreignWriterProcess.js', import.meta.url));
  const child = spawn(process.execPath, [entry], {
    env: { PATH: process.env['PATH'], SETTLE_DATABASE_URL: url },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let answer = '';
  child.stdout.on('data', (text: Buffer) => (answer += text.toString()));
  const closed = once(child, 'close');
  try {
    await Promise.race([once(child.stdout, 'data'), closed]); // "ready"
    const result = await work();
    child.stdin.end();
    await closed;
    return [result, JSON.parse(answer.slice(answer.indexOf('{'))) as ForeignLatency];
  } finally {
    child.kill();
  }
}
