import { connectionOptions, type ServerTarget } from './connect.js';
import { queryWithin } from './query.js';

/** What a server says of itself, before Settle sets anything on the session. */
export interface ServerValues {
  version: string;
  /** Its settings (GLOBAL), by name in lower case. */
  settings: ReadonlyMap<string, string>;
  /** Its counters and states (GLOBAL STATUS), likewise. */
  status: ReadonlyMap<string, string>;
  /** What the user may do, a GRANT a line, as the server words it. */
  grants: readonly string[];
}

/** Asks a server of any version, one that Settle would refuse too. Reads only. */
export async function serverValues(target: ServerTarget, msMax: number): Promise<ServerValues> {
  const { createConnection } = await import('mysql2');
  const connection = createConnection(connectionOptions(target, msMax));
  connection.on('error', () => undefined); // each query reports it
  const rowsOf = async (sql: string): Promise<Record<string, unknown>[]> =>
    (await queryWithin(connection, { sql }, [], msMax)) as Record<string, unknown>[];
  const pairs = async (sql: string): Promise<Map<string, string>> => {
    const rows = await rowsOf(sql);
    return new Map(rows.map((row) => [String(row['Variable_name']).toLowerCase(), String(row['Value'])]));
  };
  try {
    const [row] = await rowsOf('select version() as version');
    return {
      version: String(row?.['version']),
      settings: await pairs('show global variables'),
      status: await pairs('show global status'),
      grants: (await rowsOf('show grants')).map((row) => String(Object.values(row)[0])),
    };
  } finally {
    connection.destroy();
  }
}
