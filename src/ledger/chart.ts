import type { Database } from '../db/database.js';
import type { Session, Transaction } from '../db/session.js';
import { repeatable } from '../db/transaction.js';
import { toText, toTextOrNull } from '../db/values.js';
import type { ChartLine } from '../kernel/chart.js';
import { SettleError } from '../kernel/errors.js';

/**
 * Makes the table of ledger accounts follow the configured chart: adds what it has, and takes its names. Accounts that it
 * lacks stay, since the journal may name them. Throws CHART_CONTRADICTS_BOOKS when it turns one that is booked to into
 * another kind. Writes nothing when the two agree.
 */
export async function followChart(database: Database, chart: readonly ChartLine[]): Promise<void> {
  if ((await database.read((session) => differing(session, chart))).length === 0) return;
  await database.transact(
    repeatable('follow the chart', async (trx) => {
      for (const { line, known } of await differing(trx, chart)) await follow(trx, line, known);
    }),
  );
}

type Known = Omit<ChartLine, 'code' | 'kind' | 'subLedger'> & { kind: string; subLedger: string | null };

async function differing(
  session: Session,
  chart: readonly ChartLine[],
): Promise<{ line: ChartLine; known: Known | undefined }[]> {
  const rows = await session.rows('select code, name, kind, sub_ledger from ledger_account');
  const table = new Map(
    rows.map((row): [string, Known] => [
      toText(row['code']),
      { name: toText(row['name']), kind: toText(row['kind']), subLedger: toTextOrNull(row['sub_ledger']) },
    ]),
  );
  return chart
    .map((line) => ({ line, known: table.get(line.code) }))
    .filter(
      ({ line, known }) => known?.name !== line.name || known.kind !== line.kind || known.subLedger !== line.subLedger,
    );
}

async function follow(
  trx: Transaction,
  { code, name, kind, subLedger }: ChartLine,
  known: Known | undefined,
): Promise<void> {
  if (known === undefined) {
    await trx.change('insert into ledger_account (code, name, kind, sub_ledger) values (?, ?, ?, ?)', [
      ...[code, name, kind, subLedger],
    ]);
    return;
  }
  const other = known.kind !== kind || known.subLedger !== subLedger;
  const booked = other ? await trx.rows('select 1 from general_balance where ledger_account = ? limit 1', [code]) : [];
  if (booked.length > 0) {
    const was = known.subLedger === null ? known.kind : `${known.kind} by ${known.subLedger}`;
    throw new SettleError(
      'CHART_CONTRADICTS_BOOKS',
      `${code} is in the books as ${was}, and is not turned into another.`,
      {
        details: { setting: `ledger.chart.${code}`, kind: known.kind, subLedger: known.subLedger },
        next: `Give it another code in ledger.chart, or its kind ${was} again.`,
      },
    );
  }
  await trx.change('update ledger_account set name = ?, kind = ?, sub_ledger = ? where code = ?', [
    ...[name, kind, subLedger, code],
  ]);
}
