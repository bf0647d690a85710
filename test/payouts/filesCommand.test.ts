import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import BetterSqlite3 from 'better-sqlite3';
import { header, orderLine } from '../support/importing.js';
import { readPaymentFile } from '../support/pain001Rules.js';
import { settleInside } from '../support/inside.js';
import { settle, type Ended } from '../support/program.js';

// The program itself, as cron starts it: a payment file from configuration to answer, and killed at every statement.

/** Statements from one kill to the next: each takes two runs of the program. */
const stride = process.env['SETTLE_TEST_FAULTS'] === 'every' ? 1 : 10;

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'settle-files-command-'));
  mkdirSync(join(folder, 'closed'));
  const write = (name: string, lines: string[]): void => {
    writeFileSync(join(folder, 'closed', name), `${lines.join('\n')}\n`);
  };
  write('settle.yaml', [
    'channels:',
    '  sepa:',
    '    kind: file',
    '    dir: outbox',
    '    paymentsPerFile: 3',
    '    currencies: [EUR]',
    '    debtor: { name: Payment Company, iban: DE89 3704 0044 0532 0130 00, bic: COBADEFFXXX }',
    'payouts: { channel: sepa }',
  ]);
  const accounts = ['A1', 'A2', 'A3', 'A4', 'A5'];
  write('orders.csv', [
    header,
    ...accounts.map((no) => orderLine({ order_no: `O${no}`, account_no: no, currency: 'EUR' })),
  ]);
  const row = (no: string, iban: string, holder: string): string => `${no},${iban},${holder}`;
  const names = 'account_no,destination,holder';
  write('beneficiaries.csv', [names, ...accounts.map((no) => row(no, 'GB82WEST12345698765432', 'Anna Ott'))]);
  write('mistyped.csv', [
    names,
    row('A1', 'GB82WEST12345698765433', 'Anna Ott'),
    row('A2', 'GB82WEST12345698765432', 'Jürgen'),
  ]);
  expect(await run('closed', ['import', 'orders', 'orders.csv'])).toMatchObject({ code: 0 });
  expect(await run('closed', ['run', '--batch-day', '2026-11-29'])).toMatchObject({ code: 0 });
}, 60_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const run = (place: string, args: string[], env: Record<string, string> = {}): Promise<Ended> =>
  'NODE_OPTIONS' in env
    ? settle(args, { cwd: join(folder, place), env })
    : settleInside(args, { cwd: join(folder, place), env });
const outbox = (place: string): string[] => {
  try {
    return readdirSync(join(folder, place, 'outbox')).sort();
  } catch {
    return [];
  }
};
/** What the bank fetched, taken away as it does. */
const fetched = (place: string): string[] =>
  outbox(place)
    .filter((name) => !name.startsWith('.'))
    .map((name) => {
      const text = readFileSync(join(folder, place, 'outbox', name), 'utf8');
      rmSync(join(folder, place, 'outbox', name));
      return text;
    });
const keysOf = (xml: string): string[] =>
  readPaymentFile(xml)
    .texts.filter(({ path }) => path.endsWith('/EndToEndId'))
    .map(({ text }) => text);
const inDatabase = <T>(place: string, work: (database: BetterSqlite3.Database) => T): T => {
  const database = new BetterSqlite3(join(folder, place, 'settle.db'));
  try {
    return work(database);
  } finally {
    database.close();
  }
};
const copied = (name: string): string => {
  cpSync(join(folder, 'closed'), join(folder, name), { recursive: true });
  return name;
};

