import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProxy, type Proxy } from '../support/proxy.js';
import type { Bound } from './bound.js';
import { foreignWrites, insertSql, someOrders } from './inputs.js';
import { launch, type Ended, type Launched } from './launch.js';
import type { Model } from './model.js';
import type { Fault } from './plan.js';
import type { Random } from './random.js';
import { quoted } from './store.js';
import type { World } from './world.js';

/** What came of a command: the processes that ended, and what others wrote meanwhile. */
export interface Performed {
  ended: Ended[];
  /** The fault met the command at work. */
  struck: boolean;
  /** Writes of others that were in time, to be made in the model too. */
  written: ((model: Model) => void)[];
}

/** Carries a command out under its fault. */
export async function perform(
  world: World,
  bound: Bound,
  fault: Fault | null,
  random: Random,
  model: Model,
): Promise<Performed> {
  const args = (bound.args ?? []).map((word) => (word === 'FILE' ? join(world.folder, 'input.csv') : word));
  if (bound.file !== null) writeFileSync(join(world.folder, 'input.csv'), bound.file);
  const at = new Striker(world, args, bound.env, fault);
  try {
    return await underFault(world, at, fault, random, model);
  } finally {
    await at.close();
  }
}

async function underFault(
  world: World,
  at: Striker,
  fault: Fault | null,
  random: Random,
  model: Model,
): Promise<Performed> {
  const plain = (ended: Ended, struck: boolean): Performed => ({ ended: [ended], struck, written: [] });
  switch (fault?.kind) {
    case undefined:
      return plain(await at.undisturbed().ended, false);
    case 'kill':
    case 'sigterm':
    case 'sigint': {
      const signal = ({ kill: 'SIGKILL', sigterm: 'SIGTERM', sigint: 'SIGINT' } as const)[fault.kind];
      const ended = await (await at.signalled(signal)).ended;
      return plain(ended, ended.signal !== null || (ended.code ?? 0) >= 130);
    }
    case 'signalTwice': {
      const signal = random.pick(['SIGTERM', 'SIGINT'] as const);
      const pause = random.int(0, 150);
      const child = await at.signalled(signal, () => void sleep(pause).then(() => child.kill(signal)));
      const ended = await child.ended;
      return plain(ended, ended.signal !== null || (ended.code ?? 0) >= 130);
    }
    case 'deadline': {
      const child = at.undisturbed(['--max-duration', `${String(random.int(1, 900))}ms`]);
      const ended = await child.ended;
      return plain(ended, ended.code === 12);
    }
    case 'twin': {
      const children = [at.undisturbed()];
      await sleep(random.chance(0.5) ? 0 : random.int(0, 300));
      children.push(at.undisturbed());
      const ended = await Promise.all(children.map((child) => child.ended));
      return { ended, struck: ended.some(({ code }) => code === 11), written: [] };
    }
    case 'stopped':
      return stoppedPastItsLease(at);
    case 'lock':
      return behindLocks(world, at, random, model);
    case 'writer':
      return besideAWriter(world, at, random, model, fault);
    case 'cut': {
      const how = random.pick(['drop', 'dropAnswer', 'halfAnswer', 'holdAnswer', 'deliverLate'] as const);
      const times = random.int(1, 2);
      let cuts = 0;
      const child = await at.atStatement((_child, proxy) => {
        for (; cuts < times; cuts += 1) proxy?.next(/./, how);
      });
      const ended = await child.ended;
      return plain(ended, at.cuts() > 0);
    }
    case 'killSession': {
      let killed: Promise<boolean> = Promise.resolve(false);
      const child = await at.atStatement(() => {
        killed = world.store.killSession();
      });
      const ended = await child.ended;
      return plain(ended, await killed);
    }
    case 'serverCrash': {
      const { crash } = world;
      if (crash === null) throw new Error('This server must not be killed.');
      let back: Promise<void> = Promise.resolve();
      let struck = false;
      const child = await at.atStatement(() => {
        struck = true;
        back = crash
          .kill()
          .then(() => sleep(random.int(0, 700)))
          .then(() => crash.start());
      });
      const ended = await child.ended;
      await back;
      return plain(ended, struck);
    }
  }
}

/** Frozen until another instance had its turn; then it wakes up, and must not write any more. */
async function stoppedPastItsLease(at: Striker): Promise<Performed> {
  at.env = { ...at.env, SETTLE_BATCH_LEASE_DURATION: '1s' };
  const first = await at.signalled('SIGSTOP');
  while (!first.isStopped() && !first.isOver()) await sleep(10);
  const struck = first.isStopped();
  if (!struck) return { ended: [await first.ended], struck, written: [] };
  await sleep(1_200);
  const second = at.undisturbed();
  // The frozen one may hold locks, for which the second waits with patience; so it is woken after a while anyway.
  await Promise.race([second.ended, sleep(6_000)]);
  first.kill('SIGCONT');
  return { ended: await Promise.all([first.ended, second.ended]), struck, written: [] };
}

