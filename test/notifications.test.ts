import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isSigned, signatureHeader } from '../src/payouts/channels/httpSignature.js';
import { send, test as sendTest } from '../src/commands/notify.js';
import { release } from '../src/commands/quarantine.js';
import { run } from '../src/commands/run.js';
import { repeatable } from '../src/db/transaction.js';
import { dayOutcomes } from '../src/kernel/dayOutcome.js';
import { newsFor } from '../src/notifications/told.js';
import { dayOutcomeOf } from '../src/reports/dayOutcome.js';
import { answerOf, type Answer } from './support/command.js';
import { createTestDatabase, databaseKinds, type TestDatabase } from './support/databases.js';
import { day, givenAccounts, givenOrders, moneyDump } from './support/day.js';
import { Listener, MailServer } from './support/listeners.js';

// Who is told how a day ended. What is told comes from the tables, and nothing that happens on the way changes the day.

const secret = 'shared-hunter2';
const timeoutMs = 700;

let current: TestDatabase;
let listener: Listener;
beforeEach(async () => {
  listener = await Listener.start();
  process.env['TEST_HOOK_URL'] = listener.url('/hook?token=hunter2');
  process.env['TEST_HOOK_SECRET'] = secret;
  process.env['TEST_SLACK_URL'] = listener.url('/slack/hunter2');
  process.env['TEST_PING_URL'] = listener.url('/ping/hunter2');
});
afterEach(async () => {
  await listener.stop();
});

const targets = {
  hook: { kind: 'webhook', url: { env: 'TEST_HOOK_URL' }, secret: { env: 'TEST_HOOK_SECRET' } },
  chat: { kind: 'slack', url: { env: 'TEST_SLACK_URL' } },
  switch: { kind: 'ping', url: { env: 'TEST_PING_URL' } },
};
type Targets = Record<string, object>;

const settingsWith = (given: Targets, ms = 20_000) => ({
  notifications: { timeout: `${String(ms)}ms`, targets: given },
});
const runWith = (given: Targets, options: object = {}, ms?: number): Promise<Answer> =>
  answerOf(run, { batchDay: day, ...options }, { url: current.url, settings: settingsWith(given, ms) });
const pathsOf = (): string[] => listener.came.map(({ path }) => path);
const documents = (): Record<string, unknown>[] =>
  listener.came
    .filter(({ path }) => path.startsWith('/hook'))
    .map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const toldOutcomes = (): unknown[] =>
  documents().map(({ outcome, recovered }) => (recovered === true ? `${String(outcome)} again` : outcome));

describe('what a day has come to', () => {
  const facts = { batch: 'CLOSED', run: 'OK', isShard: false, cancelCode: null } as const;
  test.each([
    [{}, 'CLOSED'],
    [{ run: 'PARTIAL' }, 'PARTIAL'],
    [{ run: 'PARTIAL', batch: 'POSTING' }, 'OPEN'],
    [{ run: 'INTEGRITY', batch: 'RECONCILING' }, 'INTEGRITY'],
    [{ run: 'INTERRUPTED', batch: 'SETTLING', cancelCode: 'DEADLINE' }, 'DEADLINE'],
    [{ run: 'INTERRUPTED', batch: 'SETTLING', cancelCode: 'SIGTERM' }, 'INTERRUPTED'],
    [{ run: 'INTERRUPTED', batch: 'SETTLING', cancelCode: 'DATABASE_LOST' }, 'FAILED'],
    [{ run: 'ABANDONED', batch: 'SETTLING' }, 'FAILED'],
    [{ run: 'RUNNING', batch: 'SETTLING' }, null],
    [{ isShard: true, batch: 'SETTLING' }, null],
  ] as const)('%j is %s', (given, outcome) => {
    expect(dayOutcomeOf({ ...facts, ...given })).toBe(outcome);
  });

  test('is news where it is not what was told; who is new is told of the newest day only', () => {
    const standings = ['2026-11-27', '2026-11-28', '2026-11-29'].map((batchDay) => ({
      batchDay,
      outcome: 'CLOSED' as const,
    }));
    expect(newsFor(standings, new Map())).toEqual({ tell: standings.slice(2), passOver: standings.slice(0, 2) });
    const told = new Map([
      ['2026-11-27', 'PARTIAL' as const],
      ['2026-11-28', 'CLOSED' as const],
    ]);
    expect(newsFor(standings, told)).toEqual({ tell: [standings[0], standings[2]], passOver: [] });
  });
});

