import { spawn } from 'node:child_process';
import { expect, test } from '@jest/globals';

/** A short piece of `npm run fuzz`, always the same inputs; the tests' set-up has built it. */
test('a sample of random files, settings and arguments breaks no promise of the command line', async () => {
  const child = spawn(process.execPath, ['dist/test/fuzz/main.js', '--runs', '600', '--seed', '3']);
  let told = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (told += text.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  expect(told).toMatch(/Seed 3: 600 inputs, \d+ as processes, 0 failed\./);
  expect(code).toBe(0);
}, 600_000);
