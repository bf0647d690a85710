import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { LentSession, Session } from '../src/db/session.js';
import { repeatable, runUnit, type Unit } from '../src/db/transaction.js';

// Which of its steps a unit of work repeats, on a database that answers as it is told; the same against real databases
// and a real network is in db.transaction.test.ts and db.network.test.ts. Time passes by itself here.

const deadlock = Object.assign(new Error('deadlock'), { errno: 1213 });
const lost = Object.assign(new Error('connection lost'), { code: 'ECONNRESET' });
const refused = Object.assign(new Error('key taken'), { errno: 1062 });
const denied = Object.assign(new Error('denied'), { errno: 1142 });
const bug = new Error('the ledger does not balance');

type Step = 'begin' | 'work' | 'commit' | 'mark';
/** What a step does, time by time: fails, or else (after the list's end too) works; a mark is found when it has a text. */
type Answers = Partial<Record<Step, (Error | string | null)[]>>;

/** Runs a unit and tells each step that was made, with the number of its session and, where that obeys the signal, a star. */
async function steps(
  answers: Answers,
  { signal = null, at = () => undefined }: { signal?: AbortSignal | null; at?: (step: Step) => void } = {},
): Promise<{ log: string; result: unknown }> {
  const log: string[] = [];
  let sessions = 0;
  const step = (name: Step, session: Session): string | undefined => {
    const { no, obeyed } = session as unknown as { no: number; obeyed: AbortSignal | null };
    log.push(`${name}${String(no)}${obeyed === null ? '' : '*'}`);
    at(name);
    if (obeyed?.aborted === true) throw obeyed.reason;
    const answer = answers[name]?.shift() ?? undefined;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const unit: Unit<string> = {
    name: 'unit',
    work: async (trx) => Promise.resolve(step('work', trx) ?? 'worked'),
    landed: async (session) => Promise.resolve(step('mark', session)),
  };
  const connections = {
    begin: async (session: Session) => Promise.resolve(step('begin', session)),
    withSession: async <T>(work: (session: LentSession) => Promise<T>) => {
      sessions += 1;
      const session = {
        no: sessions,
        obeyed: null as AbortSignal | null,
        obey: (given: AbortSignal | null) => (session.obeyed = given),
        change: async (sql: 'commit') => Promise.resolve(step(sql, session as never)),
      };
      return work(session as never);
    },
    signal: new AbortController().signal,
  };
  const running = runUnit(unit, connections, signal).catch((error: unknown) => error);
  await jest.runAllTimersAsync();
  return { result: await running, log: log.join(' ') };
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

describe('a unit of work', () => {
  test('begins, works and commits on one session, and gives its result', async () => {
    expect(await steps({})).toEqual({ log: 'begin1 work1 commit1', result: 'worked' });
  });

  test.each<[string, Answers, string]>([
    ['a lost connection at BEGIN', { begin: [lost] }, 'begin1 begin2 work2 commit2'],
    ['a lost connection at work', { work: [lost] }, 'begin1 work1 begin2 work2 commit2'],
    ['a deadlock at BEGIN', { begin: [deadlock] }, 'begin1 begin2 work2 commit2'],
    ['a deadlock at work', { work: [deadlock] }, 'begin1 work1 begin2 work2 commit2'],
    ['one after the other', { begin: [deadlock], work: [lost] }, 'begin1 begin2 work2 begin3 work3 commit3'],
  ])('is done again whole, on another session, after %s; nothing can have landed', async (_what, answers, log) => {
    expect(await steps(answers)).toEqual({ log, result: 'worked' });
  });

  test('is asked for its mark after a deadlock at COMMIT too, which a cluster may tell of what it let through', async () => {
    const first = 'begin1 work1 commit1 mark2';
    expect(await steps({ commit: [deadlock], mark: ['landed'] })).toEqual({ log: first, result: 'landed' });
    expect(await steps({ commit: [deadlock] })).toEqual({ log: `${first} begin3 work3 commit3`, result: 'worked' });
  });

  test.each<[string, Answers, string, Error]>([
    ['a refused BEGIN', { begin: [denied] }, 'begin1', denied],
    ['a refused value', { work: [refused] }, 'begin1 work1', refused],
    ['a bug', { work: [bug] }, 'begin1 work1', bug],
    ['a refused COMMIT', { commit: [refused] }, 'begin1 work1 commit1', refused],
  ])('ends with %s, which comes out as it was', async (_what, answers, log, error) => {
    const ended = await steps(answers);
    expect(ended.log).toBe(log);
    expect(ended.result).toBe(error);
  });

  const first = 'begin1 work1 commit1';
  test.each<[string, Answers, string, unknown]>([
    ['and its mark is there: that is its result', { mark: ['landed'] }, `${first} mark2`, 'landed'],
    ['and its mark is not there: it is done again', {}, `${first} mark2 begin3 work3 commit3`, 'worked'],
    [
      'twice: the mark is looked for each time',
      { commit: [lost, lost], mark: [null, 'landed'] },
      `${first} mark2 begin3 work3 commit3 mark4`,
      'landed',
    ],
    [
      'and the connection again while looking: it is looked for again',
      { mark: [lost, 'landed'] },
      `${first} mark2 mark3`,
      'landed',
    ],
    ['and the mark may not be looked for: that is told', { mark: [denied] }, `${first} mark2`, denied],
    [
      'and the mark appears while it is done again: what refuses the repetition was its own',
      { work: [null, refused], mark: [null, 'landed'] },
      `${first} mark2 begin3 work3 mark4`,
      'landed',
    ],
    [
      'and something else ends the repetition: the mark counts all the same',
      { work: [null, bug], mark: [null, 'landed'] },
      `${first} mark2 begin3 work3 mark4`,
      'landed',
    ],
    [
      'and the repetition is refused before the mark appears: it is looked for once more',
      { work: [null, refused], mark: [null, null, 'landed'] },
      `${first} mark2 begin3 work3 mark4 mark5`,
      'landed',
    ],
    ['and a bug ends the repetition: it comes out', { work: [null, bug] }, `${first} mark2 begin3 work3 mark4`, bug],
    [
      'and the repetition meets a deadlock: the mark is looked for when it is done again',
      { work: [null, deadlock] },
      `${first} mark2 begin3 work3 mark4 begin5 work5 commit5`,
      'worked',
    ],
  ])('whose answer to COMMIT is lost, %s', async (_what, answers, log, result) => {
    const ended = await steps({ commit: [lost], ...answers });
    expect(ended.log).toBe(log);
    expect(ended.result).toBe(result);
  });

  const reason = new Error('SIGTERM');
  /** The steps of a unit whose signal is aborted when this step has been made for the nth time. */
  const abortedAt = (aborting: Step, nth: number, answers: Answers): Promise<{ log: string; result: unknown }> => {
    const stop = new AbortController();
    let made = 0;
    const at = (step: Step): void => {
      if (step === aborting && ++made === nth) stop.abort(reason);
    };
    return steps(answers, { signal: stop.signal, at });
  };

  test.each<[string, Step, number, Answers, string, unknown]>([
    ['at BEGIN', 'begin', 1, {}, 'begin1*', reason],
    ['at work', 'work', 1, {}, 'begin1* work1*', reason],
    ['while it is done again', 'begin', 2, { work: [deadlock] }, 'begin1* work1* begin2*', reason],
    ['at COMMIT: too late, it takes effect', 'commit', 1, {}, 'begin1* work1* commit1', 'worked'],
    [
      'at COMMIT, whose answer is lost: the mark decides',
      'commit',
      1,
      { commit: [lost], mark: ['landed'] },
      'begin1* work1* commit1 mark2',
      'landed',
    ],
    [
      'at COMMIT, which never arrives: it is not done again',
      'commit',
      1,
      { commit: [lost] },
      'begin1* work1* commit1 mark2 begin3* mark4',
      reason,
    ],
  ])('is cancelled %s', async (_when, aborting, nth, answers, log, result) => {
    const ended = await abortedAt(aborting, nth, answers);
    expect(ended.log).toBe(log);
    expect(ended.result).toBe(result);
  });

  test('that is cancelled at the end of its work, after its last statement, is not committed', async () => {
    const stop = new AbortController();
    const made: string[] = [];
    const session = { obey: () => undefined, change: (sql: string) => Promise.resolve(made.push(sql)) };
    const unit = repeatable('unit', () => Promise.resolve(stop.abort(reason)));
    const connections = {
      begin: () => Promise.resolve(made.push('begin')),
      withSession: <T>(work: (lent: LentSession) => Promise<T>) => work(session as never),
      signal: new AbortController().signal,
    };
    await expect(runUnit(unit, connections, stop.signal)).rejects.toBe(reason);
    expect(made).toEqual(['begin']);
  });

  /** Milliseconds that a unit waits in all before it gives up, for an outcome of the dice from 0 to 1. */
  async function waited(dice: number): Promise<number> {
    jest.spyOn(Math, 'random').mockReturnValue(dice);
    const begun = Date.now();
    const ended = await steps({ begin: Array<Error>(20).fill(deadlock) });
    expect(ended).toEqual({ log: 'begin1 begin2 begin3 begin4 begin5 begin6 begin7 begin8 begin9', result: deadlock });
    return Date.now() - begun;
  }

  test('gives up after nine attempts in about 20 s; no two pause alike, so that they do not meet again', async () => {
    const [least, most] = [await waited(0), await waited(1)];
    expect(least).toBeGreaterThan(15_000);
    expect(most).toBeLessThan(25_000);
    expect(most).toBeGreaterThan(least);
  });

  test('that is repeatable has no mark: after a lost COMMIT it is simply done again', async () => {
    const unit = repeatable('any', () => Promise.resolve(7));
    expect(unit.name).toBe('any');
    await expect(unit.work(null as never)).resolves.toBe(7);
    await expect(unit.landed(null as never, false)).resolves.toBeUndefined();
  });
});
