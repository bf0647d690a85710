import { createConnection } from 'mysql2/promise';
import { parseDatabaseUrl } from '../../src/db/url.js';
import { foreignAccounts, type ForeignLatency } from './foreignWriter.js';

// Updates one row by primary key every few milliseconds until standard input ends; then prints its latencies.
const intervalMs = 5;

const target = parseDatabaseUrl(process.env['SETTLE_DATABASE_URL'] ?? '');
if (target.dialect === 'sqlite') throw new Error('A SQLite file has one writer; a foreign one would only wait for it.');
// A bare connection: Settle's own would try again in silence, and the errors are what is asked for.
const connection = await createConnection({
  ...(target.socketPath === null ? { host: target.host, port: target.port } : { socketPath: target.socketPath }),
  user: target.user,
  password: target.password,
  database: target.database,
});
let stopped = false;
process.stdin.on('end', () => (stopped = true)).resume();

const latencies: number[] = [];
let errors = 0;
await update();
process.stdout.write('ready\n');
for (let due = performance.now(); !stopped; due += intervalMs) {
  const ahead = due - performance.now();
  if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
  const start = performance.now();
  try {
    await update();
  } catch {
    errors += 1; // a deadlock or time-out that Settle would have caused; counted and judged by the reader
  }
  // One that had to wait for its predecessor waited since it was due: a stall counts for everyone it held up.
  latencies.push(performance.now() - (ahead > 0 ? start : due));
}
await connection.end();
process.stdout.write(JSON.stringify(summary()));

async function update(): Promise<void> {
  const id = 1 + Math.floor(Math.random() * foreignAccounts);
  await connection.query('update bench_foreign_account set balance = balance + 1 where id = ?', [id]);
}

function summary(): ForeignLatency {
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { updates: sorted.length, errors, p50: at(0.5), p99: at(0.99), max: at(1) };
}
