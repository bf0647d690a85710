import { z } from 'zod';
import { secretPlace } from './configPayouts.js';
import { duration } from './configValues.js';
import { scaleOf } from './kernel/money.js';

const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/);

const token = z.strictObject({
  /** As its contract is deployed on this chain; in mixed case with the checksum of EIP-55. */
  address: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/)
    .meta({ description: 'the address of a contract, 0x and 40 digits' }),
  decimals: z.int().min(0).max(77),
  currency: z
    .string()
    .refine((code) => scaleOf(code) !== undefined)
    .meta({ description: 'a currency code such as USD' })
    .optional(),
  autoSettleMaxAmountRaw: z
    .string()
    .regex(/^[1-9][0-9]{0,77}$/)
    .meta({ description: 'a whole number of base units in quotes, such as "1000000000"' })
    .optional(),
});

const chain = z.strictObject({
  chainId: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** Where its node is, with the key: a secret. */
  url: secretPlace,
  enabled: z.boolean().default(true),
  requiredConfirmations: z.int().min(1).max(1_000_000),
  finalityTag: z.enum(['none', 'safe', 'finalized']).default('none'),
  finalityFallback: z.enum(['block', 'depth']).default('block'),
  explorer: z
    .string()
    .regex(/^https:\/\/[A-Za-z0-9.-]+(:[0-9]+)?\/[A-Za-z0-9._~/-]*$/)
    .meta({ description: 'the beginning of a link such as https://etherscan.io/tx/, without a key' })
    .optional(),
  tokens: z.record(name, token).prefault({}),
  tokenAllowList: z.array(name).default([]),
});

/** Chains by name. Two names of one chain would give one event two coordinates. */
export const chainsSchema = z
  .record(name, chain)
  .superRefine((chains, context) => {
    const names = new Map<number, string>();
    for (const [own, { chainId, tokens, tokenAllowList }] of Object.entries(chains)) {
      const other = names.get(chainId);
      const issue = (path: string[], message: string): void => {
        context.addIssue({ code: 'custom', path: [own, ...path], message });
      };
      if (other !== undefined) issue([], `a chain of its own: chain-id-duplicate, ${other} has its chain id`);
      names.set(chainId, own);
      const unknown = tokenAllowList.find((listed) => !Object.hasOwn(tokens, listed));
      if (unknown !== undefined) issue(['tokens'], `a mapping that has every token of tokenAllowList`);
      const addresses = Object.values(tokens).map(({ address }) => address.toLowerCase());
      if (new Set(addresses).size < addresses.length) issue(['tokens'], 'a mapping that has each address once');
    }
  })
  .prefault({});

export type ChainSettings = z.output<typeof chain>;

const scene = z.discriminatedUnion('handler', [
  z.strictObject({
    handler: z.literal('order'),
    orderType: z.enum(['PAYMENT', 'ADJUSTMENT']).default('PAYMENT'),
    channel: z.string().min(1).max(64).default('CHAIN'),
  }),
  z.strictObject({ handler: z.literal('none') }),
]);

/** How deposits are decided; see docs/deposits.md. */
export const depositsSchema = z
  .strictObject({
    rpcTimeout: duration.prefault('5s'),
    rpcRetries: z.int().min(0).max(10).default(2),
    rpcBatchSize: z.int().min(1).max(1_000).default(50),
    rpcConcurrency: z.int().min(1).max(64).default(4),
    planMaxAge: duration.prefault('5s'),
    clockSkewSeconds: z.int().min(0).max(86_400).default(60),
    lateGraceSeconds: z.int().min(0).max(31_536_000).default(0),
    rulesVersion: z.int().min(1).max(1_000_000).default(1),
    review: z
      .strictObject({
        timeout: duration.prefault('30m'),
        action: z.enum(['auto-reject', 'auto-approve']).default('auto-reject'),
        executeApproved: z.boolean().default(false),
        limit: z.int().min(1).max(10_000).default(50),
      })
      .prefault({}),
    retry: z
      .strictObject({
        maxAttempts: z.int().min(1).max(100).default(3),
        limit: z.int().min(1).max(10_000).default(50),
      })
      .prefault({}),
    audit: z
      .strictObject({
        olderThanMinutes: z.int().min(0).max(5_256_000).default(60),
        limit: z.int().min(1).max(100_000).default(50),
        onlyRisky: z.boolean().default(true),
      })
      .prefault({}),
    scenes: z.record(name, scene).prefault({}),
  })
  .prefault({});

export type DepositSettings = z.output<typeof depositsSchema>;
