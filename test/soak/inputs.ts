import { command, finishedAt, occurredAt, statement, told, type Bound, type Engine } from './bound.js';
import { accountNames, badLine, fileHeader, fileLine, initOrders, makeOrder } from './made.js';
import type { AccountState, Model, ModelOrder } from './model.js';
import type { Random } from './random.js';
import { quoted } from './store.js';

/** `serial` makes order numbers unique in a history, whichever operations are left out of it. */
export function importOrders(random: Random, model: Model, serial: string): Bound {
  const register = random.chance(0.75);
  const env = register ? {} : { SETTLE_ACCOUNTS_AUTO_REGISTER: 'false' };
  const fresh: ModelOrder[] = [];
  const lines: string[] = [];
  let [repeated, rejected] = [0, 0];
  const elephant = random.chance(0.25);
  const size = random.int(1, elephant ? 60 : 30);
  for (let at = 0; at < size; at += 1) {
    const account = elephant && random.chance(0.7) ? 'ELE' : undefined;
    const order = makeOrder(random, `${serial}-${String(at)}`, account);
    const what = random.weighted({ fresh: 84, repeat: 6, conflict: 4, bad: 6 });
    const known = [...model.orders.values(), ...fresh];
    if (what === 'bad') {
      lines.push(badLine(random, order));
      rejected += 1;
    } else if (what === 'fresh' || known.length === 0) {
      fresh.push(order);
      lines.push(fileLine(order));
    } else {
      const before = random.pick(known);
      const same = what === 'repeat';
      lines.push(fileLine(same ? before : { ...before, minor: before.minor === 7n ? 8n : 7n }));
      if (same) repeated += 1;
      else rejected += 1;
    }
  }
  const broken = random.chance(0.04);
  if (broken) lines.splice(random.int(0, lines.length), 0, 'N0,"A1,2024-03-01');
  const file = `${fileHeader}\n${lines.join('\n')}\n`;
  return command({
    text: `settle import orders FILE (${String(fresh.length)} new, ${String(repeated)} repeated, ${String(rejected)} bad${broken ? ', broken' : ''}${register ? '' : ', no auto-register'})`,
    args: ['import', 'orders', 'FILE', '--json'],
    env,
    file,
    apply: (target) => {
      if (broken) return { exitCode: 2 };
      for (const order of fresh) {
        target.orders.set(order.no, { ...order });
        if (register && !target.accounts.has(order.account)) target.accounts.set(order.account, 'ACTIVE');
      }
      return {
        exitCode: rejected > 0 ? 3 : 0,
        check: ({ files }) => {
          const [only] = files as Record<string, unknown>[];
          const told0 = told(only ?? {}, { accepted: fresh.length, repeated, refused: null });
          const listed = (only?.['rejected'] as unknown[] | undefined)?.length;
          return listed === rejected ? told0 : [...told0, `the answer lists ${String(listed)} refused rows`];
        },
      };
    },
  });
}

export function importAccounts(random: Random): Bound {
  const states: readonly AccountState[] = ['ACTIVE', 'ACTIVE', 'FROZEN', 'CLOSED'];
  const rows = Array.from(
    { length: random.int(1, 4) },
    () => [random.pick(accountNames), random.pick(states)] as const,
  );
  return command({
    text: `settle import accounts FILE (${rows.map((row) => row.join(' ')).join(', ')})`,
    args: ['import', 'accounts', 'FILE', '--json'],
    file: `account_no,status\n${rows.map((row) => row.join(',')).join('\n')}\n`,
    apply: (target) => {
      for (const [account, state] of rows) target.accounts.set(account, state);
      return { exitCode: 0 };
    },
  });
}

/** What another system does to one INIT order, as one statement that says by its count whether it was in time. */
export interface ForeignWrite {
  sql: string;
  apply(model: Model): void;
}

