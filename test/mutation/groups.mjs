/** What is mutated, and the tests that alone have to notice: no other test of the suite counts. */
export const groups = [
  { mutate: ['src/netting/netOrders.ts'], tests: ['netting'] },
  { mutate: ['src/settlement/planSettlement.ts'], tests: ['planSettlement'] },
  { mutate: ['src/settlement/settleChunk.ts'], tests: ['settleChunk'] },
  { mutate: ['src/ledger/journalEntry.ts'], tests: ['journalEntry'] },
  { mutate: ['src/ledger/postSettlements.ts'], tests: ['postSettlements'] },
  { mutate: ['src/kernel/money.ts'], tests: ['kernel.money'] },
  { mutate: ['src/kernel/states.ts', 'src/kernel/cancellation.ts'], tests: ['kernel'] },
  { mutate: ['src/sharding/planChunks.ts', 'src/sharding/lanes.ts'], tests: ['sharding'] },
  { mutate: ['src/orders/fingerprint.ts'], tests: ['fingerprint'] },
  { mutate: ['src/outbox/message.ts'], tests: ['message'] },
  { mutate: ['src/db/transaction.ts'], tests: ['db.unit'] },
  { mutate: ['src/db/failure.ts'], tests: ['db.failure'] },
];
