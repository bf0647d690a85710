import { createPool } from 'mysql2/promise';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { bareConnection } from './bareConnection.js';
import { foreignAccounts, type ForeignLatency } from './foreignWriter.js';

// Updates one row by primary key every few milliseconds until standard input ends; then prints its latencies.
const intervalMs = 5;
const connections = 8;

const target = parseDatabaseUrl(process.env['SETTLE_DATABASE_URL'] ?? '');
if (target.dialect === 'sqlite') throw new Error('A SQLite file has one writer; a foreign one would only wait for it.');
const pool = createPool({ ...bareConnection(target), connectionLimit: connections });
const stop = new AbortController();
process.stdin
  .on('end', () => {
    stop.abort();
  })
  .resume();

const latencies: number[] = [];
let errors = 0;
let statements = 0;
await Promise.all(Array.from({ length: connections }, () => update())); // connects
process.stdout.write('ready\n');

const pending = new Set<Promise<void>>();
for (let due = performance.now(); !stop.signal.aborted; due += intervalMs) {
  const aheadMs = due - performance.now();
  if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  const measured = measure();
  pending.add(measured);
  void measured.finally(() => pending.delete(measured));
}
await Promise.all(pending);
await pool.end();
statements += connections; // a farewell counts as one
process.stdout.write(JSON.stringify(summary()));

/** The next update does not wait for this one, so a stall shows in everyone it held up and not in one alone. */
async function measure(): Promise<void> {
  const start = performance.now();
  try {
    await update();
  } catch {
    errors += 1; // a deadlock or a lock time-out; counted, for the reader to judge
  }
  latencies.push(performance.now() - start);
}

async function update(): Promise<void> {
  const id = 1 + Math.floor(Math.random() * foreignAccounts);
  statements += 1;
  await pool.query('update bench_foreign_account set balance = balance + 1 where id = ?', [id]);
}

function summary(): ForeignLatency {
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { updates: sorted.length, statements, errors, p50: at(0.5), p99: at(0.99), max: at(1) };
}