describe('settle', () => {
  test('takes no beneficiary whom a payment file cannot name', async () => {
    const refused = await run('closed', ['import', 'beneficiaries', 'mistyped.csv']);
    expect(refused.code).toBe(2);
    expect(refused.stdout).toContain(
      'line 2: BAD_DESTINATION: Channel sepa writes payment files. The destination is no IBAN',
    );
    expect(refused.stdout).toContain('line 3: BAD_DESTINATION: Channel sepa writes payment files. The holder is not');
    expect(refused.stdout).not.toContain('GB82');
    expect(await run('closed', ['import', 'beneficiaries', 'beneficiaries.csv'])).toMatchObject({ code: 0 });
  });

  test('writes payment files, and takes what the bank reports', async () => {
    const place = copied('whole');
    const ran = await run(place, ['payout', 'run']);
    expect(ran).toMatchObject({ code: 3 });
    expect(ran.stdout).toContain('sepa: 5 asked; 5 UNKNOWN');
    const [first = '', second = ''] = fetched(place);
    expect([keysOf(first).length, keysOf(second).length]).toEqual([3, 2]);
    for (const xml of [first, second]) {
      const messageId = readPaymentFile(xml).texts[0]?.text ?? '';
      writeFileSync(
        join(folder, place, 'report.xml'),
        `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr><MsgId>R</MsgId></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>${messageId}</OrgnlMsgId><GrpSts>ACSC</GrpSts></OrgnlGrpInfAndSts></CstmrPmtStsRpt></Document>`,
      );
      const taken = await run(place, ['payout', 'answers', 'report.xml', '--channel', 'sepa']);
      expect(taken).toMatchObject({ code: 0, stderr: '' });
      expect(taken.stdout).toContain(`on ${messageId}: ${String(keysOf(xml).length)} paid, 0 refused`);
    }
    const again = await run(place, ['payout', 'answers', 'report.xml', '--channel', 'sepa']);
    expect(again.stdout).toContain('taken before; nothing is changed');
    const broken = await run(place, ['payout', 'answers', 'orders.csv', '--channel', 'sepa', '--json']);
    expect(broken.code).toBe(2);
    expect(JSON.parse(broken.stdout)).toMatchObject({ imported: null, refused: { code: 'BAD_XML' } });
    expect(await run(place, ['payout', 'run'])).toMatchObject({ code: 0 });
    const cash = `select side || ' ' || sum(amount_minor) from ledger_entry where ledger_account = 'CHANNEL_CASH' group by side`;
    expect(inDatabase(place, (database) => database.prepare(cash).pluck().all())).toEqual(['CREDIT 6250']);
  }, 30_000);

  test('killed at any statement while it writes, puts each payout into one file', async () => {
    const crashPoint = (point: object): Record<string, string> => ({
      NODE_OPTIONS: `--import ${pathToFileURL(join(process.cwd(), 'test/support/crashPoint.mjs')).href}`,
      CRASH_POINT: JSON.stringify(point),
      SETTLE_DATABASE_URL: 'sqlite:settle.db',
    });
    const trace = (place: string): string => join(folder, place, 'trace.jsonl');
    copied('undisturbed');
    await run('undisturbed', ['payout', 'run'], crashPoint({ trace: trace('undisturbed') }));
    const undisturbed = fetched('undisturbed').flatMap(keysOf).sort();
    const statements = readFileSync(trace('undisturbed'), 'utf8')
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { no?: number; sql?: string }]));
    const from = statements.findIndex(({ sql }) => /payment_file/.test(sql ?? ''));
    const points = statements.slice(from).filter(({ sql }) => sql !== undefined);
    expect(points.length).toBeGreaterThan(20);
    const results: Record<string, unknown> = {};
    for (const { no = 0, sql = '' } of points.filter((_, at) => at % stride === 0)) {
      const place = copied(`at-${String(no)}`);
      const killed = await run(place, ['payout', 'run'], crashPoint({ trace: trace(place), at: no, side: 'after' }));
      const taken = fetched(place);
      inDatabase(place, (database) => {
        database.exec(`update payment_file set lease_ms = 0; update payout set next_ms = 0 where state = 'PROCESSING'`);
      });
      await run(place, ['payout', 'run']);
      taken.push(...fetched(place));
      const states = inDatabase(place, (database) =>
        database.prepare('select distinct state from payout').pluck().all(),
      );
      const open = inDatabase(place, (database) =>
        database.prepare('select count(*) from payment_file where written_at is null').pluck().get(),
      );
      const keys = taken.flatMap(keysOf).sort();
      const good = killed.signal === 'SIGKILL' && open === 0 && states.join() === 'UNKNOWN';
      if (!good || keys.join() !== undisturbed.join()) results[`${String(no)} ${sql}`] = { keys, states, open, killed };
      rmSync(join(folder, place), { recursive: true });
    }
    expect(results).toEqual({});
  }, 300_000);
});
