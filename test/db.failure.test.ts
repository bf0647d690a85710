import { describe, expect, test } from '@jest/globals';
import { explainFailure, failureKind, isUniqueViolation, statementTooLarge } from '../src/db/failure.js';
import { SettleError } from '../src/kernel/errors.js';

describe("a driver's error", () => {
  const made = ({ message = 'x', ...fields }: { message?: string; code?: string; errno?: number }): Error =>
    Object.assign(new Error(message), fields);
  test.each([
    [{ errno: 1213, code: 'ER_LOCK_DEADLOCK' }, 'retry'],
    [{ errno: 1205, code: 'ER_LOCK_WAIT_TIMEOUT' }, 'retry'],
    [{ errno: 1020, code: 'ER_CHECKREAD' }, 'retry'],
    [{ errno: 1040, code: 'ER_CON_COUNT_ERROR' }, 'retry'],
    [{ errno: 1927, code: 'ER_CONNECTION_KILLED' }, 'lost'],
    [{ errno: 1053, code: 'ER_SERVER_SHUTDOWN' }, 'lost'],
    [{ errno: 1153, code: 'ER_NET_PACKET_TOO_LARGE' }, 'lost'],
    [{ errno: -111, code: 'ECONNREFUSED' }, 'lost'],
    [{ errno: 0, code: 'ECONNRESET' }, 'lost'],
    [{ message: "Can't add new command when connection is in closed state" }, 'lost'],
    [{ message: 'Connection lost: The server closed the connection.' }, 'lost'],
    [{ message: 'Knex: Timeout acquiring a connection. The pool is probably full.' }, 'lost'],
    [{ code: 'PROTOCOL_A_NEW_ONE' }, 'lost'],
    [{ code: statementTooLarge }, 'refused'],
    [{ message: 'Cannot open database because the directory does not exist' }, 'denied'],
    [{ errno: 1062, code: 'ER_DUP_ENTRY' }, 'refused'],
    [{ errno: 1264, code: 'ER_WARN_DATA_OUT_OF_RANGE' }, 'refused'],
    [{ errno: 1406, code: 'ER_DATA_TOO_LONG' }, 'refused'],
    [{ errno: 1690, code: 'ER_DATA_OUT_OF_RANGE' }, 'refused'],
    [{ errno: 4025, code: 'ER_CONSTRAINT_FAILED' }, 'refused'],
    [{ errno: 3819, code: 'ER_CHECK_CONSTRAINT_VIOLATED' }, 'refused'],
    [{ errno: 1114, code: 'ER_RECORD_FILE_FULL' }, 'full'],
    [{ errno: 1045, code: 'ER_ACCESS_DENIED_ERROR' }, 'denied'],
    [{ errno: 3101, code: 'ER_TRANSACTION_ROLLBACK_DURING_COMMIT' }, 'retry'],
    [{ errno: 1047, code: 'ER_UNKNOWN_COM_ERROR', sqlState: '08S01' }, 'lost'],
    [{ errno: 1180, code: 'ER_ERROR_DURING_COMMIT' }, 'lost'],
    [{ errno: 1130, code: 'ER_HOST_NOT_PRIVILEGED' }, 'denied'],
    [{ errno: 1862, code: 'ER_MUST_CHANGE_PASSWORD_LOGIN' }, 'denied'],
    [{ errno: 3118, code: 'ER_ACCOUNT_HAS_BEEN_LOCKED' }, 'denied'],
    [{ errno: 3159, code: 'ER_SECURE_TRANSPORT_REQUIRED' }, 'denied'],
    [{ code: 'HANDSHAKE_SSL_ERROR' }, 'denied'],
    [{ code: 'HANDSHAKE_NO_SSL_SUPPORT' }, 'denied'],
    [{ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, 'denied'],
    [{ errno: 1064, code: 'ER_PARSE_ERROR' }, 'fatal'],
    [{ code: 'SQLITE_BUSY' }, 'retry'],
    [{ code: 'SQLITE_BUSY_SNAPSHOT' }, 'retry'],
    [{ code: 'SQLITE_LOCKED' }, 'retry'],
    [{ code: 'SQLITE_LOCKED_SHAREDCACHE' }, 'retry'],
    [{ code: 'SQLITE_MISMATCH' }, 'refused'],
    [{ code: 'SQLITE_TOOBIG' }, 'refused'],
    [{ code: 'SQLITE_IOERR' }, 'full'],
    [{ code: 'SQLITE_IOERR_WRITE' }, 'full'],
    [{ code: 'SQLITE_READONLY_DBMOVED' }, 'denied'],
    [{ code: 'SQLITE_CANTOPEN_ISDIR' }, 'denied'],
    [{ code: 'SQLITE_PERM' }, 'denied'],
    [{ code: 'SQLITE_ERROR' }, 'fatal'],
    [{ code: 'SQLITE_NOTADB' }, 'fatal'],
    [{ code: 'SQLITE_CONSTRAINT_UNIQUE' }, 'refused'],
    [{ code: 'SQLITE_CONSTRAINT_DATATYPE' }, 'refused'],
    [{ code: 'SQLITE_FULL' }, 'full'],
    [{ code: 'SQLITE_READONLY' }, 'denied'],
    [{ code: 'SQLITE_CANTOPEN' }, 'denied'],
    [{ code: 'SQLITE_CORRUPT' }, 'fatal'],
  ])('%j is sorted as %s', (fields, kind) => {
    expect(failureKind(made(fields))).toBe(kind);
  });

  test.each([
    'PROTOCOL_CONNECTION_LOST',
    'PROTOCOL_SEQUENCE_TIMEOUT',
    'PROTOCOL_PACKETS_OUT_OF_ORDER',
    'ECONNRESET',
    'ECONNREFUSED',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENOTFOUND',
    'EAI_AGAIN',
    'ENOENT',
  ])('%s is a lost connection, whatever the number beside it', (code) => {
    expect(failureKind(made({ code }))).toBe('lost');
    expect(failureKind(made({ code, errno: -2 }))).toBe('lost');
  });

  test('is told apart from what is none: a bug, an error that was explained already, a text', () => {
    expect(failureKind(new TypeError('a bug'))).toBeUndefined();
    expect(failureKind('ECONNRESET')).toBeUndefined();
    expect(failureKind(undefined)).toBeUndefined();
    expect(failureKind(made({ code: 'ERR_INVALID_ARG_TYPE' }))).toBeUndefined();
    expect(failureKind(made({ code: 'MY_SQLITE_BUSY' }))).toBeUndefined();
    expect(failureKind(made({ code: 'NO_PROTOCOL_' }))).toBeUndefined();
    expect(
      failureKind(made({ message: `It ${'Cannot open database because the directory does not exist'}` })),
    ).toBeUndefined();
    expect(failureKind(Object.assign(new Error('x'), { code: 7, errno: '1213' }))).toBeUndefined();
    const explained = new SettleError('DATABASE_UNREACHABLE', 'Connection lost: The server closed the connection.');
    expect(failureKind(explained)).toBeUndefined();
  });

  test.each([
    [
      { errno: 1213 },
      'DATABASE_CONTENTION',
      75,
      'DB stayed busy through every retry: x',
      /same command.*settle status/,
    ],
    [{ code: 'SQLITE_BUSY' }, 'DATABASE_CONTENTION', 75, 'DB stayed busy through every retry: x', /settle status/],
    [{ code: 'ECONNRESET' }, 'DATABASE_UNREACHABLE', 75, 'DB cannot be reached: x', /Start the server or check/],
    [{ errno: 1114 }, 'DISK_FULL', 75, 'DB cannot write: x', /Free space/],
    [{ code: 'SQLITE_FULL' }, 'DISK_FULL', 75, 'DB cannot write: x', /Free space/],
    [{ errno: 1045 }, 'DATABASE_ACCESS_DENIED', 2, 'DB: x', /Check user, password, grants/],
    [{ errno: 3118 }, 'DATABASE_ACCESS_DENIED', 2, 'DB: x', /Check user, password, grants/],
    [{ errno: 3159 }, 'DATABASE_ACCESS_DENIED', 2, 'DB: x', /ssl=verify/],
    [{ code: 'HANDSHAKE_SSL_ERROR' }, 'DATABASE_ACCESS_DENIED', 2, 'DB: x', /ssl=verify/],
    [{ errno: 1049 }, 'DATABASE_UNKNOWN', 2, 'DB: x', /Create the database/],
    [{ code: 'SQLITE_CANTOPEN' }, 'DATABASE_NOT_WRITABLE', 2, 'DB cannot be opened for writing: x', /folder exists/],
    [
      { message: 'Cannot open database because the directory does not exist' },
      'DATABASE_NOT_WRITABLE',
      2,
      'DB cannot be opened for writing: Cannot open database because the directory does not exist',
      /folder exists/,
    ],
    [{ code: 'SQLITE_NOTADB' }, 'DATABASE_NOT_A_DATABASE', 2, 'DB is not a SQLite database.', /another file/],
    [{ errno: 1146 }, 'SCHEMA_PENDING', 5, "DB lacks Settle's tables: x", /^settle migrate up$/],
    [
      { code: 'SQLITE_ERROR', message: 'no such table: account' },
      'SCHEMA_PENDING',
      5,
      "DB lacks Settle's tables: no such table: account",
      /^settle migrate up$/,
    ],
    [{ errno: 1064 }, 'DATABASE_STATEMENT_REFUSED', 1, 'DB refused a statement: x', /^settle status shows/],
    [{ errno: 1062 }, 'DATABASE_STATEMENT_REFUSED', 1, 'DB refused a statement: x', /^settle status shows/],
    [{ code: 'SQLITE_ERROR' }, 'DATABASE_STATEMENT_REFUSED', 1, 'DB refused a statement: x', /^settle status shows/],
    [
      { message: 'no such table: this is no error of a driver' },
      'DATABASE_STATEMENT_REFUSED',
      1,
      'DB refused a statement: no such table: this is no error of a driver',
      /^settle status shows/,
    ],
  ] as [{ message?: string; code?: string; errno?: number }, string, number, string, RegExp][])(
    '%j is told as %s with exit code %i: %s',
    (fields, code, exitCode, message, next) => {
      const error = made(fields);
      const told = explainFailure(error, 'DB');
      expect([told.code, told.exitCode, told.message, told.cause]).toEqual([code, exitCode, message, error]);
      expect(told.details).toEqual({ database: 'DB', driver: fields.code ?? null });
      expect(told.next).toMatch(next);
    },
  );

  test('that was explained before stays as it is, and what is no error at all is told too', () => {
    const explained = new SettleError('DISK_FULL', 'DB cannot write: x');
    expect(explainFailure(explained, 'another')).toBe(explained);
    for (const thrown of ['a text', null, undefined]) {
      expect(explainFailure(thrown, 'DB')).toMatchObject({
        code: 'DATABASE_STATEMENT_REFUSED',
        message: `DB refused a statement: ${String(thrown)}`,
        details: { database: 'DB', driver: null },
      });
    }
  });

  test.each([
    [{ errno: 1062 }, true],
    [{ code: 'SQLITE_CONSTRAINT_UNIQUE' }, true],
    [{ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' }, true],
    [{ code: 'SQLITE_CONSTRAINT_CHECK' }, false],
    [{ errno: 1048 }, false],
  ])('%j says that the key is taken: %p', (fields, taken) => {
    expect(isUniqueViolation(made(fields))).toBe(taken);
    expect(isUniqueViolation(fields)).toBe(false);
  });
});
