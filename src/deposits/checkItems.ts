/** The checks of a plan, in their order: what must hold, and which earlier one must pass before it can be looked at. */
export const checkItems = [
  { item: 1, title: 'the order exists', needs: [] },
  { item: 2, title: 'it is paid on a chain', needs: [1] },
  { item: 3, title: 'it is pending', needs: [1] },
  { item: 4, title: 'its addresses and amount are valid', needs: [1] },
  { item: 5, title: 'its chain is configured, and the token allowed', needs: [1] },
  { item: 6, title: 'the transaction hash has 32 bytes', needs: [1] },
  { item: 7, title: 'the node answers, and its answers can be read', needs: [1, 2, 3, 4, 5, 6] },
  { item: 8, title: 'the node is on the configured chain', needs: [7] },
  { item: 9, title: 'the transaction has a receipt', needs: [8] },
  { item: 10, title: 'its block is the block at that height', needs: [9] },
  { item: 11, title: 'it succeeded', needs: [9] },
  { item: 12, title: 'it was not settled in another block', needs: [9] },
  { item: 13, title: 'it has the Transfer, of the shape of ERC-20', needs: [9] },
  { item: 14, title: 'the log is not removed', needs: [13] },
  { item: 15, title: 'contract, receiver and amount are the order’s', needs: [13] },
  { item: 16, title: 'neither the event nor the transaction was used for it', needs: [13] },
  { item: 17, title: 'it is confirmed', needs: [9] },
  { item: 18, title: 'it was paid while the order was open', needs: [10] },
  { item: 19, title: 'the amount needs no person', needs: [4, 5] },
  { item: 20, title: 'it is what was approved', needs: [1] },
] as const;

export type CheckItem = (typeof checkItems)[number]['item'];
