import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createServer as createHttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { configFindings, writtenPlaces } from '../src/commands/doctorConfig.js';
import { networkProbes } from '../src/commands/doctorNetwork.js';
import { loadConfig, type Config } from '../src/config.js';
import { diskFinding, diskFindings } from '../src/doctor/disk.js';
import type { Finding } from '../src/kernel/finding.js';
import { grantsFinding, triggersFinding } from '../src/doctor/grants.js';
import { runProbes } from '../src/doctor/probe.js';
import { serverFindings } from '../src/doctor/serverFindings.js';
import type { ServerValues } from '../src/db/serverValues.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-findings-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const now = new Date('2026-11-30T10:00:00Z');
let files = 0;
/** Settings as settle.yaml would hold them, with the file they are in. */
function given(tree: object, environment: Record<string, string> = {}): { config: Config; file: string } {
  const file = join(folder, `settle-${String((files += 1))}.yaml`);
  writeFileSync(file, stringify(tree), { mode: 0o600 });
  return { config: loadConfig({ file, environment }), file };
}

const statuses = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(findings.map(({ name, status }) => [name, status]));

function server(version: string, settings: Record<string, string>, grants: string[] = []): ServerValues {
  const usual = { innodb_flush_log_at_trx_commit: '1', max_allowed_packet: '16777216', max_connections: '151' };
  return { version, settings: new Map(Object.entries({ ...usual, ...settings })), status: new Map(), grants };
}

describe('the grants of a user', () => {
  const runs = 'GRANT SELECT, INSERT, UPDATE, DELETE';
  const migrates = `${runs}, CREATE, DROP, REFERENCES, INDEX, ALTER, TRIGGER`;
  const usage = "GRANT USAGE ON *.* TO `settle`@`%` IDENTIFIED BY PASSWORD '*XYZ'";

  test.each<[string, string[], number, Finding['status']]>([
    ['all on everything', ['GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION'], 3, 'ok'],
    ['all on the database', [usage, 'GRANT ALL PRIVILEGES ON `settle`.* TO `settle`@`%`'], 3, 'ok'],
    ['what the README says', [usage, `${migrates} ON \`settle\`.* TO \`settle\`@\`%\``], 3, 'ok'],
    ['only runs, and nothing is to be migrated', [usage, `${runs} ON \`settle\`.* TO \`settle\`@\`%\``], 0, 'ok'],
    ['only runs, and a migration is pending', [usage, `${runs} ON \`settle\`.* TO \`settle\`@\`%\``], 1, 'fail'],
    ['only reading', ['GRANT SELECT ON `settle`.* TO `settle`@`%`'], 0, 'fail'],
    [
      'in two lines',
      ['GRANT SELECT ON *.* TO `s`@`%`', 'GRANT INSERT, UPDATE, DELETE ON `settle`.* TO `s`@`%`'],
      0,
      'ok',
    ],
    ['by a pattern that fits', [`${migrates} ON \`sett%\`.* TO \`settle\`@\`%\``], 1, 'ok'],
    ['by a pattern that does not', [`${migrates} ON \`settle\\_%\`.* TO \`settle\`@\`%\``], 1, 'fail'],
    ['on another database', [`${migrates} ON \`settlement\`.* TO \`settle\`@\`%\``], 1, 'fail'],
    ['on a table', [`${migrates} ON \`settle\`.\`net\` TO \`settle\`@\`%\``], 1, 'fail'],
    ['by a role, which nobody can see into', ['GRANT `writers`@`%` TO `settle`@`%`'], 0, 'warn'],
  ])('%s', (_what, lines, pending, status) => {
    const finding = grantsFinding(lines, 'settle', pending);
    expect(finding.status).toBe(status);
    expect(finding.fix === null).toBe(status === 'ok');
    expect(finding.found).not.toContain('XYZ');
  });

  test('name what is missing, and what to type', () => {
    const { found, fix } = grantsFinding([`${runs} ON \`settle\`.* TO \`settle\`@\`%\``], 'settle', 1);
    expect(found).toBe('the user lacks CREATE, ALTER, INDEX, DROP, REFERENCES, TRIGGER on settle');
    expect(fix).toContain('grant create, alter, index, drop, references, trigger on settle.* to this user');
  });

  test('do not make triggers under a binary log, unless the server trusts or the user administers it', () => {
    const log = { log_bin: 'ON', log_bin_trust_function_creators: 'OFF' };
    const root = ['GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`'];
    expect(statuses(triggersFinding(server('10.11-MariaDB', log), 1))).toEqual({ triggers: 'warn' });
    expect(triggersFinding(server('10.11-MariaDB', log), 0)).toEqual([]);
    expect(triggersFinding(server('10.11-MariaDB', log, root), 1)).toEqual([]);
    const trusting = { ...log, log_bin_trust_function_creators: 'ON' };
    expect(triggersFinding(server('10.11-MariaDB', trusting), 1)).toEqual([]);
  });
});

