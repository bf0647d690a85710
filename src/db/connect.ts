import { hostname } from 'node:os';
import type { DatabaseTarget } from './url.js';

export type ServerTarget = Extract<DatabaseTarget, { dialect: 'mysql' }>;

/** How every connection to a server is made, before its session is set. */
export function connectionOptions(target: ServerTarget, connectMsMax: number) {
  return {
    ...(target.socketPath === null ? { host: target.host, port: target.port } : { socketPath: target.socketPath }),
    user: target.user,
    password: target.password,
    database: target.database,
    ...(target.ssl === 'off'
      ? {}
      : { ssl: { rejectUnauthorized: target.ssl === 'verify', verifyIdentity: target.ssl === 'verify' } }),
    charset: 'utf8mb4',
    // Digits and days: a BIGINT is text (never a double), a DATE is text (never a moment in somebody's zone).
    supportBigNumbers: true,
    bigNumberStrings: true,
    dateStrings: true,
    // UPDATE reports the rows its WHERE matched, on every connection, whatever the server's default.
    flags: ['+FOUND_ROWS'],
    multipleStatements: false,
    connectTimeout: Math.min(5_000, connectMsMax),
    enableKeepAlive: true,
    connectAttributes: { program_name: `settle@${hostname()}` },
  };
}