async function behindLocks(world: World, at: Striker, random: Random, model: Model): Promise<Performed> {
  const names = [...model.orders.keys()];
  const numbers = Array.from({ length: Math.min(5, names.length) }, () => quoted(random.pick(names))).join(', ');
  const locks = random.pick([
    [`select * from settlement_order where order_no in (${numbers || "''"}) for update`],
    ['select * from lease for update'],
    ['select * from account for update', 'select * from batch for update'],
  ]);
  let ended: Ended | undefined;
  let over = false;
  await world.store.holding(world.engine === 'sqlite' ? [] : locks, 'rollback', async () => {
    const child = at.undisturbed();
    const until = Date.now() + random.int(300, 2_500);
    while (Date.now() < until && !child.isOver()) await sleep(20);
    over = child.isOver();
    void child.ended.then((value) => (ended = value));
  });
  while (ended === undefined) await sleep(10);
  return { ended: [ended], struck: !over, written: [] };
}

/** Another system cancels, edits and inserts orders while the run is at work. */
async function besideAWriter(
  world: World,
  at: Striker,
  random: Random,
  model: Model,
  fault: Fault,
): Promise<Performed> {
  const written: ((target: Model) => void)[] = [];
  const writes = foreignWrites(random, model, world.engine, true);
  const inserted = random.chance(0.5) ? someOrders(random, `W${String(fault.ms)}-${String(random.int(0, 1e6))}`) : [];
  let struck = false;
  const work = async (child: Launched): Promise<void> => {
    struck = !child.isOver();
    for (const { sql, apply } of writes) {
      if ((await world.store.change(sql)) === 1) written.push(apply);
    }
  };
  const insertion = insertSql(inserted, world.engine);
  let working: Promise<void> = Promise.resolve();
  let ended: Promise<Ended>;
  if (inserted.length > 0 && world.engine === 'server') {
    // Given their ids before the run begins, visible only while it is at work: below its watermark.
    const early = await new Promise<{ ended: Promise<Ended> }>((resolve, reject) => {
      world.store
        .holding([insertion], 'commit', async () => {
          let begun = (): void => undefined;
          const reached = new Promise<void>((reach) => (begun = reach));
          const child = await at.atStatement((launched) => {
            working = work(launched);
            begun();
          });
          await Promise.race([reached, child.ended]);
          resolve({ ended: child.ended });
        })
        .catch(reject);
    });
    ended = early.ended;
  } else {
    const child = await at.atStatement((launched) => {
      working = work(launched).then(async () => {
        if (inserted.length > 0) await world.store.change(insertion);
      });
    });
    ended = child.ended;
  }
  const last = await ended;
  await working;
  const present = new Set((await world.store.rows('select order_no from settlement_order')).map(([no]) => no));
  for (const order of inserted.filter(({ no }) => present.has(no))) {
    written.push((target) => target.orders.set(order.no, { ...order }));
  }
  return { ended: [last], struck, written };
}

/** Starts processes, and strikes at the moment that the fault names. */
class Striker {
  private readonly proxies: Proxy[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly world: World,
    private readonly args: readonly string[],
    public env: Record<string, string>,
    private readonly fault: Fault | null,
  ) {}

  undisturbed(more: readonly string[] = []): Launched {
    const { url, folder } = this.world;
    return launch([...this.args, ...more], { url, cwd: folder, env: this.env });
  }

  /** Sends the signal at the fault's moment, and says so. */
  async signalled(signal: NodeJS.Signals, then: () => void = () => undefined): Promise<Launched> {
    const statement = this.fault?.statement ?? null;
    if (this.world.engine === 'server' || statement === null) {
      return this.atStatement((child) => {
        child.kill(signal);
        then();
      });
    }
    const { url, folder } = this.world;
    const child = launch(this.args, { url, cwd: folder, env: this.env, strike: { statement, signal } });
    if (signal === 'SIGTERM' || signal === 'SIGINT') {
      // The process strikes itself; what follows is told by its own message.
      this.timer = setTimeout(then, this.fault?.ms ?? 0);
    }
    return child;
  }

  /** Does something when the fault's statement passes, or after its time where statements are not seen. */
  async atStatement(strike: (child: Launched, proxy: Proxy | null) => void): Promise<Launched> {
    const { engine, url, folder } = this.world;
    const statement = this.fault?.statement ?? null;
    if (engine === 'sqlite' || (statement === null && this.fault?.kind !== 'cut')) {
      const child = this.undisturbed();
      this.timer = setTimeout(() => {
        strike(child, null);
      }, this.fault?.ms ?? 0);
      return child;
    }
    const proxy = await startProxy(url);
    this.proxies.push(proxy);
    let seen = 0;
    const child = launch(this.args, {
      url: proxy.url,
      cwd: folder,
      // An answer that never comes is given up soon.
      env: { ...this.env, SETTLE_DATABASE_STATEMENT_TIMEOUT: '2s' },
    });
    proxy.onStatement(/./, () => {
      seen += 1;
      if (seen === (statement ?? 5)) strike(child, proxy);
    });
    return child;
  }

  cuts(): number {
    return this.proxies.reduce((sum, proxy) => sum + proxy.struck(), 0);
  }

  async close(): Promise<void> {
    clearTimeout(this.timer);
    for (const proxy of this.proxies) await proxy.close();
  }
}
