import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { settle } from './support/program.js';
import { startServer, type Server } from './support/server.js';

// Two servers that let in encrypted connections only: one whose certificate is for its host, one for another host.

const folder = mkdtempSync(join(tmpdir(), 'settle-tls-'));
const servers = new Map<string, Server>();

function openssl(...args: string[]): void {
  const ended = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
  if (ended.status !== 0) throw new Error(`openssl is needed to make a certificate: ${ended.stderr}`);
}

function makeCertificate(host: string): void {
  const request = ['req', '-newkey', 'rsa:2048', '-nodes', '-subj', `/CN=${host}`, '-keyout', `${host}.key`];
  openssl(...request, '-out', `${host}.csr`);
  writeFileSync(join(folder, `${host}.ext`), `subjectAltName=DNS:${host}\n`);
  const signing = ['x509', '-req', '-in', `${host}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
  openssl(...signing, '-days', '2', '-extfile', `${host}.ext`, '-out', `${host}.pem`);
}

beforeAll(async () => {
  const authority = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=Settle test authority',
  ];
  openssl(...authority, '-keyout', 'ca.key', '-out', 'ca.pem');
  for (const host of ['localhost', 'elsewhere.test']) {
    makeCertificate(host);
    const [certificate, key] = [join(folder, `${host}.pem`), join(folder, `${host}.key`)];
    const server = await startServer([`--ssl-cert=${certificate}`, `--ssl-key=${key}`]);
    servers.set(host, server);
    const administrator = await createConnection(server.url);
    await administrator.query('create database settle');
    await administrator.query(`create user settle identified by 'a secret'`);
    await administrator.query('grant all on settle.* to settle');
    await administrator.query('set global require_secure_transport = on');
    await administrator.end();
  }
}, 120_000);
afterAll(async () => {
  for (const server of servers.values()) await server.stop();
  rmSync(folder, { recursive: true });
}, 60_000);

function status(certified: string, ssl: string, env: Record<string, string> = {}): ReturnType<typeof settle> {
  const port = new URL(servers.get(certified)?.url ?? '').port;
  return settle(['migrate', 'status'], { url: `mysql://settle:a%20secret@localhost:${port}/settle${ssl}`, env });
}
const known = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };

describe('a server that lets in encrypted connections only', () => {
  test('is refused without ssl=, with the words that open it', async () => {
    const ended = await status('localhost', '');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('DATABASE_ACCESS_DENIED');
    expect(ended.stderr).toContain('?ssl=on');
  });

  test('ssl=on encrypts, whoever answers', async () => {
    for (const host of servers.keys()) {
      expect(await status(host, '?ssl=on')).toMatchObject({ code: 5, stdout: expect.stringContaining('pending') });
    }
  });

  test('ssl=verify takes the certificate of this host, signed by an authority that is known', async () => {
    expect(await status('localhost', '?ssl=verify', known)).toMatchObject({ code: 5, stderr: '' });
  });

  test.each([
    ['an authority that is not known', 'localhost', {}],
    ['another host', 'elsewhere.test', known],
  ])('ssl=verify refuses a certificate of %s', async (_what, host, env) => {
    const ended = await status(host, '?ssl=verify', env);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('DATABASE_ACCESS_DENIED');
    expect(ended.stderr).toContain('NODE_EXTRA_CA_CERTS');
  });
});