export function foreignWrites(random: Random, model: Model, engine: Engine, inRun = false): ForeignWrite[] {
  // What a closed day was frozen with stays as it is: a change contradicts the totals, and is meant to be named.
  const init = initOrders(model).filter(
    (order) => model.days.get(order.day)?.closed !== true && (!inRun || model.blocked(order.account) === null),
  );
  const writes: ForeignWrite[] = [];
  for (let count = Math.min(init.length, random.int(1, 4)); count > 0; count -= 1) {
    const { no, type } = init.splice(random.int(0, init.length - 1), 1)[0] as ModelOrder;
    const where = `where order_no = ${quoted(no)} and state = 'INIT'`;
    if (random.chance(0.6)) {
      const state = random.pick(['CANCELED', 'FAILED'] as const);
      writes.push({
        sql: `update settlement_order set state = '${state}', version = version + 1, cancel_code = 'ELSEWHERE',
                     finished_at = ${finishedAt(engine)} ${where}`,
        apply: (target) => Object.assign(target.orders.get(no) ?? {}, { state }),
      });
    } else {
      const minor = BigInt(random.int(1, 900_000)) * (type === 'ADJUSTMENT' && random.chance(0.5) ? -1n : 1n);
      writes.push({
        sql: `update settlement_order set amount_minor = ${minor.toString()} ${where}`,
        apply: (target) => Object.assign(target.orders.get(no) ?? {}, { minor }),
      });
    }
  }
  return writes;
}

export function insertSql(orders: readonly ModelOrder[], engine: Engine): string {
  const values = orders.map(
    ({ no, account, day, type, minor, currency, channel }) =>
      `(${[no, account, day, type].map(quoted).join(', ')}, ${minor.toString()}, ${quoted(currency)}, ${quoted(channel)}, ${occurredAt(engine)})`,
  );
  return `insert into settlement_order (order_no, account_no, batch_day, type, amount_minor, currency, channel, occurred_at)
          values ${values.join(', ')}`;
}

export function someOrders(random: Random, serial: string): ModelOrder[] {
  return Array.from({ length: random.int(1, 4) }, (_, at) => makeOrder(random, `${serial}-X${String(at)}`));
}

/** Orders written straight into the table; nobody registers their accounts. */
export function foreignInsert(random: Random, serial: string, engine: Engine): Bound {
  const orders = someOrders(random, serial);
  return statement(`another system inserts ${String(orders.length)} orders`, [insertSql(orders, engine)], (model) => {
    for (const order of orders) model.orders.set(order.no, { ...order });
  });
}

export function foreignChange(random: Random, model: Model, engine: Engine): Bound {
  const writes = foreignWrites(random, model, engine);
  return statement(
    `another system changes ${String(writes.length)} INIT orders`,
    writes.map(({ sql }) => sql),
    (target) => {
      for (const write of writes) write.apply(target);
    },
  );
}

/** From now on the database refuses an account's nets or ledger entries; or no longer. */
export function refusal(random: Random, model: Model, engine: Engine): Bound {
  const what = random.pick(['net', 'ledger'] as const);
  const [account] = model.refusing[what];
  const name = `refuse_${what}`;
  if (account !== undefined) {
    return statement(`the database takes ${what} rows of ${account} again`, [`drop trigger ${name}`], (target) =>
      target.refusing[what].clear(),
    );
  }
  const refused = random.pick(accountNames);
  const [table, column] = what === 'net' ? ['net', 'account_no'] : ['ledger_entry', 'sub_account'];
  const sql =
    engine === 'sqlite'
      ? `create trigger ${name} before insert on ${table} when new.${column} = ${quoted(refused)} begin select raise(abort, 'no'); end`
      : `create trigger ${name} before insert on ${table} for each row
         begin if new.${column} = ${quoted(refused)} then signal sqlstate '45000' set message_text = 'no'; end if; end`;
  return statement(`the database refuses ${what} rows of ${refused}`, [sql], (target) =>
    target.refusing[what].add(refused),
  );
}
