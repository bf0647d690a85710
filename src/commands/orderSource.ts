import { momentIn, sourceDays } from '../batch/sourceDays.js';
import { environmentTree, explicitFile, lookUp, placeInFile } from '../config.js';
import type { SourceSettings } from '../configSource.js';
import type { Database } from '../db/database.js';
import type { OrderSource, SourceColumns, SourceValue } from '../kernel/orderSource.js';
import type { OrderState, OrderType } from '../kernel/states.js';
import { useSource } from '../orders/useSource.js';
import type { CommandContext } from './context.js';

/** Makes the table that the settings name the table of orders, or throws SOURCE_INVALID with the line of what does not fit. */
export async function useConfiguredSource(context: CommandContext, database: Database): Promise<void> {
  const source = configuredSource(context.config);
  if (source !== null) await useSource(database, source, placeOf(context.configFile));
}

/** The mapping of the settings, before anything is known of the table; null when orders are in our own. */
export function configuredSource({
  source,
  calendar,
  accounts,
}: Pick<CommandContext['config'], 'source' | 'calendar' | 'accounts'>): OrderSource | null {
  if (source === undefined) return null;
  const { columns, where } = source;
  const { instant, type, currency, channel, finishedAt } = columns;
  return {
    own: false,
    schema: source.schema ?? null,
    table: source.table,
    columns: columnsOf(columns),
    always: {
      type: 'always' in type ? type.always : null,
      currency: 'always' in currency ? currency.always : null,
      channel: 'always' in channel ? channel.always : null,
    },
    states: allOf<OrderState>(['INIT', 'PROCESSING', 'SUCCESS', 'FAILED', 'CANCELED'], columns.state.values),
    types: allOf<OrderType>(['PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT'], 'values' in type ? type.values : {}),
    amount: { unit: columns.amount.unit === 'major' ? 'MAJOR' : 'MINOR', signed: columns.amount.sign === 'effect' },
    instants: instant === undefined ? null : sourceDays(calendar, instant),
    moment: finishedAt === undefined ? null : momentIn(finishedAt),
    where: where.map(({ column, is, isNot }) => ({ column, values: is ?? isNot ?? [], not: is === undefined })),
    exact: new Set(),
    registersAccounts: accounts.autoRegister,
  };
}

function columnsOf(columns: SourceSettings['columns']): SourceColumns {
  const { id, orderNo, accountNo, batchDay, instant, type, amount, currency, channel, state } = columns;
  const { version, reversalOf, finishedAt, cancelCode, runId, chunkNo } = columns;
  return {
    id,
    orderNo,
    accountNo,
    day: instant?.column ?? batchDay ?? '',
    type: 'column' in type ? type.column : null,
    amount: amount.column,
    currency: 'column' in currency ? currency.column : null,
    channel: 'column' in channel ? channel.column : null,
    state: state.column,
    version: version ?? null,
    reversalOf: reversalOf ?? null,
    finishedAt: finishedAt?.column ?? null,
    cancelCode: cancelCode ?? null,
    runId: runId ?? null,
    chunkNo: chunkNo ?? null,
  };
}

function allOf<Word extends string>(
  words: readonly Word[],
  given: Partial<Record<Word, readonly SourceValue[] | undefined>>,
): Record<Word, readonly SourceValue[]> {
  return Object.fromEntries(words.map((word) => [word, given[word] ?? []])) as unknown as Record<
    Word,
    readonly SourceValue[]
  >;
}

/** Where a setting comes from, for messages: "settle.yaml, line 12". */
export function placeOf(file: string | undefined, environment = process.env): (setting: readonly string[]) => string {
  return (setting) => {
    if (lookUp(environmentTree(environment), setting) !== undefined) return 'environment';
    return placeInFile(explicitFile({ file, environment }) ?? 'settle.yaml', setting);
  };
}