describe('what a server writes with', () => {
  const named = (values: ServerValues, name: string): Finding | undefined =>
    serverFindings(values, 9).find((finding) => finding.name === name);
  const mebibyte = 1_048_576;

  test.each<[string, string, Record<string, string>, string, RegExp | null]>([
    [
      'MariaDB as installed',
      '10.11.6-MariaDB',
      { innodb_log_file_size: String(96 * mebibyte) },
      'warn',
      /^set global innodb_log_file_size = 2147483648/,
    ],
    [
      'MariaDB that must be restarted for it',
      '10.6.18-MariaDB',
      { innodb_log_file_size: String(96 * mebibyte) },
      'warn',
      /restart$/,
    ],
    [
      'as large as was measured to stall',
      '11.4.2-MariaDB',
      { innodb_log_file_size: String(512 * mebibyte) },
      'warn',
      /^set global/,
    ],
    ['a large one', '11.4.2-MariaDB', { innodb_log_file_size: String(2_048 * mebibyte) }, 'ok', null],
    [
      'MySQL as installed',
      '8.4.0',
      { innodb_redo_log_capacity: String(100 * mebibyte), innodb_log_file_size: '50331648' },
      'warn',
      /^set global innodb_redo_log_capacity/,
    ],
    [
      'MySQL before it had a capacity',
      '8.0.26',
      { innodb_log_file_size: String(512 * mebibyte), innodb_log_files_in_group: '2' },
      'ok',
      null,
    ],
  ])('redo log: %s', (_what, version, settings, status, fix) => {
    const finding = named(server(version, settings), 'redo-log');
    expect(finding?.status).toBe(status);
    if (fix !== null) expect(finding?.fix).toMatch(fix);
  });

  test('a server that does not tell the size of its log is not judged', () => {
    expect(named(server('8.0.11-TiDB-v8.5.1', {}), 'redo-log')).toBeUndefined();
  });

  test.each([
    ['ON', 'ok'],
    ['DETECT_AND_RECOVER', 'ok'],
    ['OFF', 'warn'],
    ['DETECT_ONLY', 'warn'],
  ])('doublewrite %s is %s', (value, status) => {
    expect(named(server('8.4.0', { innodb_doublewrite: value }), 'doublewrite')?.status).toBe(status);
  });
});

