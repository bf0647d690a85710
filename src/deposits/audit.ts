import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { fromInstant, toBigInt } from '../db/values.js';
import { afterOthers } from '../db/afterOthers.js';
import { auditSettlement, type AuditEntry } from './auditDecide.js';
import type { SettledTransfer } from './deposit.js';
import { findingsById, recordFindings, type Finding } from './findings.js';
import type { PlannerPorts } from './planner.js';
import { depositOrders, settlementsAfter, settlementsById } from './queries.js';
import type { NodeAnswers, NodeFailure } from './receipt.js';

export interface AuditRequest {
  /** Settlements younger than this are left to a later audit (RFC 3339). */
  readonly until: string;
  /** Only of this chain; null for all. */
  readonly chainName: string | null;
  readonly limit: number;
  /** Confirmations to ask for instead of those of the order or its chain. */
  readonly requiredConfirmations: number | null;
  readonly now: string;
  readonly openDay: string;
}

/**
 * Looks at settled deposits on the chain once more, from where the last audit stopped, and writes what is wrong into the
 * log of findings. Orders, settlements and money are never touched. After the last settlement it begins again.
 */
export async function auditSettlements(
  database: Database,
  ports: PlannerPorts,
  request: AuditRequest,
): Promise<AuditEntry[]> {
  const { until, chainName, limit } = request;
  const settled = await database.read(async (session) => {
    const afterId = await placeOf(session, chainName);
    return settlementsAfter(session, afterId, fromInstant(session.dialect, until), chainName, limit);
  });
  const entries = await auditOf(database, ports, settled, request.requiredConfirmations);
  const chain = (name: string) => ports.chain(name)?.rules ?? null;
  await recordFindings(
    database,
    entries.filter(({ codes }) => codes.length > 0),
    { now: request.now, openDay: request.openDay, chain },
  );
  const last = settled.length < limit ? 0n : (settled[settled.length - 1]?.id ?? 0n);
  await afterOthers(() =>
    database.transact(repeatable('place of the audit', (trx) => keepPlace(trx, chainName, last))),
  );
  return entries;
}

/** Audits the settlement of a finding again. The finding stays as it is; a person marks it. */
export async function recheckFinding(
  database: Database,
  ports: PlannerPorts,
  id: bigint,
): Promise<{ finding: Finding; entry: AuditEntry; stillRisky: boolean }> {
  const { finding, settled } = await database.read(async (session) => {
    const [found] = await findingsById(session, [id]);
    return { finding: found as Finding, settled: await settlementsById(session, [(found as Finding).settlementId]) };
  });
  const [entry] = await auditOf(database, ports, settled, null);
  return { finding, entry: entry as AuditEntry, stillRisky: (entry as AuditEntry).codes.length > 0 };
}

async function auditOf(
  database: Database,
  ports: PlannerPorts,
  settled: readonly SettledTransfer[],
  required: number | null,
): Promise<AuditEntry[]> {
  const orders = await database.read((session) =>
    depositOrders(session, [...new Set(settled.map((one) => one.outTradeNo))]),
  );
  const answers = new Map<string, Map<string, NodeAnswers | NodeFailure>>();
  for (const name of new Set(settled.map(({ chainName }) => chainName))) {
    const hashes = new Set(settled.filter((one) => one.chainName === name).map((one) => one.transactionHash));
    const chain = ports.chain(name);
    if (chain !== null) answers.set(name, await chain.ask([...hashes]));
  }
  return settled.map((one) => {
    const chain = ports.chain(one.chainName)?.rules ?? null;
    const own = required ?? orders.get(one.outTradeNo)?.requiredConfirmations ?? null;
    return auditSettlement(one, chain, own, answers.get(one.chainName)?.get(one.transactionHash) ?? null);
  });
}

async function placeOf(session: Session, chainName: string | null): Promise<bigint> {
  const [row] = await session.rows('select after_id from deposit_audit_place where chain_name = ?', [chainName ?? '']);
  return row === undefined ? 0n : toBigInt(row['after_id']);
}

async function keepPlace(trx: Transaction, chainName: string | null, afterId: bigint): Promise<void> {
  const name = chainName ?? '';
  const kept = await trx.change('update deposit_audit_place set after_id = ? where chain_name = ?', [afterId, name]);
  if (kept === 0) await trx.insertMany('deposit_audit_place', ['chain_name', 'after_id'], [[name, afterId]]);
}
