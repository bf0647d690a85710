import { SettleError } from '../kernel/errors.js';

/**
 * What a driver's error means for the unit of work that met it.
 * - `retry`: the server undid the whole unit, or never began it (deadlock, lock time-out, snapshot conflict, BUSY)
 * - `lost`: the connection is gone; whether the last statement took effect is not known
 * - `refused`: the server refused these values (constraint, range, trigger): another account's values may pass
 * - `full`, `denied`, `fatal`: no use trying again with other values
 */
export type FailureKind = 'retry' | 'lost' | 'refused' | 'full' | 'denied' | 'fatal';

interface DriverError {
  code?: unknown;
  errno?: unknown;
  sqlState?: unknown;
  message?: unknown;
}

const retryErrnos = new Set([
  1020, // record has changed since last read (MariaDB snapshot isolation): the server rolled the whole unit back
  1205, // lock wait timeout: only the statement was undone, so the unit is rolled back before it is tried again
  1213, // deadlock, or a Galera certification failure at COMMIT
  3101, // certification failure of MySQL's group replication at COMMIT
  1637,
  1040,
  1203, // too many concurrent transactions, connections
  1969,
  3024, // statement time limit: MariaDB, MySQL
]);
const lostErrnos = new Set([
  1047, // a Galera node that lost its majority, or is not synced yet, answers everything so
  1053,
  1077,
  1079,
  1080,
  1152,
  1153,
  1158,
  1159,
  1160,
  1161,
  1180, // an error in the middle of COMMIT: a Galera node that loses its majority there
  1184,
  1927,
  4031,
]);
const lostCodes = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT', // a Unix socket that is not there: the server is down
]);
const fullErrnos = new Set([1021, 1026, 1030, 1114, 3]);
// 1820, 1862: password expired; 3118, 3955, 4151: account locked or blocked; 3159: only encrypted connections are let in.
const deniedErrnos = new Set([
  1044, 1045, 1049, 1129, 1130, 1142, 1143, 1227, 1251, 1290, 1370, 1698, 1792, 1820, 1836, 1862, 3118, 3159, 3955,
  4151,
]);
/** Neither the server nor its certificate changes by trying again. */
const encryptionCodes = new Set(['HANDSHAKE_SSL_ERROR', 'HANDSHAKE_NO_SSL_SUPPORT', 'ERR_TLS_CERT_ALTNAME_INVALID']);
const refusedErrnos = new Set([
  1048, 1062, 1216, 1217, 1264, 1265, 1292, 1364, 1365, 1366, 1406, 1451, 1452, 1644, 1690, 3819, 4025,
]);

/** CREATE TRIGGER by a user without SUPER on a server with a binary log. */
const triggersNeedTrust = 1419;

/** Code of our own error for a statement that the server would answer by closing the connection. */
export const statementTooLarge = 'STATEMENT_TOO_LARGE';

/** The one error that better-sqlite3 raises before SQLite could give it a code. */
const folderMissing = /^Cannot open database because the directory does not exist/;

/** Sorts an error of mysql2 or better-sqlite3; undefined for an error that is not the database's. */
export function failureKind(error: unknown): FailureKind | undefined {
  // What is explained already is decided; its message quotes the driver and must not be sorted a second time.
  if (!(error instanceof Error) || error instanceof SettleError) return undefined;
  const { code, errno } = error as DriverError;
  if (typeof code === 'string' && code.startsWith('SQLITE_')) return sqliteKind(code);
  if (typeof errno === 'number' && errno > 0) {
    if (retryErrnos.has(errno)) return 'retry';
    if (lostErrnos.has(errno)) return 'lost';
    if (fullErrnos.has(errno)) return 'full';
    if (deniedErrnos.has(errno)) return 'denied';
    if (refusedErrnos.has(errno)) return 'refused';
    return 'fatal';
  }
  if (code === statementTooLarge) return 'refused';
  if (isAboutEncryption(error)) return 'denied';
  if (folderMissing.test(error.message)) return 'denied';
  if (typeof code === 'string' && lostCodes.has(code)) return 'lost';
  if (/connection is in closed state|Connection lost|timeout acquiring a connection/i.test(error.message))
    return 'lost';
  return typeof code === 'string' && code.startsWith('PROTOCOL_') ? 'lost' : undefined;
}

