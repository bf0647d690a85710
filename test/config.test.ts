import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { loadConfig, type Config } from '../src/config.js';
import { durationMs } from '../src/configValues.js';
import { parseDatabaseUrl } from '../src/db/url.js';
import { SettleError } from '../src/kernel/errors.js';
import { settleInside as settle } from './support/inside.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const file = (text: string, name = 'settle.yaml'): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const load = (options: { yaml?: string; environment?: NodeJS.ProcessEnv; flags?: Record<string, unknown> }): Config =>
  loadConfig({
    file: options.yaml === undefined ? file('') : file(options.yaml),
    environment: options.environment ?? {},
    ...(options.flags === undefined ? {} : { flags: options.flags }),
  });
const problem = (options: Parameters<typeof load>[0]): SettleError => {
  try {
    load(options);
  } catch (error) {
    if (error instanceof SettleError) return error;
    throw error;
  }
  throw new Error('The configuration was accepted.');
};

describe('the environment', () => {
  test('a variable that is nearly one of ours is refused, since it would send the run to another database', () => {
    expect(() => load({ environment: { SETTLE_DATABSE_URL: 'mysql://u:p@h/db' } })).toThrow(
      'Unknown environment variable SETTLE_DATABSE_URL; did you mean SETTLE_DATABASE_URL?',
    );
  });

  test('variables of other purposes are left alone', () => {
    expect(load({ environment: { SETTLE_TEST_MYSQL_URL: 'x', SETTLE_HOME: 'y', SETTLE_DEBUG: '1' } })).toEqual(
      load({}),
    );
  });
});

describe('the URL of a server', () => {
  test.each(['mysql://u:p#ss@h/db', 'mysql://u:p/ss@h/db', 'mysql://u:p?ss@h/db'])(
    'a special character in the password that is not escaped (%s) is refused, and nothing of it is shown',
    (url) => {
      const refused = (): unknown => parseDatabaseUrl(url);
      expect(refused).toThrow(
        expect.objectContaining({ code: 'DATABASE_URL_INVALID', exitCode: 2 }) as unknown as Error,
      );
      expect(refused).not.toThrow(/ss@/);
    },
  );

  test('an escaped one is read', () => {
    expect(parseDatabaseUrl('mysql://u:p%40s%2Fs%23@h/db')).toMatchObject({
      password: 'p@s/s#',
      host: 'h',
      database: 'db',
    });
  });
});

