import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { freePort } from './server.js';

/** A private RabbitMQ: own data folder, own ports on loopback, own cookie, gone when it is stopped. */
export interface Broker {
  /** Of user guest, on any vhost that is asked for; without a password. */
  url: string;
  port: number;
  /** Connects as guest and opens a channel. */
  open(): Promise<{ model: ChannelModel; channel: Channel }>;
  /** Kills it without a word, as a power cut would. */
  kill(): Promise<void>;
  /** Starts it again on the same data. */
  start(): Promise<void>;
  /** Carries out a command of rabbitmqctl. */
  control(...args: string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Where packages put the scripts that do not change the user; SETTLE_TEST_RABBITMQ=/path/to/sbin names another place. */
const folders = ['/usr/lib/rabbitmq/bin', '/opt/homebrew/opt/rabbitmq/sbin', '/usr/local/opt/rabbitmq/sbin'];

function findScripts(): string | null {
  const chosen = process.env['SETTLE_TEST_RABBITMQ'];
  const searched = chosen === undefined || chosen === '' ? folders : [chosen];
  return searched.find((folder) => existsSync(join(folder, 'rabbitmq-server'))) ?? null;
}

/** Installs the package when this is root on Debian or Ubuntu, saying so; otherwise says what to type. */
function findOrInstallScripts(): string {
  const found = findScripts();
  if (found !== null) return found;
  if (existsSync('/etc/debian_version') && process.getuid?.() === 0) {
    process.stderr.write('No RabbitMQ found; installing Debian package rabbitmq-server for the tests.\n');
    installWithoutService();
    const installed = findScripts();
    if (installed !== null) return installed;
  }
  throw new Error(
    'The tests need RabbitMQ and never skip it. Install it, for example: sudo apt-get install rabbitmq-server   ' +
      '(macOS: brew install rabbitmq), or set SETTLE_TEST_RABBITMQ to the folder of its scripts.',
  );
}

/** The package would start a broker on the usual port, which is nobody's business here. */
function installWithoutService(): void {
  const policy = '/usr/sbin/policy-rc.d';
  const own = !existsSync(policy);
  if (own) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    spawnSync('apt-get', ['update'], { stdio: 'ignore', env });
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'rabbitmq-server'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env,
    });
  } finally {
    if (own) rmSync(policy);
  }
}

export async function startBroker(): Promise<Broker> {
  const scripts = findOrInstallScripts();
  const folder = mkdtempSync(join(tmpdir(), 'settle-mq-'));
  for (const name of ['data', 'log', 'home']) mkdirSync(join(folder, name));
  const [port, distribution, mapper] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(
    join(folder, 'rabbitmq.conf'),
    ['disk_free_limit.absolute = 1MB', 'vm_memory_high_watermark.absolute = 2GB', 'log.console = false'].join('\n'),
  );
  writeFileSync(join(folder, 'plugins'), '[].\n');
  writeFileSync(join(folder, 'env.conf'), '');
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(folder, 'home'),
    RABBITMQ_NODENAME: `settle${String(port)}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'env.conf'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
    ERL_EPMD_PORT: String(mapper),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_CRASH_DUMP_BYTES: '0',
  };
  // The port mapper would be left behind as a daemon if the broker had to start it.
  const epmd = spawn('epmd', ['-port', String(mapper), '-address', '127.0.0.1'], { env, stdio: 'ignore' });
  let child: ChildProcess | null = null;
  const open = async (): Promise<{ model: ChannelModel; channel: Channel }> => {
    const model = await connect({ hostname: '127.0.0.1', port, username: 'guest', password: 'guest' });
    model.on('error', () => undefined);
    const channel = await model.createChannel();
    channel.on('error', () => undefined);
    return { model, channel };
  };
  const start = async (): Promise<void> => {
    const started = spawn(join(scripts, 'rabbitmq-server'), [], { env, stdio: 'ignore', detached: true });
    child = started;
    const end = Date.now() + 60_000;
    for (;;) {
      try {
        const { model } = await open();
        await model.close();
        return;
      } catch (error) {
        if (started.exitCode !== null || Date.now() > end) {
          throw new Error(`RabbitMQ does not start:\n${logOf(folder)}`, { cause: error });
        }
        await sleep(100);
      }
    }
  };
  const kill = (): Promise<void> => endOf(child, 'SIGKILL');
  await start();
  return {
    url: `amqp://guest@127.0.0.1:${String(port)}`,
    port,
    open,
    kill,
    start,
    control: (...args) =>
      new Promise((resolve, reject) => {
        const ctl = spawn(join(scripts, 'rabbitmqctl'), args, { env, stdio: 'ignore' });
        ctl.on('close', (code) => {
          if (code === 0) resolve();
          else reject(new Error(`rabbitmqctl ${args.join(' ')} ended with ${String(code)}`));
        });
      }),
    stop: async () => {
      // Its data goes with it, so that nothing need be put in order first.
      await kill();
      epmd.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ends the script and the machine it started: they are one process group. */
function endOf(child: ChildProcess | null, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) {
      resolve();
      return;
    }
    child.once('exit', () => {
      resolve();
    });
    process.kill(-(child.pid as number), signal);
  });
}

function logOf(folder: string): string {
  return readdirSync(join(folder, 'log'))
    .filter((name) => name.endsWith('.log'))
    .map((name) => readFileSync(join(folder, 'log', name), 'utf8').slice(-3_000))
    .join('\n');
}
