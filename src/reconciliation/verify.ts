import { throwIfCancelled } from '../kernel/cancellation.js';
import { sourceName } from '../kernel/orderSource.js';
import { formatMinor } from '../kernel/money.js';
import { missingTriggers } from '../db/appendOnly.js';
import type { Database } from '../db/database.js';
import type { Session } from '../db/session.js';
import { toBigInt, toCount, toText } from '../db/values.js';
import { checkControl } from './balanceVerify.js';
import { checkChain } from './chain.js';
import { Checklist, type VerifyCheck } from './checklist.js';
import { checkWindow } from './chunkChecks.js';
import { chunkWindows } from './chunkRows.js';
import { checkDay } from './dayChecks.js';
import { everyDay, requireBatch } from './days.js';
import { checkDeposits } from './depositChecks.js';
import { checkPayouts } from './payoutChecks.js';
import { checkPeriod, readPeriod } from './period.js';
import { checkReversals } from './reversalChecks.js';
import { checkStatements } from './statementChecks.js';
import { checkOpenTerms } from './termsProof.js';
import { listedMax, sidesAgree, subLedgerSides, trialBalance } from './ledgerProof.js';

export interface VerifyOptions {
  /** Only this day's rows; what belongs to no day (the ledger as a whole) is looked at all the same. */
  batchDay?: string | undefined;
  /** Stops between two parts of the work. */
  signal?: AbortSignal;
}

/**
 * Recomputes the invariants of the books from their rows, in one snapshot: what a message says, what the ledger books
 * and what a net counts are each built again from the orders. Memory stays flat: a window of chunks at a time.
 * Errors: NOT_FOUND when `batchDay` has no batch.
 */
export async function verifyBooks(database: Database, options: VerifyOptions = {}): Promise<VerifyCheck[]> {
  return database.snapshot(async (session) => {
    const { batchDay, signal } = options;
    if (batchDay !== undefined) await requireBatch(session, batchDay);
    const days = batchDay === undefined ? await everyDay(session) : [batchDay];
    const checklist = new Checklist(sourceName(session.source));
    const period = await readPeriod(session);
    await checkPeriod(session, checklist, period);
    for (const day of days) {
      await checkDay(session, checklist, period, day);
      for await (const window of chunkWindows(session, day)) {
        if (signal !== undefined) throwIfCancelled(signal);
        checkWindow(checklist, window);
      }
    }
    await checkChain(session, checklist, period, days, signal);
    await checkNetMessages(session, checklist, batchDay);
    await checkStrays(session, checklist);
    await checkReversals(session, checklist);
    await checkPayouts(session, checklist, batchDay);
    await checkDeposits(session, checklist);
    await checkStatements(session, checklist);
    await checkAppendOnly(session, checklist);
    await checkLedger(session, checklist);
    await checkControl(session, checklist);
    await checkOpenTerms(session, checklist);
    return checklist.result();
  });
}

/** Each business number once among the nets and once among the messages. */
async function checkNetMessages(session: Session, checklist: Checklist, batchDay?: string): Promise<void> {
  const [netDay, effectDay, entryDay, messageDay] =
    batchDay === undefined
      ? ['', '', '', '']
      : [
          'where exists (select 1 from chunk c where c.run_id = n.run_id and c.chunk_no = n.chunk_no and c.batch_day = ?)',
          'where t.batch_day = ?',
          'and j.batch_day = ?',
          'and m.batch_day = ?',
        ];
  // What terms do at the end of a day has a message of its own, and so has an entry that no run posts: they are no nets.
  const both = `select n.biz_no, 1 as nets, 0 as messages from net n ${netDay}
     union all select distinct t.biz_no, 1, 0 from terms_effect t ${effectDay}
     union all select j.biz_no, 1, 0 from journal_entry j where j.type not in ('SETTLEMENT', 'TERMS') ${entryDay}
     union all select m.biz_no, 0, 1 from outbox m where m.topic = 'LEDGER' ${messageDay}`;
  const bindings = batchDay === undefined ? [] : [batchDay, batchDay, batchDay, batchDay];
  const [count] = await session.rows(`select count(*) as numbers from (${both}) as pair`, bindings);
  checklist.examine('net-message', toCount(count?.['numbers']));
  const rows = await session.rows(
    `select biz_no, sum(nets) as nets, sum(messages) as messages from (${both}) as pair
      group by biz_no having sum(nets) <> 1 or sum(messages) <> 1
      order by biz_no limit ${String(listedMax)}`,
    bindings,
  );
  for (const row of rows) {
    const [nets, messages] = [toCount(row['nets']), toCount(row['messages'])];
    const problem = `has ${String(nets)} nets and ${String(messages)} messages instead of one each`;
    checklist.contradict('net-message', messages === 0 ? 'net' : 'outbox', toText(row['biz_no']), problem);
  }
}

