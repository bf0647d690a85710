import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { everyRow } from '../support/day.js';
import { settle } from '../support/program.js';
import { startCluster, type Cluster, type Node } from './cluster.js';
import { givenPlace, slowly, undisturbedMoney, until, using, type Place } from './place.js';

// Nodes that are killed while a run works through them, a cluster without a majority, and a program that is killed.

let cluster: Cluster;
let undisturbed: string[];
beforeAll(async () => {
  cluster = await startCluster();
  undisturbed = await undisturbedMoney();
});
afterAll(() => cluster.stop());

async function count(place: Place, node: Node, what: string): Promise<number> {
  const [row] = await node.sql(
    `use ${new URL(place.urlOn(node)).pathname.slice(1)}`,
    `select count(*) as n from ${what}`,
  );
  return Number(row?.['n']);
}

/** Starts a run through a node, and calls back once when so many rows are there, as another node sees it. */
function runUntil(
  place: Place,
  through: Node,
  watched: { node: Node; what: string; rows: number },
  then: (run: ReturnType<typeof settle>) => Promise<void>,
): Promise<[Awaited<ReturnType<typeof settle>>, void]> {
  const run = settle(['run', ...slowly, '--json'], {
    url: place.urlOn(through),
    env: { SETTLE_DATABASE_CONNECT_TIMEOUT: '3s' },
  });
  let over = false;
  void run.then(() => (over = true));
  const struck = until(
    `${String(watched.rows)} rows of ${watched.what}`,
    async () => over || (await count(place, watched.node, watched.what)) >= watched.rows,
  ).then(() => then(run));
  return Promise.all([run, struck]);
}

test.each([
  ['settling', 'chunk', 8],
  ['posting', `outbox where state = 'SENT'`, 12],
])(
  'the node a run writes to is killed while it is %s: the run ends with 75, and the next one finishes through another node',
  async (_stage, what, rows) => {
    const [first, second, third] = cluster.nodes;
    const place = await givenPlace(cluster);
    const [ended] = await runUntil(place, first, { node: second, what, rows }, () => first.kill());
    expect({ code: ended.code, document: JSON.parse(ended.stdout) }).toMatchObject({
      code: 75,
      document: {
        outcome: 'INTERRUPTED',
        cancellation: { code: 'DATABASE_LOST' },
        error: { code: 'DATABASE_UNREACHABLE' },
      },
    });
    const next = await settle(['run', '--batch-day', '2026-11-29', '--json'], { url: place.urlOn(second) });
    expect({ code: next.code, document: JSON.parse(next.stdout) }).toMatchObject({
      code: 3,
      document: { closed: true },
    });
    expect(await place.moneyOn(second, third)).toEqual([undisturbed, undisturbed]);
    expect((await settle(['verify'], { url: place.urlOn(third) })).code).toBe(0);

    await first.start();
    expect(await place.moneyOn(first)).toEqual([undisturbed]);
    const before = await using(await place.open(first), everyRow);
    expect((await settle(['run', '--batch-day', '2026-11-29'], { url: place.urlOn(first) })).code).toBe(3);
    expect(await using(await place.open(first), everyRow)).toBe(before);
  },
);

test('a node that lost its majority refuses everything: the run ends with 75, and goes on when the cluster is whole', async () => {
  const [first, second, third] = cluster.nodes;
  const place = await givenPlace(cluster);
  const [ended] = await runUntil(place, first, { node: second, what: 'chunk', rows: 8 }, async () => {
    await Promise.all([second.kill(), third.kill()]);
  });
  expect({ code: ended.code, document: JSON.parse(ended.stdout) }).toMatchObject({
    code: 75,
    document: { outcome: 'INTERRUPTED', cancellation: { code: 'DATABASE_LOST' } },
  });
  expect(await settle(['status'], { url: place.urlOn(first) })).toMatchObject({
    code: 75,
    stderr: expect.stringMatching(/DATABASE_(UNREACHABLE|CONTENTION)/),
  });

  await first.sql(`set global wsrep_provider_options = 'pc.bootstrap=YES'`);
  await second.start();
  await third.start();
  expect((await settle(['run', '--batch-day', '2026-11-29'], { url: place.urlOn(third) })).code).toBe(3);
  expect(await place.moneyOn(first, second, third)).toEqual([undisturbed, undisturbed, undisturbed]);
});

test('a program killed again and again, and started again each time through the next node, comes to the same books', async () => {
  const place = await givenPlace(cluster);
  const steps = ['chunk', `outbox where state = 'SENT'`];
  let kills = 0;
  for (let round = 0; round < 8; round += 1) {
    const node = cluster.nodes[round % 3] as Node;
    const what = steps[round < 5 ? 0 : 1] as string;
    const rows = (await count(place, node, what)) + 4;
    const [ended] = await runUntil(place, node, { node, what, rows }, async (run) => {
      run.kill('SIGKILL');
      await run;
    });
    if (ended.signal === 'SIGKILL') kills += 1;
  }
  expect(kills).toBeGreaterThan(4);
  expect((await settle(['run', '--batch-day', '2026-11-29'], { url: place.urlOn(cluster.nodes[0]) })).code).toBe(3);
  expect(await place.moneyOn(...cluster.nodes)).toEqual([undisturbed, undisturbed, undisturbed]);
});
