import type { BatchDay } from '../../kernel/batchDay.js';
import type { StatementEvent, StatementSettings, StatementSource } from '../statement.js';
import { Bai2Account } from './bai2Account.js';
import { bai2RecordsOf, fieldsOf, type Bai2Record } from './bai2Records.js';
import { scaleOfKnown } from './amounts.js';
import { dayOfSixDigits } from './days.js';
import { problem, refusal, shown } from './place.js';

/**
 * Reads BAI2: file (01, 99), groups (02, 98), accounts (03, 49) and their transactions (16). An account is a statement.
 * Throws TRUNCATED where an end is missing; totals and counts that differ are problems of the file.
 */
export async function* readBai2(source: StatementSource, settings: StatementSettings): AsyncIterable<StatementEvent> {
  const reader = new Bai2Reader(settings.currency ?? 'USD');
  for await (const record of bai2RecordsOf(source)) yield* reader.record(record);
  reader.end();
}

/** What a level counts for its control record: amounts, the records below it, and the levels right below it. */
interface Level {
  total: bigint;
  records: bigint;
  members: bigint;
}

class Bai2Reader {
  private file: Level | null = null;
  private group: (Level & { day: BatchDay; currency: string; intraday: boolean }) | null = null;
  private account: Bai2Account | null = null;
  private files = 0;

  constructor(private readonly currency: string) {}

  record(record: Bai2Record): StatementEvent[] {
    if (this.file !== null) this.file.records += BigInt(record.bodies.length);
    if (this.group !== null) this.group.records += BigInt(record.bodies.length);
    switch (record.code) {
      case '01':
        this.beginFile(record);
        return [];
      case '02':
        this.beginGroup(record);
        return [];
      case '03':
        return this.beginAccount(record);
      case '16':
        return this.required(this.account, '03', record).transaction(record);
      case '49':
        return this.endAccount(record);
      case '98':
        return this.endGroup(record);
      default:
        return this.endFile(record);
    }
  }

  end(): void {
    if (this.files === 0) throw refusal('NOT_A_STATEMENT', 'The file has no file header (01).', null);
    if (this.file !== null) throw refusal('TRUNCATED', 'The file trailer (99) is missing.', null);
  }

  private beginFile(record: Bai2Record): void {
    if (this.file !== null)
      throw refusal('TRUNCATED', 'A file begins within another: its trailer (99) is missing.', record.place);
    const version = fieldsOf(record)[7]?.trim();
    if (version !== '2') {
      throw refusal(
        'NOT_A_STATEMENT',
        `The file header (01) names version ${shown(version ?? '')}, and must name 2.`,
        record.place,
      );
    }
    this.files += 1;
    this.file = { total: 0n, records: BigInt(record.bodies.length), members: 0n };
  }

  private beginGroup(record: Bai2Record): void {
    this.required(this.file, '01', record);
    if (this.group !== null)
      throw refusal('TRUNCATED', 'A group begins within another: its trailer (98) is missing.', record.place);
    const [, , state = '', day = '', , currency = '', modifier = ''] = fieldsOf(record).map((field) => field.trim());
    if (state !== '1' && state !== '3') {
      const text = `The group (02) has status ${shown(state)}: only updates (1) and corrections (3) can be booked.`;
      throw refusal('UNKNOWN_TYPE', text, record.place);
    }
    this.group = {
      total: 0n,
      records: BigInt(record.bodies.length),
      members: 0n,
      day: dayOfSixDigits(day, 'The day of the group (02)', record.place),
      currency: currency === '' ? this.currency : currency,
      intraday: modifier === '1' || modifier === '3',
    };
  }

  private beginAccount(record: Bai2Record): StatementEvent[] {
    const group = this.required(this.group, '02', record);
    if (this.account !== null) {
      throw refusal('TRUNCATED', 'An account begins within another: its trailer (49) is missing.', record.place);
    }
    this.account = new Bai2Account(record, group);
    scaleOfKnown(this.account.currency, 'The account (03)', record.place);
    return this.account.open();
  }

  private endAccount(record: Bai2Record): StatementEvent[] {
    const [account, group] = [this.required(this.account, '03', record), this.required(this.group, '02', record)];
    const { total, records } = account;
    group.total += total;
    group.members += 1n;
    this.account = null;
    return [...controls(record, 'account', total, [['records', records + 1n]]), ...account.close(record.place)];
  }

  private endGroup(record: Bai2Record): StatementEvent[] {
    const [group, file] = [this.required(this.group, '02', record), this.required(this.file, '01', record)];
    if (this.account !== null) throw refusal('TRUNCATED', 'The trailer (49) of an account is missing.', record.place);
    file.total += group.total;
    file.members += 1n;
    this.group = null;
    return controls(record, 'group', group.total, [
      ['accounts', group.members],
      ['records', group.records],
    ]);
  }

  private endFile(record: Bai2Record): StatementEvent[] {
    const file = this.required(this.file, '01', record);
    if (this.group !== null) throw refusal('TRUNCATED', 'The trailer (98) of a group is missing.', record.place);
    this.file = null;
    return controls(record, 'file', file.total, [
      ['groups', file.members],
      ['records', file.records],
    ]);
  }

  private required<Level>(level: Level | null, code: string, record: Bai2Record): Level {
    if (level === null)
      throw refusal('BAD_RECORD', `Record ${record.code} stands where no ${code} is open.`, record.place);
    return level;
  }
}

/** A control record against what was counted. Some banks leave a count out: what is there must be one of the counts then. */
function controls(
  record: Bai2Record,
  level: string,
  total: bigint,
  counts: readonly (readonly [string, bigint])[],
): StatementEvent[] {
  const [stated = '', ...fields] = fieldsOf(record).map((field) => field.trim());
  if (!/^[+-]?\d{1,30}$/.test(stated)) {
    throw refusal('BAD_AMOUNT', `The control total of record ${record.code} is ${shown(stated)}.`, record.place);
  }
  const found: StatementEvent[] = [];
  if (BigInt(stated.replace(/^\+/, '')) !== total) {
    const text = `The ${level} trailer (${record.code}) says a control total of ${stated}; the amounts make ${String(total)}.`;
    found.push(problem('TOTAL_DIFFERS', text, record.place));
  }
  const given = fields.filter((field) => field !== '');
  for (const field of given) {
    if (!/^\d{1,18}$/.test(field))
      throw refusal('BAD_RECORD', `A count of record ${record.code} is ${shown(field)}.`, record.place);
  }
  if (given.length > counts.length)
    throw refusal('BAD_FIELD_COUNT', `Record ${record.code} has too many fields.`, record.place);
  if (given.length === 0) throw refusal('TRUNCATED', `Record ${record.code} counts nothing.`, record.place);
  const differs = (field: string, [, count]: readonly [string, bigint]): boolean => BigInt(field) !== count;
  given.forEach((field, index) => {
    const count = counts[index];
    const wrong =
      given.length < counts.length
        ? counts.every((one) => differs(field, one))
        : count !== undefined && differs(field, count);
    if (!wrong) return;
    const counted = counts.map(([name, number]) => `${String(number)} ${name}`).join(', ');
    found.push(
      problem(
        'COUNT_DIFFERS',
        `The ${level} trailer (${record.code}) counts ${field}; there are ${counted}.`,
        record.place,
      ),
    );
  });
  return found;
}