describe('the settings', () => {
  const look = (tree: object, environment: Record<string, string> = {}): Finding[] => {
    const { config, file } = given(tree, {});
    return configFindings(config, { file, environment }, now);
  };

  test('usual ones have the day that is due and nothing else to say', () => {
    const [calendar, ...rest] = look({ calendar: { timeZone: 'Asia/Shanghai', cutOff: '22:30' } });
    expect(rest).toEqual([]);
    expect(calendar).toEqual({
      name: 'calendar',
      status: 'ok',
      found: 'cut-off 22:30 Asia/Shanghai: the day due is 2026-11-29, which ended at 2026-11-29 14:30 UTC',
      fix: null,
    });
  });

  test('a variable that no setting has, and one that is passed over, are told by name', () => {
    const environment = { SETTLE_MEANING: '42', SETTLE_DATABASE_URL: 'sqlite:a', SETTLE_DATABASE_URL_FILE: '/x' };
    const found = look({}, environment).map(({ found }) => found);
    expect(found).toContain('no setting has the name of SETTLE_MEANING');
    expect(found).toContain('SETTLE_DATABASE_URL is set, so that SETTLE_DATABASE_URL_FILE is not read');
  });

  test('what nothing leads to is told, with what leads nowhere', () => {
    const chain = { chainId: 1, url: { env: 'NODE' }, requiredConfirmations: 12 };
    const found = look({
      sinks: { idle: { kind: 'webhook', url: 'https://hook.example/', secret: { env: 'S' } } },
      routes: { settlement: ['nowhere'] },
      channels: { bank: { kind: 'simulator' }, spare: { kind: 'simulator' } },
      payouts: { channel: 'bank', channelByCurrency: { JPY: 'ghost' } },
      chains: { off: { ...chain, enabled: false } },
    });
    expect(found.filter(({ status }) => status === 'fail').map(({ found }) => found)).toEqual([
      'routes names the sink nowhere, which is not configured',
      'payouts names the channel ghost, which is not configured',
    ]);
    const unused = found.filter(({ name }) => name === 'config:unused').map(({ found }) => found.split(' ')[0]);
    expect(unused).toEqual(['sinks.idle', 'channels.spare', 'chains.off']);
  });

  test('a secret that every user may read is a failure, whoever names its file; its text is not shown', () => {
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'hunter2', { mode: 0o600 });
    const tree = { channels: { bank: { kind: 'http', url: 'https://b.example', secret: { file: secret } } } };
    expect(statuses(look(tree))['config:secrets']).toBe('ok');
    chmodSync(secret, 0o644);
    for (const found of [look(tree), look({}, { SETTLE_DATABASE_URL_FILE: secret })]) {
      expect(found.find(({ name }) => name === 'config:secrets')).toMatchObject({
        status: 'fail',
        fix: `chmod o-rwx ${secret}`,
      });
      expect(JSON.stringify(found)).not.toContain('hunter2');
    }
  });

  test('a password in a settle.yaml that every user may read is one too', () => {
    const { config, file } = given({ database: { url: 'mysql://settle:hunter2@db.internal/settle' } });
    chmodSync(file, 0o644);
    const found = configFindings(config, { file, environment: {} }, now);
    expect(found.find(({ name }) => name === 'config:secrets')).toMatchObject({ status: 'fail' });
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });
});

describe('disks', () => {
  const mebibyte = 1_048_576;
  const free = (mebibytes: number) => () => mebibytes * mebibyte;

  test('have room, little of it, or none', () => {
    const place = { setting: 'report.dir', path: join(folder, 'not', 'made', 'yet'), kind: 'folder' as const };
    expect(diskFinding(place, free(5_000))).toMatchObject({ name: 'disk:report.dir', status: 'ok' });
    expect(diskFinding(place, free(900))).toMatchObject({ status: 'warn' });
    expect(diskFinding(place, free(20))).toMatchObject({ status: 'fail' });
  });

  test('of SQLite must have room for as much again as the file holds', () => {
    const path = join(folder, 'books.db');
    writeFileSync(path, '');
    const place = { setting: 'database.url', path, kind: 'file' as const };
    expect(diskFinding(place, free(1_500))).toMatchObject({ status: 'ok' });
    execFileSync('truncate', ['-s', '2G', path]);
    expect(diskFinding(place, free(1_500))).toMatchObject({ status: 'warn' });
    rmSync(path);
  });

  test('are looked at wherever the settings write', () => {
    const debtor = { name: 'Us', iban: 'DE89370400440532013000' };
    const { config } = given({
      database: { url: `sqlite:${join(folder, 'settle.db')}` },
      report: { dir: join(folder, 'reports') },
      channels: { bank: { kind: 'file', dir: folder, debtor } },
      sinks: { feed: { kind: 'file', path: join(folder, 'feed.ndjson') } },
    });
    const found = diskFindings(writtenPlaces(config));
    const settings = ['database.url', 'report.dir', 'channels.bank.dir', 'sinks.feed.path'];
    expect(found.map(({ name }) => name)).toEqual(settings.map((setting) => `disk:${setting}`));
    for (const { found: text } of found) expect(text).toMatch(/ has \d+(\.\d)? [GM]iB free/);
  });
});