describe.each(databaseKinds)('the end of a run [%s]', (kind) => {
  beforeEach(async () => {
    current = await createTestDatabase(kind);
  });
  afterEach(() => current.drop());

  test('is told once; again when it has changed; and a repaired day says so', async () => {
    await givenAccounts(current.database, { FROZEN1: 'FROZEN' });
    await givenOrders(current.database, [
      { orderNo: 'O1', accountNo: 'ACCOUNT1', minor: 500 },
      { orderNo: 'O2', accountNo: 'FROZEN1', minor: 70 },
    ]);
    expect((await runWith(targets)).code).toBe(3);
    expect((await runWith(targets)).code).toBe(3);
    expect(toldOutcomes()).toEqual(['PARTIAL']);
    await givenAccounts(current.database, { FROZEN1: 'ACTIVE' });
    await answerOf(release, { account: 'FROZEN1', by: 'alice', reason: 'thawed' }, { url: current.url });
    expect((await runWith(targets)).code).toBe(0);
    expect((await runWith(targets)).code).toBe(0);
    expect(toldOutcomes()).toEqual(['PARTIAL', 'CLOSED again']);
    const [first, second] = documents();
    expect(first).toMatchObject({
      schema: 'settle.notification',
      schemaVersion: 1,
      id: `settle.${day}.hook.1`,
      batchDay: day,
      previous: null,
      exitCode: 3,
      totals: [{ currency: 'USD', orders: 2, netMinor: '570' }],
      open: { quarantinedAccounts: 1, parkedMessages: 0, openDiscrepancies: 0 },
      next: 'settle quarantine list',
    });
    expect(second).toMatchObject({ id: `settle.${day}.hook.2`, previous: 'PARTIAL', exitCode: 0 });
    const chat = listener.came.filter(({ path }) => path.startsWith('/slack')).map(({ body }) => body);
    expect(chat).toHaveLength(2);
    expect(JSON.parse(chat[1] ?? '')).toEqual({ text: expect.stringContaining(`Settle ${day}: recovered, closed`) });
    expect(listener.came.map(({ body }) => body).join()).not.toMatch(/ACCOUNT1|FROZEN1|hunter2|select /);
    expect(pathsOf().filter((path) => path.startsWith('/ping'))).toEqual(
      [3, 3, 0, 0].flatMap((code) => ['/ping/hunter2/start', `/ping/hunter2/${String(code)}`]),
    );
  });

  test('is signed with the time, as the outbox signs', async () => {
    await runWith({ hook: targets.hook });
    const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '' }] = listener.came;
    const signed = { method, path, idempotencyKey: String(headers['idempotency-key']), body };
    const header = String(headers[signatureHeader]);
    expect(isSigned(secret, header, Date.now() / 1_000, signed)).toBe(true);
    expect(isSigned(secret, header, Date.now() / 1_000, { ...signed, body: `${body} ` })).toBe(false);
  });

  test('leaves the same books and the same exit code however the other side behaves, and is told by the next run', async () => {
    await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'A1', minor: 500 }]);
    listener.answer = () => 'hang';
    const began = Date.now();
    const hanging = await runWith(targets, {}, timeoutMs);
    expect(Date.now() - began).toBeLessThan(4 * timeoutMs + 15_000);
    expect(hanging.code).toBe(0);
    const warnings = hanging.said.filter((text) => /^(Notif|Ping)/.test(text)).sort();
    expect(warnings).toEqual([
      `Notification of ${day} to chat: no answer in time. The next run tells it again.`,
      `Notification of ${day} to hook: no answer in time. The next run tells it again.`,
      'Ping (0) of switch: no answer in time.',
      'Ping (start) of switch: no answer in time.',
    ]);
    const books = await moneyDump(current.database);
    listener.answer = () => 500;
    const refused = await runWith(targets, {}, timeoutMs);
    expect([refused.code, refused.said.join()]).toEqual([0, expect.stringContaining('HTTP status 500')]);
    listener.came.length = 0;
    listener.answer = () => 200;
    expect((await runWith(targets)).said.join()).not.toMatch(/Notif|Ping/);
    expect(toldOutcomes()).toEqual(['CLOSED']);
    expect(await moneyDump(current.database)).toEqual(books);
  });

  test('of a process that died after it told and before it noted it is told once more, under the same id', async () => {
    await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'A1', minor: 500 }]);
    await runWith({ hook: targets.hook });
    // As its death leaves the row: claimed, and not noted.
    await current.database.transact(
      repeatable('death', (trx) =>
        trx.change(`update notification set told = null, told_ms = null, changes = 0, claim_no = 7, claim_ms = 0`),
      ),
    );
    await answerOf(send, {}, { url: current.url, settings: settingsWith({ hook: targets.hook }) });
    await answerOf(send, {}, { url: current.url, settings: settingsWith({ hook: targets.hook }) });
    expect(documents().map(({ id }) => id)).toEqual([`settle.${day}.hook.1`, `settle.${day}.hook.1`]);
  });

  test('is told by one of several processes that come to it together', async () => {
    if (kind === 'sqlite') return; // whose lock stops this one process, which all three of them are
    await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'A1', minor: 500 }]);
    await runWith({});
    const asked = { url: current.url, settings: settingsWith({ hook: targets.hook }) };
    const answers = await Promise.all([1, 2, 3].map(() => answerOf(send, {}, asked)));
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(toldOutcomes()).toEqual(['CLOSED']);
  });
});

