import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CronJob } from 'kubernetes-types/batch/v1.js';
import ts from 'typescript';
import { parseDocument } from 'yaml';
import { createTestDatabase } from './support/databases.js';
import { settle } from './support/program.js';

// What is shipped to run Settle every night: checked against published schemas, and its command lines are run.

const deploy = join(process.cwd(), 'fixtures', 'deploy');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-deploy-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function onNewDatabase(work: (url: string) => Promise<void>): Promise<void> {
  const db = await createTestDatabase('sqlite');
  await work(db.url).finally(() => db.drop());
}

function manifestIn(name: string): CronJob {
  const text = readFileSync(join(deploy, name), 'utf8');
  return parseDocument(text, { strict: true, uniqueKeys: true }).toJS() as CronJob;
}

describe('the Kubernetes manifest', () => {
  const manifest = manifestIn('kubernetes.yaml');
  const job = manifest.spec?.jobTemplate.spec;
  const container = job?.template.spec?.containers[0];

  /** What the compiler says of a manifest as a literal of the published type: wrong types, missing and unknown fields. */
  function complaints(value: unknown): string[] {
    const file = join(process.cwd(), 'test', 'manifest.ts');
    const source = `import type { CronJob } from 'kubernetes-types/batch/v1.js';\nexport const manifest: CronJob = ${JSON.stringify(value)};\n`;
    const options: ts.CompilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      types: [],
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
    };
    const host = ts.createCompilerHost(options);
    const { getSourceFile, fileExists } = host;
    host.fileExists = (name) => name === file || fileExists(name);
    host.getSourceFile = (name, ...rest) =>
      name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest);
    return ts
      .getPreEmitDiagnostics(ts.createProgram([file], options, host))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  }

  test('is a CronJob of batch/v1: every field is known and of its type', () => {
    expect(complaints(manifest)).toEqual([]);
  });

  test('so is the one of a single pod, which is the same but for the sharing', () => {
    const single = manifestIn('kubernetes-single.yaml');
    expect(complaints(single)).toEqual([]);
    const [one] = single.spec?.jobTemplate.spec?.template.spec?.containers ?? [];
    expect({ command: one?.command, image: one?.image, security: one?.securityContext }).toEqual({
      ...{ command: container?.command, image: container?.image, security: container?.securityContext },
    });
    expect(single.spec?.jobTemplate.spec?.podFailurePolicy).toEqual(job?.podFailurePolicy);
    expect(one?.env?.map(({ name }) => name)).toEqual(['SETTLE_DATABASE_URL_FILE']);
  });

  test('a field with a slip in its name, and a value of another type, would be noticed', () => {
    const change = (part: object): unknown => ({ ...manifest, spec: { ...manifest.spec, ...part } });
    expect(complaints(change({ timezone: 'Etc/UTC' }))).toEqual([
      expect.stringContaining(`'"timezone"' does not exist`),
    ]);
    expect(complaints(change({ startingDeadlineSeconds: '1h' }))).toEqual([
      expect.stringContaining(`'string' is not assignable to type 'number'`),
    ]);
  });

  test('has one pod a shard, and starts none again whose exit code says that it is no use', () => {
    expect(job).toMatchObject({ completionMode: 'Indexed', completions: 4, parallelism: 4 });
    expect(container?.env).toContainEqual({ name: 'SETTLE_SHARD_COUNT', value: String(job?.completions) });
    expect(job?.template.spec?.restartPolicy).toBe('Never'); // what a podFailurePolicy needs
    const [, failing] = job?.podFailurePolicy?.rules ?? [];
    expect(failing).toMatchObject({ action: 'FailJob', onExitCodes: { values: [2, 3, 4, 5, 11, 12] } });
    expect(failing?.onExitCodes?.containerName).toBe(container?.name);
  });

  test('its pods, run as processes, close the day that is due', async () => {
    await onNewDatabase(async (url) => {
      const secret = join(folder, 'database-url');
      writeFileSync(secret, url);
      const [program, ...args] = container?.command ?? [];
      expect(program).toBe('settle');
      const pods = Array.from({ length: job?.completions ?? 0 }, (_, index) => {
        const env: Record<string, string> = {};
        for (const { name, value, valueFrom } of container?.env ?? []) {
          const given =
            valueFrom?.fieldRef?.fieldPath.endsWith(`job-completion-index']`) === true ? String(index) : value;
          env[name] = name === 'SETTLE_DATABASE_URL_FILE' ? secret : (given ?? '');
        }
        return settle(args, { env });
      });
      const ended = await Promise.all(pods);
      expect(ended.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0, 0, 0]);
      expect((await settle(['status', '--check'], { url })).code).toBe(0);
    });
  });
});

describe('the systemd units', () => {
  const names = ['settle.service', 'settle.timer', 'settle-shard@.service', 'settle-shard@.timer'];
  const unit = (name: string): string => readFileSync(join(deploy, name), 'utf8');

  /** What `systemd-analyze verify` says of units, of an instance where it is a template; it is silent when all is well. */
  function complaints(units: Record<string, string>): string {
    const files = Object.entries(units).map(([name, text]) => {
      const file = join(folder, name.replace('@.', '@1.'));
      // It looks for the program too, which is not installed here.
      writeFileSync(file, text.replaceAll('/usr/bin/settle', '/bin/true'));
      return file;
    });
    const { error, status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
      encoding: 'utf8',
    });
    if (error !== undefined)
      throw new Error('There is no systemd-analyze. Type: apt-get install systemd', { cause: error });
    return `${stderr}${status === 0 ? '' : `exit code ${String(status)}`}`;
  }

  test('are valid to the last directive', () => {
    expect(complaints(Object.fromEntries(names.map((name) => [name, unit(name)])))).toBe('');
  });

  test('a directive with a slip in its name would be noticed', () => {
    const slip = unit('settle.service').replace('StateDirectory=', 'StateFolder=');
    expect(complaints({ 'settle.service': slip })).toContain('StateFolder');
  });

  test.each(['settle.service', 'settle-shard@.service'])(
    'the command line of %s closes the day that is due',
    async (name) => {
      const value = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(unit(name))?.[1] ?? '';
      const line = value('ExecStart')
        .replaceAll('%i', '3')
        .replaceAll('$' + '{SHARDS}', value('Environment=SHARDS'));
      const [program, ...args] = line.split(' ');
      expect(program).toBe('/usr/bin/settle');
      await onNewDatabase(async (url) => {
        const ended = await settle(args, { url });
        expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code: 0 });
        expect(ended.stdout.includes('shard 3/4 by this process')).toBe(name.includes('shard'));
      });
    },
  );
});