/** Nets without a chunk and ledger entries without a journal entry belong to no day, so they are looked for everywhere. */
async function checkStrays(session: Session, checklist: Checklist): Promise<void> {
  const nets = await session.rows(
    `select n.run_id, n.chunk_no, n.net_no from net n
       left join chunk c on c.run_id = n.run_id and c.chunk_no = n.chunk_no
      where c.run_id is null order by n.run_id, n.chunk_no, n.net_no limit ${String(listedMax)}`,
  );
  for (const row of nets) {
    const key = [row['run_id'], row['chunk_no'], row['net_no']].map((part) => String(toBigInt(part))).join('/');
    checklist.contradict('chunk', 'net', key, 'is of a chunk that does not exist');
  }
  const [count] = await session.rows('select count(*) as entries from ledger_entry');
  checklist.examine('ledger-entry', toCount(count?.['entries']));
  const entries = await session.rows(
    `select e.journal_entry_id, e.line_no, e.ledger_account, j.id
       from ledger_entry e
       left join journal_entry j on j.id = e.journal_entry_id
       left join ledger_account a on a.code = e.ledger_account
      where j.id is null or a.code is null
      order by e.journal_entry_id, e.line_no limit ${String(listedMax)}`,
  );
  for (const row of entries) {
    const key = `${String(toBigInt(row['journal_entry_id']))}/${String(toBigInt(row['line_no']))}`;
    const problem =
      row['id'] === null
        ? 'is of a journal entry that does not exist'
        : `is on ${toText(row['ledger_account'])}, which the chart of accounts does not have`;
    checklist.contradict('ledger-entry', 'ledger_entry', key, problem);
  }
}

async function checkAppendOnly(session: Session, checklist: Checklist): Promise<void> {
  const missing = await missingTriggers(session);
  checklist.examine('append-only', 1);
  for (const name of missing) {
    const problem = 'is missing as a trigger, or not shown to this user: the rows could be changed';
    checklist.contradict('append-only', name.replace(/_(no|closed)_.*/, ''), name, problem);
  }
}

/** The ledger as a whole: its two sides, and its control account against the nets. */
async function checkLedger(session: Session, checklist: Checklist): Promise<void> {
  const { control, differing } = await subLedgerSides(session);
  checklist.examine('sub-ledger', control.length);
  for (const { currency, expectedMinor, actualMinor } of control.filter((side) => !sidesAgree(side))) {
    const [nets, booked] = [formatMinor(expectedMinor, currency), formatMinor(actualMinor, currency)];
    const problem = `nets add up to ${nets}, MERCHANT_PAYABLE to ${booked}`;
    checklist.contradict('sub-ledger', 'ledger_entry', currency, problem);
  }
  for (const { accountNo, currency, expectedMinor, actualMinor } of differing) {
    const [nets, booked] = [formatMinor(expectedMinor, currency), formatMinor(actualMinor, currency)];
    const problem = `nets add up to ${nets}, its part of MERCHANT_PAYABLE to ${booked}`;
    checklist.contradict('sub-ledger', 'ledger_entry', `${accountNo} ${currency}`, problem);
  }
  const sides = await trialBalance(session);
  checklist.examine('trial-balance', sides.length);
  for (const { currency, expectedMinor, actualMinor } of sides.filter((side) => !sidesAgree(side))) {
    const [debits, credits] = [formatMinor(expectedMinor, currency), formatMinor(actualMinor, currency)];
    checklist.contradict('trial-balance', 'ledger_entry', currency, `debits are ${debits}, credits ${credits}`);
  }
}