describe('precedence', () => {
  test('a flag wins over the environment, the environment over the file, the file over the default', () => {
    const yaml = 'batch: { lookBackDays: 2 }';
    const environment = { SETTLE_BATCH_LOOK_BACK_DAYS: '3' };
    const flags = { batch: { lookBackDays: 5 } };
    expect(load({}).batch.lookBackDays).toBe(31);
    expect(load({ yaml }).batch.lookBackDays).toBe(2);
    expect(load({ yaml, environment }).batch.lookBackDays).toBe(3);
    expect(load({ yaml, environment, flags }).batch.lookBackDays).toBe(5);
    expect(load({ environment, flags }).batch.lookBackDays).toBe(5);
  });

  test('is decided setting by setting: what one place leaves out is taken from the next', () => {
    const config = load({
      yaml: 'batch: { lanes: 2, pageSize: 500 }\ncalendar: { timeZone: Asia/Shanghai }',
      environment: { SETTLE_BATCH_PAGE_SIZE: '700', SETTLE_CALENDAR_CUT_OFF: '22:30' },
      flags: { batch: { chunkSize: 9 } },
    });
    expect(config.batch).toMatchObject({ lanes: 2, pageSize: 700, chunkSize: 9, lookBackDays: 31 });
    expect(config.calendar).toMatchObject({ timeZone: 'Asia/Shanghai', cutOff: '22:30' });
  });

  test('without anything, every setting has a default that fits', () => {
    expect(load({})).toEqual({
      database: { url: 'sqlite:settle.db', statementTimeout: 300_000, connectTimeout: 10_000 },
      calendar: { timeZone: 'UTC', cutOff: '00:00', weekend: [], holidays: new Map(), channels: new Map() },
      accounts: { autoRegister: true },
      ledger: {},
      // Lanes and chunk size are left to the database's kind.
      batch: { lookBackDays: 31, leaseDuration: 30_000, shardTimeout: 900_000, messageAttempts: 3 },
      shard: {},
      discrepancies: { attempts: 5 },
      notifications: { timeout: 10_000, targets: {} },
      statements: { channels: {}, profiles: {} },
      payouts: { channelByCurrency: {}, namespace: 'settle' },
      channels: {},
      deposits: {
        ...{ rpcTimeout: 5_000, rpcRetries: 2, rpcBatchSize: 50, rpcConcurrency: 4, planMaxAge: 5_000 },
        ...{ clockSkewSeconds: 60, lateGraceSeconds: 0, rulesVersion: 1, scenes: {} },
        review: { timeout: 1_800_000, action: 'auto-reject', executeApproved: false, limit: 50 },
        retry: { maxAttempts: 3, limit: 50 },
        audit: { olderThanMinutes: 60, limit: 50, onlyRisky: true },
      },
      chains: {},
      sinks: {},
      routes: {},
      outbox: { source: '/settle', leaseDuration: 120_000 },
      report: {},
    });
  });

  test('settle.yaml of the working directory is read without being named; --config names another, SETTLE_CONFIG too', async () => {
    const run = (args: string[], env: Record<string, string> = {}): ReturnType<typeof settle> =>
      settle(['migrate', 'up', '--json', ...args], { cwd: folder, env });
    file('database: { url: "nonsense:1" }');
    expect(await run([])).toMatchObject({ code: 2 });
    const good = file('database: { url: "sqlite:good.db" }', 'good.yaml');
    expect(await run(['--config', good])).toMatchObject({ code: 0 });
    expect(await run([], { SETTLE_CONFIG: good })).toMatchObject({ code: 0 });
    expect(await run(['--config', good], { SETTLE_CONFIG: join(folder, 'settle.yaml') })).toMatchObject({ code: 0 });
  });
});

describe('the environment', () => {
  test.each([
    ['SETTLE_BATCH_LANES', '6', (config: Config) => config.batch.lanes, 6],
    ['SETTLE_BATCH_LOOK_BACK_DAYS', '0', (config: Config) => config.batch.lookBackDays, 0],
    ['SETTLE_BATCH_LEASE_DURATION', '45s', (config: Config) => config.batch.leaseDuration, 45_000],
    ['SETTLE_ACCOUNTS_AUTO_REGISTER', 'false', (config: Config) => config.accounts.autoRegister, false],
    ['SETTLE_DATABASE_URL', 'sqlite:x.db', (config: Config) => config.database.url, 'sqlite:x.db'],
    ['SETTLE_DATABASE_STATEMENT_TIMEOUT', '2m', (config: Config) => config.database.statementTimeout, 120_000],
    [
      'SETTLE_CALENDAR_TIME_ZONE',
      'America/Sao_Paulo',
      (config: Config) => config.calendar.timeZone,
      'America/Sao_Paulo',
    ],
    ['SETTLE_REPORT_DIR', '/var/reports', (config: Config) => config.report.dir, '/var/reports'],
  ])('%s=%s sets its setting', (name, text, read, value) => {
    expect(read(load({ environment: { [name]: text } }))).toBe(value);
  });

  test.each(['', ' ', '\n'])('a variable that is set to %j is unset', (text) => {
    const config = load({
      yaml: 'batch: { lanes: 7 }',
      environment: { SETTLE_BATCH_LANES: text, SETTLE_DATABASE_URL: text, SETTLE_CONFIG: text },
    });
    expect([config.batch.lanes, config.database.url]).toEqual([7, 'sqlite:settle.db']);
  });

  test.each([
    '1e3',
    '0x10',
    'Infinity',
    'NaN',
    '-1',
    '1.5',
    '4.0',
    '007',
    '+4',
    '4 lanes',
    '１２',
    '0',
    '65',
    '9'.repeat(30),
  ])('SETTLE_BATCH_LANES=%s is refused, with the name of the variable', (text) => {
    const { code, exitCode, message } = problem({ environment: { SETTLE_BATCH_LANES: text } });
    expect([code, exitCode]).toEqual(['CONFIG_INVALID', 2]);
    expect(message).toContain('batch.lanes (environment variable SETTLE_BATCH_LANES)');
  });

  test.each(['577h', '35791m', '9'.repeat(30) + 's'])('a time limit of %s is refused: no timer holds it', (text) => {
    const { exitCode, message } = problem({ environment: { SETTLE_DATABASE_STATEMENT_TIMEOUT: text } });
    expect(exitCode).toBe(2);
    expect(message).toContain('at most 24 days (576h)');
  });

  test.each(['yes', '1', 'TRUE', 'on', 'falsch'])(
    'SETTLE_ACCOUNTS_AUTO_REGISTER=%s is refused, not guessed',
    (text) => {
      expect(problem({ environment: { SETTLE_ACCOUNTS_AUTO_REGISTER: text } }).message).toContain(
        'accounts.autoRegister',
      );
    },
  );

  test('a secret may come from a file, without its line end', () => {
    const secret = file('mysql://settle:hunter2@db/settle\n', 'url.txt');
    expect(load({ environment: { SETTLE_DATABASE_URL_FILE: secret } }).database.url).toBe(
      'mysql://settle:hunter2@db/settle',
    );
    const both = { SETTLE_DATABASE_URL_FILE: secret, SETTLE_DATABASE_URL: 'sqlite:direct.db' };
    expect(load({ environment: both }).database.url).toBe('sqlite:direct.db');
  });

  test('a secret file that is not there is named, by its variable', () => {
    const { code, exitCode, message } = problem({ environment: { SETTLE_DATABASE_URL_FILE: join(folder, 'none') } });
    expect([code, exitCode]).toEqual(['CONFIG_UNREADABLE', 2]);
    expect(message).toContain('SETTLE_DATABASE_URL_FILE');
  });
});

