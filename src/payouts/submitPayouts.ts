import type { Database } from '../db/database.js';
import { repeatable } from '../db/transaction.js';
import type { PayoutChannel } from './channel.js';
import { claimChecks, claimStart, claimSubmissions, loseStale, type Claim, type SubmissionPorts } from './claims.js';
import { claimSize, exchange, type Exchanged, type ExchangePorts } from './exchange.js';
import { FileChannel } from './channels/file.js';
import { keepPaceOf } from './pace.js';
import { finishFiles, submitInFiles } from './paymentFiles.js';

export interface Submitted extends Exchanged {
  held: number;
}

/** Submits what is due over a channel, once each, however many processes do so at the same time. */
export async function submitPayouts(
  database: Database,
  channel: PayoutChannel,
  ports: ExchangePorts & SubmissionPorts,
): Promise<Submitted> {
  await keepPaceOf(database, channel.name);
  if (channel instanceof FileChannel) return submitInFiles(database, channel, ports);
  let cursor = claimStart;
  let held = 0;
  const claim = async (size: number): Promise<Claim | null> => {
    // Repeated after a lost COMMIT it claims others; those of the first time are found lost, and asked about.
    const claimed = await database.transact(
      repeatable('claim submissions', (trx) => claimSubmissions(trx, channel, size, cursor, ports)),
    );
    cursor = claimed.next;
    held += claimed.held;
    return claimed.seen === 0 ? null : claimed;
  };
  return { ...(await exchange(database, channel, 'submit', claim, ports)), held };
}

export interface Checked extends Exchanged {
  /** Payouts whose submitter was not heard of again. */
  lost: number;
}

/** Asks a channel about its payouts whose outcome is not known, those that are due for it. */
export async function checkPayouts(database: Database, channel: PayoutChannel, ports: ExchangePorts): Promise<Checked> {
  await keepPaceOf(database, channel.name);
  if (channel instanceof FileChannel) await finishFiles(database, channel, ports);
  const size = claimSize(channel.rules.perSecond);
  let lost = 0;
  for (let found = size; found === size; lost += found) {
    found = await database.transact(
      repeatable('lose stale submissions', (trx) => loseStale(trx, channel, size, ports)),
    );
  }
  const claim = async (checks: number): Promise<Claim | null> => {
    const claimed = await database.transact(repeatable('claim checks', (trx) => claimChecks(trx, channel, checks)));
    return claimed.payouts.length === 0 ? null : claimed;
  };
  return { ...(await exchange(database, channel, 'query', claim, ports)), lost };
}
