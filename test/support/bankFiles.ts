import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatMinor } from '../../src/kernel/money.js';
import { bankFormats } from '../../src/statements/bank/index.js';
import { StatementRefusal } from '../../src/statements/refusal.js';
import type { StatementEvent, StatementSettings, StatementSource } from '../../src/statements/statement.js';

const plain: StatementSettings = { timeZone: null, currency: null };

export function bankFile(name: string): Buffer {
  return readFileSync(join('fixtures/statements/bank', name));
}

/** Bytes in chunks of a size, as a disk or an archive may hand them out. */
export function sourceOf(bytes: Buffer | string, chunkBytes = 64 * 1024): StatementSource {
  const all = Buffer.from(bytes);
  return {
    name: 'statement',
    async *chunks() {
      for (let at = 0; at < all.length; at += chunkBytes)
        yield await Promise.resolve(all.subarray(at, at + chunkBytes));
    },
  };
}

/** Names of the formats that claim a file. */
export function claimed(bytes: Buffer | string): string[] {
  return bankFormats
    .filter((format) => format.sniff(Buffer.from(bytes).subarray(0, 64 * 1024)))
    .map(({ name }) => name);
}

export async function readBank(
  format: string,
  bytes: Buffer | string,
  { chunkBytes, ...settings }: Partial<StatementSettings> & { chunkBytes?: number } = {},
): Promise<StatementEvent[]> {
  const found = bankFormats.find(({ name }) => name === format);
  if (found === undefined) throw new Error(`no format ${format}`);
  const events: StatementEvent[] = [];
  for await (const event of found.read(sourceOf(bytes, chunkBytes), { ...plain, ...settings })) events.push(event);
  return events;
}

/** "BAD_AMOUNT 12:8 …", or "nothing" for a file that is taken. */
export async function refusalOf(format: string, bytes: Buffer | string): Promise<string> {
  try {
    await readBank(format, bytes);
    return 'nothing';
  } catch (error) {
    if (!(error instanceof StatementRefusal)) throw error;
    return `${error.code} ${String(error.line)}:${String(error.column)} ${error.message}`;
  }
}

/** What a file tells, a line an event, to be read against the file. */
export function told(events: readonly StatementEvent[]): string[] {
  return events.map((event) => {
    switch (event.kind) {
      case 'open': {
        const { accountRef, sequence, fromDay, toDay, intraday } = event.statement;
        const number =
          sequence === null
            ? '-'
            : `${String(sequence.number)}/${String(sequence.page)}${sequence.lastPage ? '' : ' more'}`;
        return `open ${accountRef ?? '-'} no. ${number} of ${fromDay ?? '-'} to ${toDay ?? '-'}${intraday ? ' intraday' : ''}`;
      }
      case 'line': {
        const { line } = event;
        const amount = `${line.direction === 'DEBIT' ? '-' : ''}${formatMinor(line.amountMinor, line.currency)}`;
        const fee = line.feeMinor === null ? '' : ` fee ${formatMinor(line.feeMinor, line.currency)}`;
        const net = line.netMinor === null ? '' : formatMinor(line.netMinor, line.currency);
        return [
          `${String(line.line)} ${line.kind} ${line.channelType} ${line.bookedDay} ${amount} ${line.currency}${fee}`,
          net === amount ? '' : ` net ${net}`,
          ` our ${line.ourReference ?? '-'} bank ${line.channelReference ?? '-'}`,
          line.otherReferences.length === 0 ? '' : ` also ${line.otherReferences.join(', ')}`,
          line.batchReference === null ? '' : ` of batch ${line.batchReference}`,
          line.batchCount === null ? '' : ` for ${String(line.batchCount)}`,
          line.occurredAt === null ? '' : ` at ${line.occurredAt}`,
        ].join('');
      }
      case 'balance': {
        const { kind, currency, minor, day } = event.balance;
        return `${kind} ${formatMinor(minor, currency)} ${currency} ${day ?? '-'}`;
      }
      case 'problem': {
        const { code, line, column, message } = event.problem;
        return `${code} ${String(line)}:${String(column)} ${message}`;
      }
      default:
        return 'close';
    }
  });
}

/** Codes of what a readable file contradicts itself in. */
export async function problemsOf(format: string, bytes: Buffer | string): Promise<string[]> {
  return told(await readBank(format, bytes)).filter((text) => /^[A-Z_]+_DIFFERS|^RECORD_TOO_LONG/.test(text));
}