describe('the file', () => {
  test.each([
    ['batch: { lane: 2 }', 'batch.lane', 'batch.lanes'],
    ['batch: { pagesize: 2 }', 'batch.pagesize', 'batch.pageSize'],
    ['batsh: { lanes: 2 }', 'batsh', 'batch'],
    ['calendar: { timezone: UTC }', 'calendar.timezone', 'calendar.timeZone'],
    ['calendar: { cutoff: "22:00" }', 'calendar.cutoff', 'calendar.cutOff'],
    ['database: { ulr: "sqlite:x" }', 'database.ulr', 'database.url'],
  ])('%s: the unknown key is named, and the known one that was meant', (yaml, unknown, meant) => {
    const { code, exitCode, message } = problem({ yaml });
    expect([code, exitCode]).toEqual(['CONFIG_INVALID', 2]);
    expect(message).toContain(`"${unknown}"`);
    expect(message).toContain(`did you mean "${meant}"`);
  });

  test('an unknown key that resembles none is named without a guess', () => {
    const { message } = problem({ yaml: 'zookeeper: { quorum: 3 }' });
    expect(message).toContain('"zookeeper"');
    expect(message).not.toContain('did you mean');
  });

  test.each(['__proto__: { polluted: true }', 'constructor: { x: 1 }', 'batch: { __proto__: { lanes: 9 } }'])(
    '%s changes nothing that other objects inherit',
    (yaml) => {
      try {
        load({ yaml });
      } catch (error) {
        expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      }
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
      expect(({} as { lanes?: number }).lanes).toBeUndefined();
    },
  );

  test('several mistakes are all told at once', () => {
    const { message } = problem({ yaml: 'batch: { lanes: 0, pageSize: many }\ncalendar: { cutOff: "25:00" }' });
    for (const setting of ['batch.lanes', 'batch.pageSize', 'calendar.cutOff']) expect(message).toContain(setting);
  });

  test('that is no YAML is told with line and column', () => {
    const { code, exitCode, message, details } = problem({ yaml: 'batch:\n  lanes: 4\n  pageSize: "500\n' });
    expect([code, exitCode]).toEqual(['CONFIG_UNREADABLE', 2]);
    expect(message).toMatch(/not valid YAML at line [34], column \d+/);
    expect(details).toMatchObject({ line: expect.any(Number) });
  });

  test.each(['- a\n- b', 'just words', '42'])('%j is no mapping of settings', (yaml) => {
    expect(problem({ yaml })).toMatchObject({ code: 'CONFIG_UNREADABLE', exitCode: 2 });
  });

  test.each([
    ['nests without end', `batch: ${'['.repeat(20_000)}`, 'nests or repeats too much'],
    [
      'repeats itself',
      `a: &a [x, x]\nb: &b [${'*a, '.repeat(60)}]\nc: [${'*b, '.repeat(60)}]`,
      'nests or repeats too much',
    ],
    ['names what it does not define', 'batch: *none', 'CONFIG'],
    ['has a tag of another program', 'batch: !ruby/object:Gem {}', 'Unresolved tag'],
    ['is larger than any settings', `# ${'x'.repeat(70_000)}`, 'larger than 64 KiB'],
  ])('that %s is refused in words, at once', (_what, yaml, words) => {
    const { code, exitCode, message } = problem({ yaml });
    expect([code, exitCode]).toEqual(['CONFIG_UNREADABLE', 2]);
    expect(`CONFIG ${message}`).toContain(words);
    expect(message).not.toMatch(/Maximum call stack|Excessive alias/);
  });

  test('that is not UTF-8, or has no end, is refused', () => {
    const path = file('');
    writeFileSync(path, Buffer.from('calendar: { timeZone: "\xfc" }', 'latin1'));
    const refused = (from: string): unknown => loadConfig({ file: from, environment: {} });
    expect(() => refused(path)).toThrow(/is not UTF-8/);
    expect(() => refused('/dev/zero')).toThrow(/larger than 64 KiB/);
    expect(() => loadConfig({ environment: { SETTLE_DATABASE_URL_FILE: '/dev/zero' } })).toThrow(/larger than 64 KiB/);
  });

  test('of a thousand unknown settings names ten and counts the others', () => {
    const { message } = problem({ yaml: Array.from({ length: 1_000 }, (_, at) => `k${String(at)}: 1`).join('\n') });
    expect(message).toContain('"k9"');
    expect(message).toContain('990 more are unknown');
    expect(message.length).toBeLessThan(3_000);
  });

  test('an empty one, or one of comments only, means defaults', () => {
    expect(load({ yaml: '' })).toEqual(load({ yaml: '# nothing yet\n' }));
  });

  test('that was named and is not there, or is a folder, is an error; settle.yaml need not be there', () => {
    for (const path of [join(folder, 'none.yaml'), folder]) {
      expect(() => loadConfig({ file: path, environment: {} })).toThrow(
        expect.objectContaining({ code: 'CONFIG_UNREADABLE', exitCode: 2 }),
      );
    }
    expect(() => loadConfig({ environment: {} })).not.toThrow();
  });
});

