import type { Database } from '../db/database.js';
import { audited, requireDecision, type Decision } from '../db/operatorAction.js';
import type { Row, Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import {
  fromInstant,
  placeholders,
  toBigInt,
  toCount,
  toInstant,
  toInstantOrNull,
  toText,
  toTextOrNull,
} from '../db/values.js';
import { afterOthers } from '../db/afterOthers.js';
import { SettleError } from '../kernel/errors.js';
import { toJson } from '../kernel/json.js';
import { depositFindingMoves, move, type DepositFindingState } from '../kernel/states.js';
import { appendAlerts } from '../outbox/append.js';
import type { AuditEntry, Suggestion } from './auditDecide.js';
import { explorerLink, type ChainRules } from './deposit.js';
import type { ReasonCode } from './reasons.js';
import { log } from './reviewQueries.js';

/** A risk that an audit wrote down. */
export interface Finding {
  readonly id: bigint;
  readonly settlementId: bigint;
  readonly outTradeNo: string;
  readonly code: ReasonCode;
  readonly codes: readonly string[];
  readonly risk: string;
  readonly chainReorgSuspected: boolean;
  readonly suggestion: Suggestion;
  readonly state: DepositFindingState;
  readonly seen: number;
  readonly foundAt: string;
  readonly lastSeenAt: string;
  readonly decidedAt: string | null;
  readonly decidedBy: string | null;
}

const columns = `f.id, f.transaction_id, f.out_trade_no, f.code, f.codes, f.risk, f.reorg_suspected, f.suggestion, f.state,
  f.seen, f.found_at, f.last_seen_at, f.decided_at, f.decided_by`;

function toFinding(row: Row): Finding {
  return {
    id: toBigInt(row['id']),
    settlementId: toBigInt(row['transaction_id']),
    outTradeNo: toText(row['out_trade_no']),
    code: toText(row['code']) as ReasonCode,
    codes: toText(row['codes']).split(','),
    risk: toText(row['risk']),
    chainReorgSuspected: toCount(row['reorg_suspected']) === 1,
    suggestion: toText(row['suggestion']) as Suggestion,
    state: toText(row['state']) as DepositFindingState,
    seen: toCount(row['seen']),
    foundAt: toInstant(row['found_at']),
    lastSeenAt: toInstant(row['last_seen_at']),
    decidedAt: toInstantOrNull(row['decided_at']),
    decidedBy: toTextOrNull(row['decided_by']),
  };
}

/** Open findings, the riskiest first, those with a suspected reorg before others of their risk. */
export async function openFindings(session: Session, limit: number): Promise<Finding[]> {
  const rows = await session.rows(
    `select ${columns} from deposit_finding f where f.state = 'open'
      order by case f.risk when 'high' then 0 when 'medium' then 1 else 2 end, f.reorg_suspected desc, f.id
      limit ${String(limit)}`,
  );
  return rows.map(toFinding);
}

/** Findings by id, in the order of ids. Throws NOT_FOUND that names those which are not there. */
export async function findingsById(session: Session, ids: readonly bigint[]): Promise<Finding[]> {
  const rows = await session.rows(
    `select ${columns} from deposit_finding f where f.id in (${placeholders(ids)}) order by f.id`,
    ids,
  );
  const found = rows.map(toFinding);
  const missing = ids.filter((id) => !found.some((finding) => finding.id === id));
  if (missing.length === 0) return found;
  throw new SettleError('NOT_FOUND', `There is no finding ${missing.join(', ')}.`, {
    details: { findings: missing.map(String) },
    next: 'settle deposit compensation candidates',
  });
}

/** Writes down what an audit found: one open finding for a settlement and its code, however often it is seen; an alert once. */
export async function recordFindings(
  database: Database,
  entries: readonly AuditEntry[],
  ports: { now: string; openDay: string; chain(name: string): ChainRules | null },
): Promise<void> {
  if (entries.length === 0) return;
  const unit = repeatable('record findings', async (trx) => {
    for (const entry of entries) await recordFinding(trx, entry, ports);
  });
  await afterOthers(() => database.transact(unit));
}

async function recordFinding(
  trx: Transaction,
  entry: AuditEntry,
  { now, openDay, chain }: { now: string; openDay: string; chain(name: string): ChainRules | null },
): Promise<void> {
  const { settled, codes, risk, chainReorgSuspected, suggestion, now: moved, confirmations } = entry;
  const [code] = codes;
  if (code === undefined) return;
  const at = fromInstant(trx.dialect, now);
  const told = [codes.join(','), risk, chainReorgSuspected ? 1 : 0, suggestion, toJson({ now: moved, confirmations })];
  const seen = await trx.change(
    `update deposit_finding set codes = ?, risk = ?, reorg_suspected = ?, suggestion = ?, detail = ?, seen = seen + 1,
       last_seen_at = ?
      where transaction_id = ? and code = ? and is_open = 1`,
    [...told, at, settled.id, code],
  );
  if (seen > 0) return;
  const id = await trx.insert(
    `insert into deposit_finding (codes, risk, reorg_suspected, suggestion, detail, transaction_id, out_trade_no, code,
       is_open, found_at, last_seen_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`,
    [...told, settled.id, settled.outTradeNo, code, at, at],
  );
  const { outTradeNo, chainName, transactionHash } = settled;
  await log(trx, { outTradeNo, findingId: id, actor: 'settle deposit audit', action: 'audit', to: 'open', code }, now);
  const content = { code, risk, outTradeNo, chainName, transactionHash };
  const explorer = explorerLink(chain(chainName), transactionHash);
  const suggestedAction = `settle deposit compensation plan ${String(id)}`;
  const alert = { bizNo: `DF${String(id)}`, batchDay: openDay, accountNo: '' };
  await appendAlerts(trx, [{ ...alert, content: { ...content, explorer, suggestedAction } }], now);
}

/** Closes findings by a person's word, all of them or none. It touches the log of findings and nothing else: no money moves. */
export async function markFindings(
  database: Database,
  ids: readonly bigint[],
  event: 'resolve' | 'ignore',
  person: Decision,
): Promise<{ marked: Finding[]; already: Finding[] }> {
  requireDecision(person);
  const unit = audited('DEPOSIT_MARK', person, async (trx) => {
    const findings = await findingsById(trx, ids);
    const open = findings.filter(({ state }) => state === 'open');
    const to = move(depositFindingMoves, 'open', event);
    for (const { id, outTradeNo, code } of open) {
      const moved = await trx.change(
        `update deposit_finding set state = ?, is_open = null, version = version + 1, decided_at = ?, decided_by = ?
          where id = ? and state = 'open'`,
        [to, fromInstant(trx.dialect, person.at), person.by, id],
      );
      if (moved !== 1) continue;
      const line = { outTradeNo, findingId: id, actor: person.by, action: event, from: 'open', to, code };
      await log(trx, { ...line, reason: person.reason }, person.at);
    }
    const result = { marked: open, already: findings.filter(({ state }) => state !== 'open') };
    return { subject: open.length === 0 ? null : `findings ${open.map(({ id }) => id).join(', ')}`, result };
  });
  return database.transact(unit);
}
