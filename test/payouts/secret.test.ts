import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fetchSecret } from '../../src/commands/secret.js';
import type { SecretPlace } from '../../src/configPayouts.js';

const secret = 'cAnAry7hunter2';
const node = process.execPath;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
  writeFileSync(join(folder, 'secret'), `${secret}\n`);
  writeFileSync(join(folder, 'empty'), '\n');
  writeFileSync(join(folder, 'lines'), `${secret}\n${secret}\n`);
  process.env['CHANNEL_SECRET_OF_TEST'] = secret;
});
afterAll(() => {
  delete process.env['CHANNEL_SECRET_OF_TEST'];
  rmSync(folder, { recursive: true, force: true });
});

describe('a secret', () => {
  test.each([
    ['an environment variable', () => ({ env: 'CHANNEL_SECRET_OF_TEST' })],
    ['a file', () => ({ file: join(folder, 'secret') })],
    ['a command', () => ({ command: [node, '-e', `console.log('${secret}')`] })],
  ])('comes from %s', async (_, place: () => SecretPlace) => {
    expect(await fetchSecret(place(), 'channels.bank.secret')).toBe(secret);
  });

  test.each([
    ['a variable that is not set', () => ({ env: 'NO_SUCH_VARIABLE_OF_TEST' })],
    ['a file that is not there', () => ({ file: join(folder, 'none') })],
    ['an empty file', () => ({ file: join(folder, 'empty') })],
    ['a file of several lines', () => ({ file: join(folder, 'lines') })],
    ['a command that is not there', () => ({ command: [join(folder, 'none'), secret] })],
    [
      'a command that fails, whatever it printed',
      () => ({ command: [node, '-e', `console.log('${secret}'); console.error('${secret}'); process.exitCode = 3`] }),
    ],
  ])('that cannot be fetched is told by its setting alone: %s', async (_, place: () => SecretPlace) => {
    const failure: unknown = await fetchSecret(place(), 'channels.bank.secret').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'CONFIG_UNREADABLE', details: { setting: 'channels.bank.secret' } });
    const { message, next, details, cause } = failure as {
      message: string;
      next: string;
      details: object;
      cause: unknown;
    };
    expect(message + next + JSON.stringify(details) + String(cause)).not.toContain(secret);
  });
});