describe('a setting that means nothing', () => {
  test.each([
    ['batch: { leaseDuration: "30" }', 'batch.leaseDuration', 'duration'],
    ['batch: { leaseDuration: "1.5m" }', 'batch.leaseDuration', 'duration'],
    ['batch: { leaseDuration: "0s" }', 'batch.leaseDuration', 'duration'],
    ['batch: { leaseDuration: 30 }', 'batch.leaseDuration', 'a duration such as 500ms'],
    ['database: { connectTimeout: "soon" }', 'database.connectTimeout', 'duration'],
    ['calendar: { timeZone: "Mars/Olympus" }', 'calendar.timeZone', 'time zone'],
    ['calendar: { timeZone: "" }', 'calendar.timeZone', 'time zone'],
    ['calendar: { cutOff: "24:00" }', 'calendar.cutOff', 'local time'],
    ['calendar: { channels: { CARD: { cutOff: "24:00" } } }', 'calendar.channels.CARD.cutOff', 'local time'],
    ['calendar: { channels: { CARD: { timeZone: UTC } } }', 'calendar.channels.CARD.cutOff', 'local time'],
    ['calendar: { cutOff: "9:30" }', 'calendar.cutOff', 'local time'],
    ['calendar: { cutOff: "22:60" }', 'calendar.cutOff', 'local time'],
    ['batch: { lanes: 4.5 }', 'batch.lanes', 'a whole number from 1 to 64; it is 4.5'],
    ['batch: { lanes: "4" }', 'batch.lanes', 'a whole number from 1 to 64; it is the text "4"'],
    ['batch: { lanes: .inf }', 'batch.lanes', 'a whole number from 1 to 64; it is Infinity'],
    ['batch: { lanes: 65 }', 'batch.lanes', 'a whole number from 1 to 64; it is 65'],
    ['batch: { lookBackDays: -1 }', 'batch.lookBackDays', 'a whole number from 0 to 366; it is -1'],
    ['batch: { lanes: [1, 2] }', 'batch.lanes', 'it is a list'],
    ['batch: { lanes: { a: 1 } }', 'batch.lanes', 'it is a mapping'],
    ['accounts: { autoRegister: 1 }', 'accounts.autoRegister', 'true or false; it is 1'],
    ['report: { dir: 7 }', 'report.dir', 'the path of a folder; it is 7'],
    ['database: { url: 7 }', 'database.url', 'the text of a database URL; it is 7'],
    ['batch: null', 'batch', 'a mapping with some of lanes, pageSize, chunkSize'],
  ])('%s is refused by name, with what it must be', (yaml, setting, wanted) => {
    const { code, exitCode, message, details } = problem({ yaml });
    expect([code, exitCode]).toEqual(['CONFIG_INVALID', 2]);
    expect(message).toContain(`${setting} (`);
    expect(message).toContain(wanted);
    expect(message).not.toMatch(/Invalid|expected|received|Too (big|small)/);
    expect(details).toEqual({ settings: [setting] });
  });

  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
  ])('%s is %i ms', (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });
});

