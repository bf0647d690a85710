import type { Session } from '../db/session.js';
import { listDeposits } from '../deposits/views.js';
import { SettleError } from '../kernel/errors.js';
import { shown } from '../kernel/printable.js';
import { accountStateOf, orderNosFrom, orderNumbered } from '../orders/orderViews.js';
import { payoutStory } from '../payouts/views.js';
import { shellWord, type StoryKind } from './story.js';

const namedMax = 3;

/** The same error with what the id may have been meant as: one of another kind, another spelling, the start of a longer one. */
export async function withHint(
  session: Session,
  error: SettleError,
  kind: StoryKind,
  typed: string,
): Promise<SettleError> {
  const meant =
    (await otherKind(session, kind, typed)) ?? (kind === 'order' ? await otherSpelling(session, typed) : null);
  if (meant === null) return error;
  return new SettleError('NOT_FOUND', `${error.message} ${meant.sentence}`, {
    details: { ...error.details, meant: meant.ids },
    next: meant.next,
    cause: error,
  });
}

interface Meant {
  sentence: string;
  ids: string[];
  next: string;
}

async function otherKind(session: Session, kind: StoryKind, typed: string): Promise<Meant | null> {
  const isAscii = /^[!-~]+$/.test(typed);
  const none = { status: undefined, chainName: undefined, transactionHash: undefined };
  const found = {
    order: async () => (await orderNumbered(session, typed)) !== null,
    account: async () => (await accountStateOf(session, typed)) !== null,
    payout: async () => isAscii && (await payoutStory(session, typed)) !== null,
    deposit: async () => (await listDeposits(session, { ...none, outTradeNo: typed, limit: 1 })).length > 0,
  };
  for (const [other, isThere] of Object.entries(found)) {
    if (other === kind || !(await isThere())) continue;
    const article = other === 'order' || other === 'account' ? 'an' : 'a';
    return {
      sentence: `${shown(typed)} is ${article} ${other}.`,
      ids: [typed],
      next: `settle explain ${other} ${shellWord(typed)}`,
    };
  }
  return null;
}

/** Order numbers that begin so, as it was typed and in the other case. */
async function otherSpelling(session: Session, typed: string): Promise<Meant | null> {
  const ids: string[] = [];
  for (const start of new Set([typed, typed.toUpperCase(), typed.toLowerCase()])) {
    ids.push(...(await orderNosFrom(session, start, namedMax)));
  }
  const [first] = ids;
  if (first === undefined) return null;
  const named = ids.slice(0, namedMax);
  return {
    sentence: `Did you mean ${named.map(shown).join(', ')}?`,
    ids: named,
    next: `settle explain order ${shellWord(first)}`,
  };
}