describe('a target', () => {
  beforeEach(async () => {
    current = await createTestDatabase('sqlite');
  });
  afterEach(() => current.drop());

  const mailTo = (port: number) => ({
    mail: { kind: 'email', host: '127.0.0.1', port, tls: 'none', from: 'settle@example.com', to: ['ops@example.com'] },
  });

  test('gets a test when asked, each its own, and a switch only a line in its log', async () => {
    const mail = await MailServer.start();
    try {
      const settings = settingsWith({ ...targets, ...mailTo(mail.port) });
      const { code, stdout } = await answerOf(sendTest, {}, { url: current.url, settings });
      expect([code, stdout.split('\n')]).toEqual([
        0,
        ['ok     hook (webhook)', 'ok     chat (slack)', 'ok     switch (ping)', 'ok     mail (email)'],
      ]);
      expect(pathsOf().filter((path) => path.startsWith('/ping'))).toEqual(['/ping/hunter2/log']);
      expect(mail.mails.join()).toMatch(/Subject: Settle: test message/);
    } finally {
      await mail.stop();
    }
  });

  test('by mail has the same text, and is not waited for when it is silent, talks for ever, or refuses', async () => {
    const mail = await MailServer.start();
    try {
      await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'ACCOUNT1', minor: 500 }]);
      for (const [mode, reason] of [
        ['hang', 'no answer in time'],
        ['trickle', 'no answer in time'],
        ['refuse', 'the mail was not taken (EENVELOPE, SMTP 550)'],
      ] as const) {
        mail.mode = mode;
        const began = Date.now();
        const { code, said } = await runWith(mailTo(mail.port), {}, mode === 'refuse' ? 20_000 : timeoutMs);
        expect({ mode, code, said: said.filter((text) => text.startsWith('Notif')) }).toEqual({
          mode,
          code: 0,
          said: [`Notification of ${day} to mail: ${reason}. The next run tells it again.`],
        });
        expect(Date.now() - began).toBeLessThan(timeoutMs + 15_000);
      }
      mail.mode = 'take';
      await runWith(mailTo(mail.port));
      expect(mail.mails).toHaveLength(1);
      expect(mail.mails[0]).toMatch(new RegExp(`Subject: Settle ${day}: closed, nothing is left`));
      expect(mail.mails[0]).toContain(`<settle.${day}.mail.1@example.com>`);
      expect(mail.mails[0]).not.toContain('ACCOUNT1');
    } finally {
      await mail.stop();
    }
  });

  test('that refuses connections, or whose secret is not there, is said; the others are told', async () => {
    const closed = await Listener.start();
    process.env['TEST_CLOSED_URL'] = closed.url('/hunter2');
    await closed.stop();
    const { code, said } = await runWith({
      gone: { kind: 'slack', url: { env: 'TEST_CLOSED_URL' } },
      unset: { kind: 'slack', url: { env: 'TEST_UNSET_URL' } },
      hook: targets.hook,
    });
    expect([code, toldOutcomes()]).toEqual([0, ['CLOSED']]);
    expect(said.join('\n')).toMatch(/to gone: the connection failed \(ECONNREFUSED\)/);
    expect(said.join('\n')).toMatch(/of unset: .*TEST_UNSET_URL is not set/);
    expect(said.join('\n')).not.toContain('hunter2');
  });

  test('that nobody vouches for is told nothing, and one in the clear beyond this machine neither', async () => {
    process.env['TEST_PLAIN_URL'] = 'http://hooks.example.com/hunter2';
    const { said } = await runWith({ plain: { kind: 'slack', url: { env: 'TEST_PLAIN_URL' } } });
    expect(said.join()).toMatch(/of plain: its URL is not an https one/);
  });

  test('is told of an earlier day too that kept the run from its own', async () => {
    await givenAccounts(current.database, { A1: 'ACTIVE' });
    await givenOrders(current.database, [{ orderNo: 'O1', accountNo: 'A1', minor: 5, batchDay: '2026-11-28' }]);
    await runWith({ hook: targets.hook });
    expect(documents().map(({ batchDay }) => batchDay)).toEqual([day]); // new here: only the newest
    await givenOrders(current.database, [{ orderNo: 'O2', accountNo: 'A1', minor: 5, batchDay: '2026-11-30' }]);
    await answerOf(
      run,
      { batchDay: '2026-12-01' },
      { url: current.url, settings: settingsWith({ hook: targets.hook }) },
    );
    expect(documents().map(({ batchDay }) => batchDay)).toEqual([day, '2026-11-30', '2026-12-01']);
  });

  test('of a database that is gone hears it from the switch: a run that could not begin has an exit code too', async () => {
    await expect(
      answerOf(run, { batchDay: day }, { url: 'sqlite:/nowhere/at/all.db', settings: settingsWith(targets) }),
    ).rejects.toMatchObject({ exitCode: 2 });
    expect(pathsOf()).toEqual(['/ping/hunter2/start', '/ping/hunter2/2']);
  });

  test('a dry run tells nobody', async () => {
    await runWith(targets, { dryRun: true });
    expect(listener.came).toEqual([]);
  });
});

test('every outcome has its words and its next command', async () => {
  const { nextFor, noticeTitle } = await import('../src/notifications/notice.js');
  const open = { quarantinedAccounts: 0, parkedMessages: 0, unknownPayouts: 0, manualPayouts: 0, openDiscrepancies: 0 };
  const titles = dayOutcomes.map((outcome) =>
    noticeTitle({ batchDay: day, outcome, recovered: false, test: false, code: null } as never),
  );
  expect(new Set(titles).size).toBe(dayOutcomes.length);
  for (const outcome of dayOutcomes) expect(nextFor(outcome, day, open)).toMatch(/^settle [a-z]+/);
});