describe('a database URL', () => {
  test.each([
    ['sqlite:settle.db', { dialect: 'sqlite', path: 'settle.db', isDefault: true }],
    ['sqlite:/var/lib/settle.db', { dialect: 'sqlite', path: '/var/lib/settle.db', isDefault: false }],
    ['sqlite:///var/lib/settle.db', { dialect: 'sqlite', path: '/var/lib/settle.db' }],
    [
      'mysql://u:p@h/d',
      { dialect: 'mysql', host: 'h', port: 3306, user: 'u', password: 'p', database: 'd', ssl: 'off' },
    ],
    ['mariadb://u:p@h:3307/d?ssl=verify', { dialect: 'mysql', port: 3307, ssl: 'verify' }],
    ['mysql://u:p%40ss%2Fw%3A@h/d', { password: 'p@ss/w:' }],
    ['mysql://u@h/d?socket=%2Frun%2Fmysqld.sock', { socketPath: '/run/mysqld.sock', password: '' }],
    ['mysql://u:p@[::1]:3306/d', { host: '::1' }],
  ])('%s is understood', (url, target) => {
    expect(parseDatabaseUrl(url)).toMatchObject(target);
  });

  test.each(['mysql://u:hunter2@h/d', 'mysql://u:hunter2@h/d?socket=/x'])(
    'the label of %s holds no password',
    (url) => {
      expect(parseDatabaseUrl(url).label).not.toContain('hunter2');
    },
  );

  const wrong = [
    'postgres://u:hunter2@h/d',
    'mysql:u:hunter2@h/d',
    'mysql://u:hunter2@h',
    'mysql://u:hunter2@h/',
    'mysql://u:hunter2@h/a/b',
    'mysql://:hunter2@h/d',
    'mysql://u:hunter2@h:99999/d',
    'mysql://u:hunter2@h:port/d',
    'mysql://u:hunter2%zz@h/d',
    'mysql://u:hunter2@h/d?sssl=on',
    'mysql://u:hunter2@h/d?ssl=maybe',
    'sqlite:',
    'sqlite::memory:',
    'hunter2',
    '/hunter2/settle.db',
  ];

  test.each(wrong)('%s is refused, without repeating it', (url) => {
    expect(() => parseDatabaseUrl(url)).toThrow(expect.objectContaining({ code: 'DATABASE_URL_INVALID', exitCode: 2 }));
    try {
      parseDatabaseUrl(url);
    } catch (error) {
      const { message, next, details } = error as SettleError;
      expect(JSON.stringify([message, next, details])).not.toContain('hunter2');
    }
  });
});

