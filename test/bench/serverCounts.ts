import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { bareConnection } from './bareConnection.js';
import type { Place } from './place.js';

/** What the server counted by itself: a client that says it batches proves nothing. */
export interface ServerCounts {
  /** Everything that clients sent to be carried out. */
  statements: number;
  /** COMMIT as a statement; a change outside a transaction is none. */
  commits: number;
  /** Victims of a deadlock, whoever they were; null where the server does not tell. */
  deadlocks: number | null;
}

/** Counts while `work` is done. Null where there is no server, or where others use it too. */
export async function countedByServer<T>(place: Place, work: () => Promise<T>): Promise<[T, ServerCounts | null]> {
  if (place.target.dialect === 'sqlite' || !place.alone) return [await work(), null];
  const connection = await createConnection(bareConnection(place.target));
  const read = async (): Promise<ServerCounts> => {
    const [rows] = await connection.query<RowDataPacket[]>(
      `show global status where variable_name in ('Questions', 'Com_commit', 'Innodb_deadlocks')`,
    );
    const values = new Map(rows.map((row) => [String(row['Variable_name']).toLowerCase(), Number(row['Value'])]));
    const statements = values.get('questions');
    const commits = values.get('com_commit');
    if (statements === undefined || commits === undefined) throw new Error('The server does not count statements.');
    return { statements, commits, deadlocks: values.get('innodb_deadlocks') ?? null };
  };
  try {
    const before = await read();
    const result = await work();
    const after = await read();
    const deadlocks = after.deadlocks === null || before.deadlocks === null ? null : after.deadlocks - before.deadlocks;
    // The second look counts itself; the first was counted before it looked.
    const statements = after.statements - before.statements - 1;
    return [result, { statements, commits: after.commits - before.commits, deadlocks }];
  } finally {
    await connection.end();
  }
}