function isAboutEncryption({ code, errno }: DriverError): boolean {
  return errno === 3159 || (typeof code === 'string' && encryptionCodes.has(code));
}

function sqliteKind(code: string): FailureKind {
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'retry';
  if (code.startsWith('SQLITE_CONSTRAINT') || code === 'SQLITE_MISMATCH' || code === 'SQLITE_TOOBIG') return 'refused';
  if (code === 'SQLITE_FULL') return 'full';
  if (code.startsWith('SQLITE_IOERR')) return 'full';
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN') || code === 'SQLITE_PERM') {
    return 'denied';
  }
  return 'fatal';
}

/** True when a row with this key is there already: committed by somebody else after we looked. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errno } = error as DriverError;
  return code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || errno === 1062;
}

/** The same trouble in words for the person who typed the command. `label` names the database without its password. */
export function explainFailure(error: unknown, label: string): SettleError {
  if (error instanceof SettleError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  const { code, errno } = (error ?? {}) as DriverError;
  const details = { database: label, driver: typeof code === 'string' ? code : null };
  const advise = (next: string) => ({ cause: error, details, next });
  switch (failureKind(error)) {
    case 'retry':
      return new SettleError(
        'DATABASE_CONTENTION',
        `${label} stayed busy through every retry: ${detail}`,
        advise('Nothing is half-done. Type the same command again; settle status shows who is working.'),
      );
    case 'lost':
      return new SettleError(
        'DATABASE_UNREACHABLE',
        `${label} cannot be reached: ${detail}`,
        advise('What was committed stands. Start the server or check the address, then type the same command again.'),
      );
    case 'full':
      return new SettleError(
        'DISK_FULL',
        `${label} cannot write: ${detail}`,
        advise('What was committed stands. Free space on its disk, then type the same command again.'),
      );
    case 'denied':
      if (errno === 1049) {
        return new SettleError(
          'DATABASE_UNKNOWN',
          `${label}: ${detail}`,
          advise('Create the database, or mend its name in SETTLE_DATABASE_URL.'),
        );
      }
      if ((typeof code === 'string' && code.startsWith('SQLITE_')) || folderMissing.test(detail)) {
        return new SettleError(
          'DATABASE_NOT_WRITABLE',
          `${label} cannot be opened for writing: ${detail}`,
          advise('Check that the folder exists and may be written, or name another file in SETTLE_DATABASE_URL.'),
        );
      }
      return new SettleError(
        'DATABASE_ACCESS_DENIED',
        `${label}: ${detail}`,
        advise(
          isAboutEncryption({ code, errno })
            ? 'Set ?ssl=on or ?ssl=verify in SETTLE_DATABASE_URL as the server wants it. verify needs the host name that is in the certificate, and knows private authorities from the file in NODE_EXTRA_CA_CERTS.'
            : 'Check user, password, grants and the name of the database; the user needs SELECT, INSERT, UPDATE, DELETE, and for migrations CREATE, ALTER, INDEX, DROP, TRIGGER. Some are let in encrypted only: ?ssl=on.',
        ),
      );
    default:
      if (code === 'SQLITE_NOTADB') {
        return new SettleError(
          'DATABASE_NOT_A_DATABASE',
          `${label} is not a SQLite database.`,
          advise('Name another file in SETTLE_DATABASE_URL; this one was left as it is.'),
        );
      }
      if (errno === 1146 || (typeof code === 'string' && /no such table/.test(detail))) {
        return new SettleError(
          'SCHEMA_PENDING',
          `${label} lacks Settle's tables: ${detail}`,
          advise('settle migrate up'),
        );
      }
      if (errno === triggersNeedTrust) {
        return new SettleError(
          'DATABASE_TRIGGERS_DENIED',
          `${label} keeps a binary log and lets only an administrator create triggers, which keep the ledger append-only.`,
          advise(
            'As an administrator: set global log_bin_trust_function_creators = 1   (or run settle migrate up as that administrator), then settle migrate up again. Triggers that are there stay without it.',
          ),
        );
      }
      return new SettleError('DATABASE_STATEMENT_REFUSED', `${label} refused a statement: ${detail}`, {
        cause: error,
        details,
      });
  }
}
