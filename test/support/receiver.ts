import Sqlite from 'better-sqlite3';
import type { Channel, ChannelModel } from 'amqplib';
import {
  consumeQueue,
  handleOnce,
  inboxTable,
  type Consuming,
  type Inbox,
  type SettleEvent,
} from '../../src/consumer/index.js';
import type { Broker } from './broker.js';

/** Somebody who receives our messages from a queue, and keeps what each of them did. */
export class Receiver {
  private readonly database = new Sqlite(':memory:');
  /** Every message that came, also again. */
  came = 0;
  private link: { model: ChannelModel; channel: Channel } | null = null;
  private consuming: Consuming | null = null;

  constructor(private readonly queue: string) {
    this.database.exec(inboxTable('sqlite'));
    this.database.exec('create table effect (id text, account_no text)');
  }

  async open(broker: Broker): Promise<void> {
    this.link = await broker.open();
    this.consuming = await consumeQueue(this.link.channel, this.queue, (event) => this.take(event), { prefetch: 200 });
  }

  async close(): Promise<void> {
    await this.consuming?.stop().catch(() => undefined);
    await this.link?.model.close().catch(() => undefined);
  }

  /** How often each message had its effect, by number of times: { 1: 500 } is as it should be. */
  effects(): Record<number, number> {
    const rows = this.database
      .prepare('select times, count(*) as n from (select count(*) as times from effect group by id) group by times')
      .all() as { times: number; n: number }[];
    return Object.fromEntries(rows.map(({ times, n }) => [times, n]));
  }

  get handled(): number {
    return (this.database.prepare('select count(*) as n from effect').get() as { n: number }).n;
  }

  private async take(event: SettleEvent): Promise<void> {
    this.came += 1;
    const inbox: Inbox = {
      select: (sql, values) => Promise.resolve(this.database.prepare(sql).all(...values) as object[]),
      insert: (sql, values) => {
        this.database.prepare(sql).run(...values);
        return Promise.resolve();
      },
    };
    this.database.exec('begin');
    await handleOnce(inbox, event, ({ id, subject = '' }) => {
      this.database.prepare('insert into effect values (?, ?)').run(id, subject);
      return Promise.resolve();
    });
    this.database.exec('commit');
  }
}
