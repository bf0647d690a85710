// For receivers of Settle's messages that are written in Node: import { … } from 'settle/consumer'. See docs/outbox.md.

export type { DataOf, SettleEvent } from '../outbox/events.js';
export type { Topic } from '../kernel/topics.js';
export { ContentDiffers, handleOnce, inboxTable, type Inbox, type InboxDialect } from './inbox.js';
export { consumeQueue, type ConsumeOptions, type Consuming } from './queue.js';
export { NotOurMessage, NotSigned, readEvent, readWebhook, type WebhookRequest } from './read.js';
