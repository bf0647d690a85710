import { connectionOptions, type ServerTarget } from './connect.js';
import { queryWithin } from './query.js';

/** What a server says of itself, before Settle sets anything on the session. */
export interface ServerValues {
  version: string;
  /** Its settings (GLOBAL), by name in lower case. */
  settings: ReadonlyMap<string, string>;
  /** Its counters and states (GLOBAL STATUS), likewise. */
  status: ReadonlyMap<string, string>;
}

/** Asks a server of any version, one that Settle would refuse too. Reads only. */
export async function serverValues(target: ServerTarget, msMax: number): Promise<ServerValues> {
  const { createConnection } = await import('mysql2');
  const connection = createConnection(connectionOptions(target, msMax));
  connection.on('error', () => undefined); // each query reports it
  const pairs = async (sql: string): Promise<Map<string, string>> => {
    const rows = (await queryWithin(connection, { sql }, [], msMax)) as Record<string, unknown>[];
    return new Map(rows.map((row) => [String(row['Variable_name']).toLowerCase(), String(row['Value'])]));
  };
  try {
    const [row] = (await queryWithin(connection, { sql: 'select version() as version' }, [], msMax)) as {
      version: string;
    }[];
    return {
      version: String(row?.version),
      settings: await pairs('show global variables'),
      status: await pairs('show global status'),
    };
  } finally {
    connection.destroy();
  }
}