describe('a password', () => {
  const secret = 'hunter2-s3cret';
  const urls = [
    `mysql://settle:${secret}@127.0.0.1:1/settle`,
    `mysql://settle:${secret}@127.0.0.1:1`,
    `mysql://settle:${secret}@127.0.0.1:1/settle?wrong=1`,
    `mysql://settle:${secret}@no-such-host.invalid/settle`,
    `mysql://settle:${secret}@127.0.0.1/settle?socket=/nowhere/s.sock`,
    `postgres://settle:${secret}@h/d`,
  ];
  const cases = urls.flatMap((url) => [
    { url, args: ['migrate', 'status'] },
    { url, args: ['migrate', 'up', '--json', '-v'] },
  ]);

  test.each(cases)('of $url is printed nowhere by $args', async ({ url, args }) => {
    const env = { SETTLE_DATABASE_CONNECT_TIMEOUT: '300ms', SETTLE_DEBUG: '1' };
    const ended = await settle(args, { url, env });
    expect(ended.code === 2 || ended.code === 75).toBe(true);
    expect(ended.stderr).not.toBe('');
    expect(ended.stdout + ended.stderr).not.toContain(secret);
  });

  test('in a config file with a mistake beside it is printed nowhere', async () => {
    const path = file(
      `database:\n  url: "mysql://settle:${secret}@h/d"\n  connectTimeout: [${secret}]\nbatch: "${secret}"\n`,
    );
    const ended = await settle(['migrate', 'status', '--config', path]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('CONFIG_INVALID');
    expect(ended.stdout + ended.stderr).not.toContain(secret);
  });

  test('in a config file that is no YAML is printed nowhere', async () => {
    const path = file(`database:\n  url: "mysql://settle:${secret}@h/d\n`);
    const ended = await settle(['migrate', 'status', '--config', path]);
    expect(ended.code).toBe(2);
    expect(ended.stdout + ended.stderr).not.toContain(secret);
  });
});

describe('sinks and routes', () => {
  const mq = (url: string, more = ''): string =>
    `sinks: { mq: { kind: amqp, url: '${url}', exchange: settle ${more} } }`;

  test('are read with their defaults; a route may be a list of names in the environment', () => {
    const config = load({
      yaml: mq('amqps://settle@mq.example/prod'),
      environment: { SETTLE_ROUTES_DAY_CLOSED: 'mq, feed', SETTLE_OUTBOX_LEASE_DURATION: '30s' },
    });
    expect(config.sinks['mq']).toMatchObject({
      attempts: 10,
      maxBytes: 1_048_576,
      routingKey: 'settle.{topic}',
      inFlight: 1_000,
      confirmTimeout: 30_000,
    });
    expect(config.routes).toEqual({ dayClosed: ['mq', 'feed'] });
    expect(config.outbox).toEqual({ source: '/settle', leaseDuration: 30_000 });
  });

  test.each([
    ['amqps://settle:hunter2@mq.example/prod'],
    ['http://mq.example/'],
    ['amqps://mq.example/prod?heartbeat=1'],
    ['amqp://settle@mq.example/prod'],
    ['not a url hunter2'],
  ])('a broker at %s is refused, and nothing of the text is repeated', (url) => {
    const { message } = problem({ yaml: mq(url) });
    expect(message).toContain('sinks.mq.url');
    expect(message).toContain('amqps URL');
    expect(message).not.toContain('hunter2');
  });

  test('a broker in the clear is for this machine, or for whom it is allowed', () => {
    expect(() => load({ yaml: mq('amqp://settle@127.0.0.1:5672/prod') })).not.toThrow();
    expect(() => load({ yaml: mq('amqp://settle@mq.internal/prod', ', plainText: true') })).not.toThrow();
  });

  test('a topic that does not exist is refused with the nearest one', () => {
    expect(problem({ yaml: 'routes: { settlements: [mq] }' }).message).toContain('did you mean "routes.settlement"?');
  });
});
