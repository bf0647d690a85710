import type { FileKind } from './files.js';
import type { Expected } from './reference.js';

// What a file of known rows must do to a database of known rows, and what must be told of it.

export interface Stored {
  orders: string[][];
  accounts: string[][];
}

/** One file of the document of `settle import --json`. */
export interface FileTold {
  accepted: number;
  repeated: number;
  rejected: { line: number; code: string; message: string }[];
  rejectedCount?: number;
  refused: { code: string; message: string } | null;
}

interface Import {
  kind: FileKind;
  before: Stored;
  after: Stored;
  /** In the order in which they were named; null for what is no file, of which nothing is known. */
  files: (Expected | null)[];
  told: FileTold[] | null;
  code: number | null;
  asJson: boolean;
}

interface FileModel {
  accepted: number;
  repeated: number;
  rejected: { line: number; code: string }[];
}

export function compareWithModel(done: Import): string[] {
  const { files, told, code, kind } = done;
  // A file that cannot be opened ends the command before anything is stored.
  if (told === null && (code === 2 || files.includes(null)) && done.asJson) return difference(done.before, done.after);
  if (files.includes(null) || files.some((file) => (file?.rows ?? []).some((row) => row.code === 'UNKNOWN'))) return [];
  const model = new Model(done.before);
  const faults: string[] = [];
  let wanted = 0;
  for (const [at, file] of (files as Expected[]).entries()) {
    const answer = told?.[at];
    if (file.refusals.length > 0) {
      wanted = 2;
      if (answer === undefined) continue;
      const refused = answer.refused?.code ?? 'not at all';
      if (!file.refusals.includes(refused)) faults.push(`refused ${refused}, must be ${file.refusals.join(' or ')}`);
      continue;
    }
    const expected = model.take(kind, file);
    if (expected.rejected.length > 0 && wanted === 0) wanted = 3;
    if (answer !== undefined) faults.push(...differenceTold(expected, answer));
  }
  if (code !== wanted) faults.push(`exit code ${String(code)}, must be ${String(wanted)}`);
  return [...faults, ...difference(model.stored(), done.after)];
}

class Model {
  private readonly orders: Map<string, string[]>;
  private readonly accounts: Map<string, string>;

  constructor(before: Stored) {
    this.orders = new Map(before.orders.map((row) => [row[0] ?? '', row]));
    this.accounts = new Map(before.accounts.map(([account = '', state = '']) => [account, state]));
  }

  take(kind: FileKind, file: Expected): FileModel {
    const done: FileModel = { accepted: 0, repeated: 0, rejected: [] };
    for (const { line, code, stored } of file.rows) {
      const told = code === 'OK' ? (kind === 'orders' ? this.order(stored) : this.account(stored)) : code;
      if (told === 'accepted' || told === 'repeated') done[told] += 1;
      else done.rejected.push({ line, code: told });
    }
    return done;
  }

  private order(row: string[]): string {
    const [orderNo = '', accountNo = ''] = row;
    const known = this.orders.get(orderNo);
    if (known !== undefined) return isRepeat(known, row) ? 'repeated' : 'DUPLICATE_CONFLICT';
    const fault = this.reversal(row);
    if (fault !== null) return fault;
    this.orders.set(orderNo, row);
    if (!this.accounts.has(accountNo)) this.accounts.set(accountNo, 'ACTIVE');
    return 'accepted';
  }

  private readonly reversed = new Map<string, bigint>();

  /** Why a reversal is not taken; one that is, is stored with its sign turned unless it is the refund of a payment. */
  private reversal(row: string[]): string | null {
    const named = row[8] ?? 'null';
    if (named === 'null') return null;
    const original = this.orders.get(named);
    if (original === undefined || original[8] !== 'null') return 'REVERSAL_UNKNOWN';
    const [minor, whole] = [BigInt(row[4] ?? ''), BigInt(original[4] ?? '')];
    const isRefund = row[3] === 'REFUND' && original[3] === 'PAYMENT';
    const isAlike = [1, 5, 6].every((at) => row[at] === original[at]) && minor < 0n === whole < 0n;
    if (!isAlike || (row[3] !== original[3] && !isRefund)) return 'REVERSAL_DIFFERS';
    if ((original[2] ?? '') > (row[2] ?? '')) return 'REVERSAL_NOT_SETTLED';
    const size = (amount: bigint): bigint => (amount < 0n ? -amount : amount);
    const done = (this.reversed.get(named) ?? 0n) + size(minor);
    if (done > size(whole)) return 'REVERSAL_TOO_LARGE';
    this.reversed.set(named, done);
    if (!isRefund) row[4] = (-minor).toString();
    return null;
  }

  private account([accountNo = '', state = '']: string[]): string {
    if (this.accounts.get(accountNo) === state) return 'repeated';
    this.accounts.set(accountNo, state);
    return 'accepted';
  }

  stored(): Stored {
    return { orders: [...this.orders.values()], accounts: [...this.accounts] };
  }
}

/** A reversal of its own type is stored with its sign turned. */
function isRepeat(known: readonly string[], row: readonly string[]): boolean {
  const size = (order: readonly string[]): string => (order[4] ?? '').replace('-', '');
  const amounts = row[8] === 'null' ? known[4] === row[4] : size(known) === size(row);
  return amounts && known.every((value, at) => at === 4 || value === row[at]);
}

function differenceTold(expected: FileModel, told: FileTold): string[] {
  if (told.refused !== null) return [`refused with ${told.refused.code}: ${told.refused.message}; must be read`];
  const faults: string[] = [];
  if (told.accepted !== expected.accepted) {
    faults.push(`accepted ${String(told.accepted)}, must be ${String(expected.accepted)}`);
  }
  if (told.repeated !== expected.repeated) {
    faults.push(`repeated ${String(told.repeated)}, must be ${String(expected.repeated)}`);
  }
  const lines = (rows: readonly { line: number; code: string }[]): string =>
    rows.map(({ line, code }) => `${String(line)} ${code}`).join(', ');
  const [is, mustBe] = [lines(told.rejected), lines(expected.rejected.slice(0, told.rejected.length))];
  const count = told.rejectedCount ?? told.rejected.length;
  if (is !== mustBe || count !== expected.rejected.length) {
    faults.push(`rejected ${is.slice(0, 300)}, must be ${lines(expected.rejected).slice(0, 300)}`);
  }
  return faults;
}

function difference(wanted: Stored, found: Stored): string[] {
  return (['orders', 'accounts'] as const).flatMap((table) => {
    const rows = (stored: Stored): string[] => stored[table].map((row) => row.join('|')).sort();
    const [is, mustBe] = [rows(found), rows(wanted)];
    const [isThere, isWanted] = [new Set(is), new Set(mustBe)];
    const tooMany = is.filter((row) => !isWanted.has(row));
    const missing = mustBe.filter((row) => !isThere.has(row));
    if (is.length === mustBe.length && tooMany.length + missing.length === 0) return [];
    return [`${table} stored: ${tooMany.slice(0, 3).join('; ')}; not stored: ${missing.slice(0, 3).join('; ')}`];
  });
}
