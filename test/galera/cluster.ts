import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { findOrInstallGalera } from '../engines/galeraPackages.js';
import { freePort } from '../support/server.js';

/** A server of the cluster: own data, own ports on loopback. */
export interface Node {
  /** URL without a database name, ending in "/". */
  readonly url: string;
  /** Kills it without a word, as a power cut would. */
  kill(): Promise<void>;
  /** Starts it on the data it has; resolves when it is a synced member of the cluster again. */
  start(): Promise<void>;
  /** Runs statements as the server's administrator; the rows of the last. */
  sql(...statements: string[]): Promise<RowDataPacket[]>;
  /** The values of its `wsrep_…` status. */
  status(name: string): Promise<string>;
}

export interface Cluster {
  readonly nodes: readonly [Node, Node, Node];
  /** Resolves when these nodes have applied all that any of them has committed. */
  agreed(nodes?: readonly Node[]): Promise<void>;
  stop(): Promise<void>;
}

interface Ports {
  sql: number;
  group: number;
  ist: number;
  sst: number;
}

const startsWithinMs = 120_000;

/** Three nodes of one cluster. The rsync state transfer refuses root, so root starts them as the user "mysql". */
export async function startCluster(): Promise<Cluster> {
  const provider = findOrInstallGalera();
  const folder = mkdtempSync(join(tmpdir(), 'settle-galera-'));
  const user = unprivileged();
  own(folder, user);
  const ports: Ports[] = [];
  for (let at = 0; at < 3; at += 1) {
    ports.push({ sql: await freePort(), group: await freePort(), ist: await freePort(), sst: await freePort() });
  }
  const members = ports.map(({ group }) => `127.0.0.1:${String(group)}`).join(',');
  const name = `settle_${String(process.pid)}_${String(ports[0]?.group)}`;
  const nodes = ports.map((own, at) => new ServerProcess(folder, at, own, { provider, members, name }, user));
  await (nodes[0] as ServerProcess).begin(['--wsrep-new-cluster']);
  for (const node of nodes.slice(1)) await node.start();
  const three = nodes as [ServerProcess, ServerProcess, ServerProcess];
  return {
    nodes: three,
    agreed: async (some = three) => {
      // The node waits until it has applied whatever the cluster had committed when it was asked.
      for (const node of some) await node.sql('set session wsrep_sync_wait = 15', 'select 1');
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface User {
  uid?: number;
  gid?: number;
}

function unprivileged(): User {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(spawnSync('id', [flag, 'mysql'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

function own(path: string, { uid, gid }: User): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

class ServerProcess implements Node {
  readonly url: string;
  private child: ChildProcess | undefined;
  private readonly data: string;
  private readonly log: string;

  constructor(
    folder: string,
    at: number,
    private readonly ports: Ports,
    private readonly group: { provider: string; members: string; name: string },
    private readonly user: User,
  ) {
    this.url = `mysql://root@127.0.0.1:${String(ports.sql)}/`;
    const home = join(folder, `node${String(at + 1)}`);
    this.data = join(home, 'data');
    this.log = join(home, 'log');
    for (const path of [home, join(home, 'tmp')]) {
      mkdirSync(path);
      own(path, user);
    }
    const made = spawnSync(
      'mariadb-install-db',
      ['--no-defaults', `--datadir=${this.data}`, '--auth-root-authentication-method=normal', '--skip-test-db'],
      { encoding: 'utf8', ...user, cwd: home },
    );
    if (made.status !== 0) throw new Error(`The data folder of a node cannot be made: ${made.stderr}${made.stdout}`);
  }

  async begin(more: readonly string[]): Promise<void> {
    const { sql, group, ist, sst } = this.ports;
    const home = join(this.data, '..');
    const address = `127.0.0.1:${String(group)}`;
    this.child = spawn(
      'mariadbd',
      [
        '--no-defaults',
        `--datadir=${this.data}`,
        `--tmpdir=${join(home, 'tmp')}`,
        `--socket=${join(home, 's.sock')}`,
        `--port=${String(sql)}`,
        '--bind-address=127.0.0.1',
        `--pid-file=${join(home, 'pid')}`,
        `--log-error=${this.log}`,
        '--innodb-buffer-pool-size=128M',
        '--innodb-flush-log-at-trx-commit=2',
        '--binlog-format=ROW',
        '--innodb-autoinc-lock-mode=2',
        '--wsrep-on=ON',
        `--wsrep-provider=${this.group.provider}`,
        `--wsrep-cluster-name=${this.group.name}`,
        `--wsrep-cluster-address=gcomm://${this.group.members}`,
        `--wsrep-node-address=${address}`,
        '--wsrep-sst-method=rsync',
        `--wsrep-sst-receive-address=127.0.0.1:${String(sst)}`,
        `--wsrep-provider-options=base_port=${String(group)};gmcast.listen_addr=tcp://${address};` +
          `ist.recv_addr=127.0.0.1:${String(ist)};gcache.size=32M`,
        ...more,
      ],
      { stdio: 'ignore', cwd: home, ...this.user },
    );
    await this.synced();
  }

  start(): Promise<void> {
    return this.begin([]);
  }

  kill(): Promise<void> {
    const child = this.child;
    return new Promise((resolve) => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
        resolve();
        return;
      }
      child.once('exit', () => {
        resolve();
      });
      child.kill('SIGKILL');
    });
  }

  async sql(...statements: string[]): Promise<RowDataPacket[]> {
    const connection = await createConnection({ host: '127.0.0.1', port: this.ports.sql, user: 'root' });
    try {
      let rows: RowDataPacket[] = [];
      for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement);
      return rows;
    } finally {
      connection.destroy();
    }
  }

  async status(name: string): Promise<string> {
    const [row] = await this.sql(`show global status like 'wsrep_${name}'`);
    return String(row?.['Value']);
  }

  private async synced(): Promise<void> {
    const end = Date.now() + startsWithinMs;
    for (;;) {
      if (this.child?.exitCode !== null) throw new Error(`A node ended at once:\n${this.lastWords()}`);
      const state = await this.status('local_state_comment').catch(() => 'no answer');
      if (state === 'Synced') return;
      if (Date.now() > end) throw new Error(`A node does not get synced (${state}):\n${this.lastWords()}`);
      await sleep(100);
    }
  }

  private lastWords(): string {
    return readFileSync(this.log, 'utf8').slice(-4_000);
  }
}