describe('hosts', () => {
  const listening = async (listener: Server): Promise<number> => {
    await new Promise<void>((resolve) => listener.listen(0, '0.0.0.0', resolve));
    return (listener.address() as AddressInfo).port;
  };
  const look = (tree: object, ms?: number): Promise<Finding[]> =>
    runProbes(
      networkProbes(given(tree).config, () => now),
      ms,
    );
  const named = (findings: readonly Finding[], name: string): Finding | undefined =>
    findings.find((finding) => finding.name === name);

  const closing: (() => void)[] = [];
  let requests = 0;
  let port: { tls: number; plain: number; silent: number; node: number };
  let ca: string;
  beforeAll(async () => {
    ca = join(folder, 'ca.pem');
    const key = join(folder, 'key.pem');
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
    const request = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '900',
    ];
    execFileSync('openssl', [...request, ...subject, '-keyout', key, '-out', ca], { stdio: 'ignore' });
    const tls = createTlsServer({ key: readFileSync(key), cert: readFileSync(ca) }, (socket) => {
      socket.on('error', () => undefined).on('data', () => (requests += 1));
    });
    const plain = createPlainServer((socket) => socket.on('error', () => undefined).on('data', () => (requests += 1)));
    const sockets: { destroy(): void }[] = [];
    const silent = createPlainServer((socket) => sockets.push(socket.on('error', () => undefined)));
    const node = createHttpServer((incoming, answer) => {
      incoming.resume().on('end', () => {
        answer.setHeader('content-type', 'application/json');
        answer.end('[{"jsonrpc":"2.0","id":1,"result":"0x89"}]');
      });
    });
    port = {
      tls: await listening(tls as unknown as Server),
      plain: await listening(plain),
      silent: await listening(silent),
      node: await listening(node as unknown as Server),
    };
    for (const one of [tls, plain, silent, node]) closing.push(() => one.close());
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
    });
    process.env['FINDINGS_SECRET'] = 'hunter2';
    process.env['FINDINGS_NODE'] = `http://127.0.0.1:${String(port.node)}/v1/k3y`;
    process.env['FINDINGS_SILENT'] = `http://127.0.0.1:${String(port.silent)}/v1/k3y`;
  });
  afterAll(() => {
    for (const close of closing) close();
    for (const name of ['SECRET', 'NODE', 'SILENT']) delete process.env[`FINDINGS_${name}`];
  });

  const hook = (url: string, more: object = {}): object => ({
    sinks: { hook: { kind: 'webhook', url, secret: { env: 'FINDINGS_SECRET' }, ...more } },
    routes: { settlement: ['hook'] },
  });

  test('a webhook that proves who it is, and is told not a word', async () => {
    const before = requests;
    const found = await look(hook(`https://localhost:${String(port.tls)}/in`, { ca }));
    expect(named(found, 'sink:hook')).toMatchObject({
      status: 'ok',
      found: expect.stringMatching(
        /^localhost:\d+ answers in \d+ ms over TLSv1\.3; its certificate is good for \d+ days$/,
      ),
    });
    expect(named(found, 'secret:sinks.hook.secret')).toMatchObject({ status: 'ok', found: 'is there' });
    expect(JSON.stringify(found)).not.toContain('hunter2');
    expect(requests).toBe(before);
  });

  test.each<[string, () => object, RegExp, RegExp]>([
    [
      'that nobody vouches for',
      () => hook(`https://localhost:${String(port.tls)}/in`),
      /does not prove who it is/,
      /setting ca/,
    ],
    [
      'of another name',
      () => hook(`https://127.0.0.2:${String(port.tls)}/in`, { ca }),
      /127\.0\.0\.2:\d+ does not prove who it is/,
      /./,
    ],
    ['that nobody listens at', () => hook('https://127.0.0.1:9/in'), /nobody listens at 127\.0\.0\.1:9/, /Start it/],
    [
      'whose name nobody knows',
      () => hook('https://no-such-host.invalid/in'),
      /the name no-such-host\.invalid is not known/,
      /Mend the host/,
    ],
    [
      'whose certificates cannot be read',
      () => hook('https://localhost/in', { ca: '/none' }),
      /sinks\.hook\.ca names a file/,
      /sinks\.hook\.ca/,
    ],
  ])('a host %s', async (_what, tree, problem, fix) => {
    const finding = named(await look(tree()), 'sink:hook');
    expect(finding?.status).toBe('fail');
    expect(finding?.found).toMatch(problem);
    expect(finding?.fix).toMatch(fix);
  });

  test('a certificate that is about to end', async () => {
    const soon = new Date(Date.now() + 895 * 86_400_000);
    const probes = networkProbes(given(hook(`https://localhost:${String(port.tls)}/in`, { ca })).config, () => soon);
    expect(named(await runProbes(probes), 'sink:hook')).toMatchObject({ status: 'warn' });
  });

  test('a channel is connected to and asked for nothing', async () => {
    const before = requests;
    const secret = { env: 'FINDINGS_SECRET' };
    const url = `http://127.0.0.1:${String(port.plain)}/payouts`;
    const found = await look({ channels: { bank: { kind: 'http', url, secret } } });
    expect(named(found, 'channel:bank')).toMatchObject({ status: 'ok' });
    expect(requests).toBe(before);
  });

  test('a node of another chain fails, and its URL is not told', async () => {
    const chain = { requiredConfirmations: 12, url: { env: 'FINDINGS_NODE' } };
    const found = await look({ chains: { polygon: { ...chain, chainId: 137 } } });
    expect(named(found, 'chain:polygon')).toMatchObject({ status: 'ok', found: 'its node is of chain 137' });
    const other = named(await look({ chains: { eth: { ...chain, chainId: 1 } } }), 'chain:eth');
    expect(other).toMatchObject({ status: 'fail', found: 'its node is of chain 137, and chains.eth.chainId is 1' });
    expect(JSON.stringify([found, other])).not.toMatch(/k3y|127\.0\.0\.1/);
  });

  test('whoever is silent is given up together, each by itself', async () => {
    await import('../src/outbox/sinks/amqpLink.js'); // which takes its time here
    const startedAt = performance.now();
    const sink = { kind: 'amqp', url: `amqp://127.0.0.1:${String(port.silent)}/`, exchange: 'settle' };
    const found = await look(
      {
        sinks: {
          mq: sink,
          hook: {
            kind: 'webhook',
            url: `https://127.0.0.1:${String(port.silent)}/`,
            secret: { env: 'FINDINGS_SECRET' },
          },
        },
        routes: { settlement: ['mq', 'hook'] },
        chains: { eth: { chainId: 1, requiredConfirmations: 12, url: { env: 'FINDINGS_SILENT' } } },
        channels: {
          vault: {
            ...{ kind: 'http', url: `http://127.0.0.1:${String(port.plain)}` },
            secret: { command: ['sleep', '20'] },
          },
        },
      },
      800,
    );
    expect(performance.now() - startedAt).toBeLessThan(2_400);
    const silent = found.filter(({ found: text }) => / gave no answer within 0\.8 s$/.test(text));
    expect(silent.map(({ name, status }) => `${name} ${status}`)).toEqual([
      ...['sink:mq fail', 'sink:hook fail', 'chain:eth fail', 'secret:channels.vault.secret fail'],
    ]);
    expect(named(found, 'channel:vault')?.status).toBe('ok');
  });

  test('a secret that is not where the setting says it is', async () => {
    mkdirSync(join(folder, 'vault'), { recursive: true });
    const found = await look({
      channels: {
        bank: { kind: 'http', url: `http://127.0.0.1:${String(port.plain)}`, secret: { file: join(folder, 'vault') } },
      },
    });
    expect(named(found, 'secret:channels.bank.secret')).toMatchObject({
      status: 'fail',
      found: expect.stringContaining('The secret channels.bank.secret cannot be fetched'),
    });
  });
});
