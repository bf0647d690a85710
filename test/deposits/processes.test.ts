import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { repeatable } from '../../src/db/transaction.js';
import { checksummed } from '../../src/deposits/address.js';
import { createTestDatabase, kindsForProcesses, type TestDatabase } from '../support/databases.js';
import { depositLines, emptyDeposits } from '../support/deposits.js';
import { TestNode } from '../support/node.js';
import { startNodeProxy, type NodeProxy } from '../support/nodeProxy.js';
import { withoutTriggers } from '../support/plants.js';
import { settleInside } from '../support/inside.js';
import { settle, type Ended } from '../support/program.js';

// The program as it is typed, against a real node: from the file of orders to the payout of the account that was credited.

let node: TestNode;
let proxy: NodeProxy;
let token = '';
let receiver = '';
beforeAll(async () => {
  node = await TestNode.start();
  proxy = await startNodeProxy(node.url);
  token = await node.deploy('Token');
  receiver = node.account(1);
  await node.send(token, 'mint(address,uint256)', [node.account(0), 10n ** 30n]);
}, 60_000);
afterAll(async () => {
  await proxy.close();
  await node.stop();
});

describe.each(kindsForProcesses('sqlite'))('the commands [%s]', (kind) => {
  let place: TestDatabase;
  let folder: string;
  const told: string[] = [];
  beforeAll(async () => {
    place = await createTestDatabase(kind);
    await withoutTriggers(place.database);
    folder = mkdtempSync(join(tmpdir(), 'settle-test-'));
    writeFileSync(join(folder, 'rpc'), `${proxy.url}\n`);
    const tokens = `{ usdt: { address: '${checksummed(token)}', decimals: 6, currency: USD } }`;
    const explorer = 'https://explorer.example/tx/';
    const local = `{ chainId: 31337, url: { file: rpc }, requiredConfirmations: 2, explorer: ${explorer}, tokens: ${tokens} }`;
    const lines = [
      `chains: { local: ${local} }`,
      `deposits: { rpcTimeout: 1s, rpcRetries: 0, scenes: { recharge: { handler: order }, nothing: { handler: none } } }`,
      `channels: { bank: { kind: simulator, book: book.ndjson } }`,
      `payouts: { channel: bank }`,
    ];
    writeFileSync(join(folder, 'settle.yaml'), lines.join('\n'));
  });
  beforeEach(async () => {
    proxy.be({});
    await emptyDeposits(place.database);
  });
  afterAll(async () => {
    await place.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const say = async (...words: string[]): Promise<Ended> => {
    const ended = await settleInside(['-v', '--log-file', 'settle.log', ...words], {
      url: place.url,
      cwd: folder,
      env: { SETTLE_DEBUG: '1' },
    });
    told.push(ended.stdout + ended.stderr);
    return ended;
  };
  const deposit = (...words: string[]): Promise<Ended> => say('deposit', ...words);
  const by = ['--by', 'alice', '--reason', 'as ordered'];
  const json = async <T>(ended: Promise<Ended>): Promise<T> => JSON.parse((await ended).stdout) as T;

  /** Orders that are known, and what paid each of them: 25.00, 26.00 … */
  const given = async (count: number): Promise<string[]> => {
    const rows = Array.from({ length: count }, (_, at) => {
      const accountNo = `M${String(at)}`;
      return `R-${String(at)},local,${checksummed(token)},${receiver},${String(25_000_000 + at * 1_000_000)},2020-01-01T00:00:00Z,recharge,${accountNo}`;
    });
    const head = 'out_trade_no,chain_name,token,receiver,amount_raw,created_at,scene,account_no';
    writeFileSync(join(folder, 'deposits.csv'), `${[head, ...rows].join('\n')}\n`);
    expect((await deposit('import', 'deposits.csv')).stdout).toContain(`${String(count)} accepted`);
    const hashes: string[] = [];
    for (let at = 0; at < count; at += 1) {
      hashes.push(
        await node.send(token, 'transfer(address,uint256)', [receiver, 25_000_000n + BigInt(at) * 1_000_000n]),
      );
    }
    await node.mine(2);
    return hashes;
  };
  const approve = async (no: string, hash: string): Promise<string> => {
    const plan = await json<{ reviewFingerprint: string; state: string }>(deposit('plan', no, '--tx', hash, '--json'));
    expect(plan.state).toBe('ready');
    const ended = await deposit('review', 'approve', no, '--tx', hash, '--fingerprint', plan.reviewFingerprint, ...by);
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    return plan.reviewFingerprint;
  };

  // What does not depend on the database is asked on one of them: each word that is typed is a process.
  const once = (title: string, body: () => Promise<void>, limitMs: number): void => {
    if (kind === 'sqlite') test(title, body, limitMs);
  };

  once(
    'from a file of orders to the payout: each step says the next, a second time changes nothing',
    async () => {
      const [first = '', second = ''] = await given(2);
      expect((await deposit('import', 'deposits.csv')).stdout).toContain('2 repeated');
      const plan = await deposit('plan', 'R-0', '--tx', first);
      expect(plan.code).toBe(0);
      expect(plan.stdout).toMatch(/^state {8}ready$/m);
      expect(plan.stdout).toMatch(
        /Next: settle deposit review approve R-0 --tx 0x[0-9a-f]{64} --log-index 0 --fingerprint 1:/,
      );
      expect((await deposit('plan', 'R-0', '--tx', second, '--json')).code).toBe(3);
      expect((await deposit('settle', 'R-0', ...by)).code).toBe(5);
      await approve('R-0', first);
      await approve('R-1', second);
      const settled = await json<Record<string, unknown>>(deposit('settle', 'R-0', ...by, '--json'));
      expect(settled).toMatchObject({ schema: 'settle.depositSettle', outcome: 'settled', delivered: 1, parked: 0 });
      const again = await deposit('settle', 'R-0', ...by);
      expect([again.code, again.stdout.includes('It was before')]).toEqual([0, true]);
      expect((await deposit('settle', 'R-1', ...by)).code).toBe(0);
      expect(await depositLines(place.database)).toEqual([
        `R-0 success ${first.slice(0, 6)}:0`,
        `R-1 success ${second.slice(0, 6)}:0`,
      ]);
      const shown = await json<{ settlements: { explorer: string; delivery: string }[] }>(
        deposit('show', 'R-0', '--json'),
      );
      expect(shown.settlements[0]).toMatchObject({
        explorer: `https://explorer.example/tx/${first}`,
        delivery: 'SENT',
      });

      const today = (
        await place.database.read((session) => session.tuples('select batch_day from settlement_order'))
      )[0];
      const run = await say('run', '--batch-day', String(today?.[0]), '--json');
      expect(JSON.parse(run.stdout)).toMatchObject({ outcome: 'OK' });
      const balance = await json<{ balanced: boolean }>(say('ledger', 'trial-balance', '--json'));
      expect(balance.balanced).toBe(true);
      await say('payout', 'run');
      const { payouts } = await json<{ payouts: Record<string, string>[] }>(say('payout', 'list', '--json'));
      expect(payouts.map(({ accountNo, amountMinor }) => `${accountNo ?? ''} ${amountMinor ?? ''}`).sort()).toEqual([
        ...['M0 2500', 'M1 2600'],
      ]);
      expect((await say('deposit', 'audit', '--older-than-minutes', '0')).stdout).toContain(
        '2 settlements audited, 0 with a risk',
      );
    },
    120_000,
  );

  test('killed at a statement of settle, it settles once by the next call', async () => {
    const [hash = ''] = await given(1);
    await approve('R-0', hash);
    const trace = join(folder, 'trace');
    const at = (point: object): Promise<Ended> => {
      rmSync(trace, { force: true });
      const env = {
        NODE_OPTIONS: `--import ${join(process.cwd(), 'test/support/crashPoint.mjs')}`,
        CRASH_POINT: JSON.stringify({ trace, ...point }),
      };
      return settle(['deposit', 'settle', 'R-0', ...by], { url: place.url, cwd: folder, env });
    };
    /** As it was before: approved, and not settled. */
    const rewind = (): Promise<void> =>
      place.database.transact(
        repeatable('rewind', async (trx) => {
          for (const table of ['deposit_transaction', 'outbox', 'settlement_order', 'account'])
            await trx.change(`delete from ${table}`);
          await trx.change(`delete from deposit_log where action = 'settle'`);
          await trx.change(`delete from operator_action where action = 'DEPOSIT_SETTLE'`);
          await trx.change(`update deposit_order set status = 'pending', version = 0, finished_at = null`);
          await trx.change(`update deposit_review set state = 'approved', last_code = null`);
        }),
      );
    const left = async (): Promise<string[]> => {
      const lines = await depositLines(place.database);
      for (const sql of [
        `select state, topic from outbox`,
        `select account_no, amount_minor, state from settlement_order`,
        `select state from deposit_review`,
        `select action from deposit_log where action = 'settle'`,
        `select action from operator_action where action = 'DEPOSIT_SETTLE'`,
      ]) {
        const rows = await place.database.read((session) => session.tuples(sql));
        lines.push(...rows.map((row) => row.map(String).join(' ')));
      }
      return lines;
    };
    expect((await at({})).code).toBe(0);
    const undisturbed = await left();
    expect(undisturbed).toHaveLength(6);
    const statements = readFileSync(trace, 'utf8').trim().split('\n').length - 1;
    expect(statements).toBeGreaterThan(15);
    const every = process.env['SETTLE_TEST_FAULTS'] === 'every';
    const points = every ? statements : 2;
    let killed = 0;
    for (let point = 1; point <= points; point += 1) {
      for (const side of every ? ['before', 'sent', 'after'] : ['after']) {
        await rewind();
        const no = every ? point : Math.round((statements * (point + 2)) / (points + 3));
        if ((await at({ at: no, side })).signal === 'SIGKILL') killed += 1;
        const again = await settleInside(['deposit', 'settle', 'R-0', ...by], { url: place.url, cwd: folder });
        expect([no, side, again.code, again.stderr]).toEqual([no, side, 0, '']);
        expect([no, side, ...(await left())]).toEqual([no, side, ...undisturbed]);
      }
    }
    expect(killed).toBeGreaterThan(points / 2);
  }, 900_000);

  test('four processes settle one order at once: one does, the others say so', async () => {
    const [hash = ''] = await given(1);
    await approve('R-0', hash);
    const ended = await Promise.all(
      Array.from({ length: 4 }, () =>
        settle(['deposit', 'settle', 'R-0', ...by, '--json'], { url: place.url, cwd: folder }),
      ),
    );
    const outcomes = ended.map(({ stdout }) => (JSON.parse(stdout) as { outcome: string }).outcome).sort();
    expect(outcomes).toEqual([...Array<string>(3).fill('already-settled'), 'settled']);
    expect(await depositLines(place.database)).toHaveLength(1);
    const orders = await place.database.read((session) => session.tuples('select count(*) from settlement_order'));
    expect(String(orders[0]?.[0])).toBe('1');
  }, 60_000);

  once(
    'a node that is away is a trouble of the node, told without where it is, its key or what it said',
    async () => {
      const [hash = ''] = await given(1);
      await approve('R-0', hash);
      for (const misbehaviour of [{ status: 401 }, { text: '<html>s3cretBody</html>' }, { cuts: true }]) {
        proxy.be(misbehaviour);
        const plan = await json<{ state: string; reasonCode: string }>(deposit('plan', 'R-0', '--tx', hash, '--json'));
        expect(plan.state).toBe('failed');
        expect((await deposit('settle', 'R-0', ...by)).stdout).toContain('is not settled: rpc-');
      }
      expect((await deposit('plan', 'R-0', '--tx', hash)).stdout).toContain('rpc-query-failed');
      writeFileSync(join(folder, 'rpc'), 'not a URL, but s3cretKey\n');
      expect((await deposit('plan', 'R-0', '--tx', hash)).code).toBe(2);
      writeFileSync(join(folder, 'rpc'), `${proxy.url}\n`);
      await deposit('auto', '--json');
      await deposit('review', 'list', '--all', '--json');
      await say('outbox', 'status', '--json');
      const rows = await place.database.read((session) => session.tuples('select payload from outbox'));
      told.push(...rows.flat().map(String), readFileSync(join(folder, 'settle.log'), 'utf8'));
      for (const hidden of ['s3cret', '127.0.0.1', new URL(proxy.url).port + '/v1']) {
        expect(told.filter((text) => text.includes(hidden))).toEqual([]);
      }
    },
    120_000,
  );
});
