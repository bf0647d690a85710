import type { ConnectionOptions } from 'mysql2/promise';
import type { DatabaseTarget } from '../../src/db/url.js';

/** For a connection of mysql2 alone: Settle's own has settings of its own, and would try again in silence. */
export function bareConnection(target: Extract<DatabaseTarget, { dialect: 'mysql' }>): ConnectionOptions {
  return {
    ...(target.socketPath === null ? { host: target.host, port: target.port } : { socketPath: target.socketPath }),
    user: target.user,
    password: target.password,
    database: target.database,
  };
}
