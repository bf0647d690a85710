/** What others may listen to. Settings spell a topic in camel case, messages and tables as here. */
export const topics = {
  settlement: 'SETTLEMENT',
  reversal: 'REVERSAL',
  payout: 'PAYOUT',
  alert: 'ALERT',
  dayClosed: 'DAY_CLOSED',
} as const;

export type TopicKey = keyof typeof topics;
export type Topic = (typeof topics)[TopicKey];

export const topicKeys = Object.keys(topics) as TopicKey[];

export function keyOf(topic: Topic): TopicKey {
  return topicKeys.find((key) => topics[key] === topic) as TopicKey;
}
