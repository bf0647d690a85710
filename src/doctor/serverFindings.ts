import type { ServerValues } from '../db/serverValues.js';
import { fail, ok, warn, type Finding } from '../kernel/finding.js';

const mebibyte = 1_048_576;

/** What a server's own settings mean for money. Pure: the values in, the findings out. */
export function serverFindings(values: ServerValues, poolSize: number): Finding[] {
  return [
    durability(values),
    ...doublewrite(values),
    ...redoLog(values),
    binaryLog(values),
    packet(values),
    connections(values, poolSize),
    ...cluster(values),
    ...distributed(values),
  ];
}

function durability({ settings }: ServerValues): Finding {
  const name = 'durability';
  const flush = settings.get('innodb_flush_log_at_trx_commit') ?? 'not told';
  const found = `innodb_flush_log_at_trx_commit = ${flush}`;
  if (flush === '1') return ok(name, `${found}: what is committed is on disk`);
  const fix = 'set global innodb_flush_log_at_trx_commit = 1, and the same in the server’s configuration file';
  const loss = 'a power cut may take back what was committed';
  if (settings.get('wsrep_on') === 'ON') return warn(name, `${found}: ${loss} when it strikes every node`, fix);
  return flush === 'not told'
    ? warn(name, `${found}: the engine keeps its own promise`, fix)
    : fail(name, `${found}: ${loss}`, fix);
}

function doublewrite({ settings }: ServerValues): Finding[] {
  const value = settings.get('innodb_doublewrite');
  if (value === undefined) return [];
  const found = `innodb_doublewrite = ${value}`;
  if (!/^(off|0|detect_only)$/i.test(value))
    return [ok('doublewrite', `${found}: a page that is half written is mended`)];
  return [
    warn(
      'doublewrite',
      `${found}: a power cut may leave a page half written, and the table unreadable, unless the file system writes pages whole`,
      'innodb_doublewrite = ON in the server’s configuration file, and a restart',
    ),
  ];
}

/** Measured: with so much, a day of 1,000,000 orders fills the log, and other writers wait hundreds of ms for it. */
const redoBytesTight = 512 * mebibyte;
const redoBytesAdvised = 2_048 * mebibyte;

function redoLog({ version, settings }: ServerValues): Finding[] {
  const [variable, bytes] = redoCapacity(settings);
  if (!(bytes > 0)) return [];
  const name = 'redo-log';
  const found = `${variable} = ${String(Math.round(bytes / mebibyte))} MiB`;
  if (bytes > redoBytesTight) return [ok(name, found)];
  const [, major = '0', minor = '0'] = /^([0-9]+)\.([0-9]+)/.exec(version) ?? [];
  const isMariadb = /mariadb/i.test(version);
  const whileItRuns = isMariadb
    ? Number(major) > 10 || (Number(major) === 10 && Number(minor) >= 9)
    : variable === 'innodb_redo_log_capacity';
  return [
    warn(
      name,
      `${found}: a day of 1,000,000 orders fills it, and whoever else writes then waits for hundreds of ms`,
      whileItRuns
        ? `set global ${variable} = ${String(redoBytesAdvised)}, and the same in the server’s configuration file`
        : 'innodb_log_file_size = 2G in the server’s configuration file, and a restart',
    ),
  ];
}

/** The setting that holds it, and bytes in all: MySQL from 8.0.30 on has one setting, before it so many files of a size. */
function redoCapacity(settings: ReadonlyMap<string, string>): [string, number] {
  const capacity = settings.get('innodb_redo_log_capacity');
  if (capacity !== undefined) return ['innodb_redo_log_capacity', Number(capacity)];
  const files = Number(settings.get('innodb_log_files_in_group') ?? '1');
  return ['innodb_log_file_size', Number(settings.get('innodb_log_file_size') ?? 'NaN') * files];
}

function binaryLog({ settings }: ServerValues): Finding {
  const name = 'binary-log';
  if (settings.get('log_bin') !== 'ON') return ok(name, 'no binary log');
  const sync = settings.get('sync_binlog') ?? 'not told';
  if (sync === '1') return ok(name, 'sync_binlog = 1: replicas and backups have what is committed');
  return warn(
    name,
    `sync_binlog = ${sync}: after a power cut replicas and point-in-time backups may lack what was committed`,
    'set global sync_binlog = 1, and the same in the server’s configuration file',
  );
}

function packet({ settings }: ServerValues): Finding {
  const bytes = Number(settings.get('max_allowed_packet'));
  const found = `max_allowed_packet = ${String(Math.round((bytes / mebibyte) * 10) / 10)} MiB`;
  if (bytes >= 4 * mebibyte) return ok('max-packet', found);
  return warn(
    'max-packet',
    `${found}: lists of orders are sent in more and smaller statements, and a long text may be refused`,
    `set global max_allowed_packet = ${String(16 * mebibyte)}`,
  );
}

function connections({ settings, status }: ServerValues, poolSize: number): Finding {
  const name = 'connections';
  const most = Number(settings.get('max_connections'));
  const used = Number(status.get('threads_connected') ?? '0');
  const found = `a run opens up to ${String(poolSize)} of max_connections = ${String(most)}; ${String(used)} are in use`;
  const fix = `set global max_connections = ${String(Math.max(151, used + 2 * poolSize))}, or run with fewer --lanes`;
  if (poolSize > most) return fail(name, found, fix);
  return used + poolSize > most ? warn(name, found, fix) : ok(name, found);
}

function cluster({ settings, status }: ServerValues): Finding[] {
  if (settings.get('wsrep_on') !== 'ON') return [];
  const part = status.get('wsrep_cluster_status') ?? 'unknown';
  const state = status.get('wsrep_local_state_comment') ?? 'unknown';
  const nodes = Number(status.get('wsrep_cluster_size') ?? '0');
  const found = `node is ${state}, in a ${part} part of ${String(nodes)} nodes`;
  const member =
    part !== 'Primary' || status.get('wsrep_ready') !== 'ON'
      ? fail(
          'galera-member',
          found,
          'Use a node of the majority; restart what is down, or see pc.bootstrap in Galera’s manual.',
        )
      : nodes < 3
        ? warn('galera-member', found, 'Run three nodes: of two, neither knows which one is cut off.')
        : ok('galera-member', found);
  return [
    member,
    ok(
      'galera-writer',
      'one run writes through the one node of its URL; a proxy in front must not spread a run over nodes, or retries grow',
    ),
  ];
}

/** Engines that speak MySQL’s protocol and keep its promises only when told to. See docs/engines.md. */
function distributed({ version, settings }: ServerValues): Finding[] {
  if (/tidb/i.test(version)) {
    const mode = settings.get('tidb_txn_mode') ?? 'not told';
    const found = `tidb_txn_mode = ${mode === '' ? 'optimistic' : mode}`;
    return [
      mode === 'pessimistic'
        ? ok('tidb-transactions', found)
        : fail(
            'tidb-transactions',
            `${found}: updates would be refused at COMMIT only`,
            `set global tidb_txn_mode = 'pessimistic'`,
          ),
    ];
  }
  if (!/vitess/i.test(version)) return [];
  return [
    warn(
      'vitess-sharding',
      'the server is Vitess: a unit of Settle must stay on one shard',
      'Put all of Settle’s tables into one unsharded keyspace; see docs/engines.md.',
    ),
  ];
}
