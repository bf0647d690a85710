import { afterOthers } from '../db/afterOthers.js';
import type { Database } from '../db/database.js';
import type { Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { oneOfIds, toBigInt, toText } from '../db/values.js';
import { clearOurs } from '../discrepancies/record.js';
import { ordersById } from '../orders/statedOrders.js';
import { payoutsOf } from '../payouts/queries.js';
import type { MatchPorts } from './channelRules.js';
import { statesAgree, type Ours, type Role } from './decideLine.js';

const pairsAtOnce = 500;

/** Pairs that had differed in state, looked at again: what has moved meanwhile agrees now, and its discrepancy clears. */
export async function recheckPairs(database: Database, ports: MatchPorts): Promise<void> {
  for (const kind of ['PAYOUT', 'ORDER'] as const) {
    let after = 0n;
    for (;;) {
      const page = await afterOthers(() =>
        database.transact(repeatable('compare states again', (trx) => recheckPage(trx, kind, after, ports))),
      );
      if (page === null) break;
      after = page;
    }
  }
}

async function recheckPage(
  trx: Transaction,
  kind: 'PAYOUT' | 'ORDER',
  after: bigint,
  ports: MatchPorts,
): Promise<bigint | null> {
  const rows = await trx.rows(
    `select d.ours_id, m.role from discrepancy d
       join statement_match m on m.file_id = d.file_id and m.seq = d.seq and m.ours = d.ours and m.ours_id = d.ours_id
      where d.state in ('OPEN', 'RETRYING', 'MANUAL') and d.scope = 'LINES' and d.class = 'STATE' and d.ours = ?
        and d.channel = ? and d.ours_id > ? and m.verdict = 'STATE'
      order by d.ours_id limit ${String(pairsAtOnce)}`,
    [kind, ports.channel.name, after],
  );
  const last = rows.at(-1);
  if (last === undefined) return null;
  const ids = [...new Set(rows.map((row) => toBigInt(row['ours_id'])))];
  const ours = new Map((await oursById(trx, kind, ids)).map((one) => [one.id, one]));
  const returned = await returnedOnes(trx, kind, ids);
  const agreed = rows.filter((row) => {
    const [id, role] = [toBigInt(row['ours_id']), toText(row['role']) as Role];
    const one = ours.get(id);
    // Paid and come back: what moved, and the FAILED that it ended in, are both right.
    const cameBack = role === 'MOVED' && returned.has(id) && one?.kind === 'PAYOUT' && one.payout.state === 'FAILED';
    return one !== undefined && (statesAgree(one, role) || cameBack);
  });
  for (const row of agreed) {
    await trx.change(
      `update statement_match set verdict = 'AGREES' where ours = ? and ours_id = ? and role = ? and verdict = 'STATE'`,
      [kind, toBigInt(row['ours_id']), toText(row['role'])],
    );
  }
  const writer = { actor: ports.actor, now: ports.now(), reason: 'the states agree now' };
  await clearOurs(
    trx,
    ['STATE'],
    kind,
    agreed.map((row) => toBigInt(row['ours_id'])),
    writer,
  );
  return toBigInt(last['ours_id']);
}

async function oursById(trx: Transaction, kind: 'PAYOUT' | 'ORDER', ids: readonly bigint[]): Promise<Ours[]> {
  if (kind === 'PAYOUT') return (await payoutsOf(trx, ids)).map((payout) => ({ kind, id: payout.id, payout }));
  return (await ordersById(trx, ids)).map((order) => ({ kind, id: order.id, order }));
}

async function returnedOnes(trx: Transaction, kind: string, ids: readonly bigint[]): Promise<Set<bigint>> {
  const list = oneOfIds(trx.dialect, 'ours_id', ids);
  const rows = await trx.tuples(
    `select ours_id from statement_match where ours = ? and role = 'RETURNED' and ${list.sql}`,
    [kind, ...list.bindings],
  );
  return new Set(rows.map(([id]) => toBigInt(id)));
}
