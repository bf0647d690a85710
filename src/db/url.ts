import { SettleError } from '../kernel/errors.js';

/** Where the database is, read from a URL. The password stays inside; print `label`, never the URL. */
export type DatabaseTarget =
  | { dialect: 'sqlite'; path: string; label: string; isDefault: boolean }
  | {
      dialect: 'mysql';
      host: string;
      port: number;
      user: string;
      password: string;
      database: string;
      socketPath: string | null;
      ssl: 'off' | 'on' | 'verify';
      label: string;
    };

export const defaultDatabaseUrl = 'sqlite:settle.db';

const shape = 'sqlite:PATH or mysql://USER:PASSWORD@HOST:PORT/DATABASE (?socket=PATH, ?ssl=off|on|verify)';

/** Parses `sqlite:PATH` and `mysql://…` (MariaDB too). Errors never repeat the text: it may hold a password. */
export function parseDatabaseUrl(url: string): DatabaseTarget {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/|[^/])/, '');
    if (path === '' || path === ':memory:') {
      throw invalid('A sqlite URL names a file; a batch that lives in memory could not be resumed.');
    }
    return { dialect: 'sqlite', path, label: `sqlite:${path}`, isDefault: url === defaultDatabaseUrl };
  }
  if (/^(mysql|mariadb):\/\//.test(url)) return parseMysqlUrl(url);
  throw invalid('The database URL starts with neither sqlite: nor mysql://.');
}

function parseMysqlUrl(url: string): DatabaseTarget {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw invalid('The database URL cannot be read as a URL; special characters in the password must be %-encoded.');
  }
  // What stands behind an unescaped "#", "/" or "?" in a password would be taken for the address, and shown.
  if (parsed.hash !== '' || url.lastIndexOf('@') > url.indexOf(parsed.pathname, url.indexOf('@'))) {
    throw invalid('Special characters in the password must be %-encoded (@ is %40, / is %2F, # is %23).');
  }
  const database = decode(parsed.pathname.replace(/^\//, ''));
  if (database === '' || database.includes('/')) throw invalid('The database URL names no database.');
  if (parsed.username === '') throw invalid('The database URL names no user.');
  for (const key of parsed.searchParams.keys()) {
    if (key !== 'socket' && key !== 'ssl') {
      throw invalid('The database URL has a parameter that is neither socket nor ssl.');
    }
  }
  const ssl = parsed.searchParams.get('ssl') ?? 'off';
  if (ssl !== 'off' && ssl !== 'on' && ssl !== 'verify') throw invalid('ssl= is one of off, on, verify.');
  const socketPath = parsed.searchParams.get('socket');
  const host = parsed.hostname === '' ? 'localhost' : parsed.hostname.replace(/^\[|\]$/g, '');
  const port = parsed.port === '' ? 3306 : Number(parsed.port);
  return {
    dialect: 'mysql',
    host,
    port,
    user: decode(parsed.username),
    password: decode(parsed.password),
    database,
    socketPath,
    ssl,
    label: `mysql://${decode(parsed.username)}@${socketPath ?? `${host}:${String(port)}`}/${database}`,
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('The database URL has a % that starts no escape.');
  }
}

function invalid(message: string): SettleError {
  return new SettleError('DATABASE_URL_INVALID', message, { next: `Set SETTLE_DATABASE_URL to ${shape}.` });
}
