import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { addDays, daysIn, isBatchDay } from '../src/kernel/batchDay.js';
import {
  Cancellation,
  cancellationCodes,
  cancellationIn,
  throwIfCancelled,
  withinShardTime,
  type CancellationCode,
} from '../src/kernel/cancellation.js';
import { errorCatalogue, exitCodes, SettleError } from '../src/kernel/errors.js';
import { compareBytes, idProblem } from '../src/kernel/ids.js';
import { parseInstant } from '../src/kernel/instant.js';
import { invariant } from '../src/kernel/invariant.js';
import { toJson } from '../src/kernel/json.js';
import { batchMoves, messageMoves, move, orderMoves, runMoves } from '../src/kernel/states.js';

describe('ids', () => {
  test.each`
    id                      | problem          | because
    ${'M1'}                 | ${null}          | ${'plain'}
    ${'order no 7'}         | ${null}          | ${'a space inside is a letter like others'}
    ${'商户-0001'}          | ${null}          | ${'any script'}
    ${'😀'}                 | ${null}          | ${'beyond the basic plane'}
    ${'a'.repeat(64)}       | ${null}          | ${'64 bytes fit'}
    ${'é'.repeat(32)}       | ${null}          | ${'64 bytes in 32 characters'}
    ${''}                   | ${'EMPTY'}       | ${'empty names nobody'}
    ${'a'.repeat(65)}       | ${'TOO_LONG'}    | ${'65 bytes'}
    ${`${'é'.repeat(32)}a`} | ${'TOO_LONG'}    | ${'bytes count, not characters'}
    ${' M1'}                | ${'OUTER_SPACE'} | ${'databases cut it'}
    ${'M1 '}                | ${'OUTER_SPACE'} | ${'databases ignore it'}
    ${'M1\t'}               | ${'OUTER_SPACE'} | ${'a tab too'}
    ${'\u00a0M1'}           | ${'OUTER_SPACE'} | ${'and a no-break space'}
    ${'\u3000M1'}           | ${'OUTER_SPACE'} | ${'and an ideographic one'}
    ${' '}                  | ${'OUTER_SPACE'} | ${'a blank is nothing else'}
    ${'M\u00001'}           | ${'UNPRINTABLE'} | ${'NUL'}
    ${'M\n1'}               | ${'UNPRINTABLE'} | ${'a line end would forge a line of a report'}
    ${'M\u200b1'}           | ${'UNPRINTABLE'} | ${'zero-width space'}
    ${'M\u202e1'}           | ${'UNPRINTABLE'} | ${'turns the reading direction'}
    ${'M\u00ad1'}           | ${'UNPRINTABLE'} | ${'soft hyphen'}
    ${'M\u2028x'}           | ${'UNPRINTABLE'} | ${'line separator'}
    ${'M\ud800'}            | ${'UNPRINTABLE'} | ${'half a character'}
    ${'M\ue000'}            | ${'UNPRINTABLE'} | ${'private use: everybody sees something else'}
  `('$id: $problem ($because)', ({ id, problem }) => {
    expect(idProblem(id as string)).toBe(problem);
  });

  test('sort by bytes of UTF-8, as the databases do', () => {
    // By UTF-16 units, JavaScript's own order, the emoji would come before the full-width letter.
    expect(['ｚ', '😀', 'b', 'a', 'ä', 'B'].sort(compareBytes)).toEqual(['B', 'a', 'b', 'ä', 'ｚ', '😀']);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(Math.sign(compareBytes(a, b))).toBe(Math.sign(Buffer.from(a).compare(Buffer.from(b))));
        expect(Math.sign(compareBytes(a, b))).toBe(-Math.sign(compareBytes(b, a)) + 0);
      }),
    );
  });
});

describe('the batch day', () => {
  test.each(['2024-02-29', '2000-02-29', '2026-12-31', '2026-01-01', '1000-01-01', '9999-12-31'])(
    '%s exists',
    (day) => {
      expect(isBatchDay(day)).toBe(true);
    },
  );

  test.each([
    '2025-02-29',
    '1900-02-29', // a century is no leap year
    '2100-02-29',
    '2026-02-30',
    '2026-04-31',
    '2026-00-10',
    '2026-13-01',
    '2026-01-00',
    '2026-01-32',
    '2026-1-1',
    '26-01-01',
    '0999-12-31', // MySQL's DATE starts at year 1000
    '0000-00-00',
    '2026/01/01',
    '20260101',
    '2026-01-01T00:00:00Z',
    ' 2026-01-01',
    '2026-01-01\n',
    '',
  ])('%p does not', (day) => {
    expect(isBatchDay(day)).toBe(false);
  });

  test('has as many days in a month as the calendar', () => {
    for (const year of [1900, 2000, 2023, 2024, 2100, 2400]) {
      for (let month = 1; month <= 12; month += 1) {
        expect([year, month, daysIn(year, month)]).toEqual([
          year,
          month,
          new Date(Date.UTC(year, month, 0)).getUTCDate(),
        ]);
      }
    }
  });

  test.each([
    ['2024-02-28', 1, '2024-02-29'],
    ['2024-02-28', 2, '2024-03-01'],
    ['2025-03-01', -1, '2025-02-28'],
    ['2025-12-31', 1, '2026-01-01'],
    ['2025-03-30', 1, '2025-03-31'], // clocks change in Europe
    ['2026-11-29', 0, '2026-11-29'],
    ['2000-03-01', -366, '1999-03-01'],
  ])('%s and %i days is %s', (day, days, then) => {
    expect(addDays(day, days)).toBe(then);
  });
});

describe('an instant', () => {
  test.each`
    text                                | utc
    ${'2026-11-29T10:00:00Z'}           | ${'2026-11-29T10:00:00.000000Z'}
    ${'2026-11-29t10:00:00z'}           | ${'2026-11-29T10:00:00.000000Z'}
    ${'2026-11-29T18:00:00+08:00'}      | ${'2026-11-29T10:00:00.000000Z'}
    ${'2026-11-29T00:30:00+14:00'}      | ${'2026-11-28T10:30:00.000000Z'}
    ${'2026-12-31T23:00:00-05:00'}      | ${'2027-01-01T04:00:00.000000Z'}
    ${'2024-02-29T23:59:59-00:01'}      | ${'2024-03-01T00:00:59.000000Z'}
    ${'2026-11-29T10:00:00-00:00'}      | ${'2026-11-29T10:00:00.000000Z'}
    ${'2026-11-29T10:00:00.1Z'}         | ${'2026-11-29T10:00:00.100000Z'}
    ${'2026-11-29T10:00:00.123456789Z'} | ${'2026-11-29T10:00:00.123456Z'}
    ${'2000-02-29T00:00:00Z'}           | ${'2000-02-29T00:00:00.000000Z'}
  `('$text is $utc', ({ text, utc }) => {
    expect(parseInstant(text as string)).toBe(utc);
  });

  test.each([
    ['2026-11-29T10:00:00', 'no offset: whose ten o’clock?'],
    ['2026-11-29 10:00:00Z', 'a space for the T'],
    ['2026-11-29', 'a day is no instant'],
    ['2026-02-30T10:00:00Z', '30 February would roll over into March'],
    ['1900-02-29T10:00:00Z', 'a century is no leap year'],
    ['2026-11-29T24:00:00Z', '24:00 is the next day'],
    ['2016-12-31T23:59:60Z', 'leap seconds cannot be stored'],
    ['2026-11-29T10:60:00Z', 'minute 60'],
    ['2026-11-29T10:00:00+24:00', 'offset of a day'],
    ['2026-11-29T10:00:00+01:60', 'offset minute 60'],
    ['2026-11-29T10:00:00+0100', 'offset without colon'],
    ['2026-11-29T10:00:00+1', 'short offset'],
    ['2026-11-29T10:00:00.Z', 'a point without digits'],
    ['2026-11-29T10:00:00.1234567890Z', 'ten decimals'],
    ['2026-11-29T10:00Z', 'no seconds'],
    ['0999-12-31T23:59:59Z', 'before year 1000'],
    ['1000-01-01T00:00:00+01:00', 'before year 1000 in UTC'],
    ['9999-12-31T23:59:59-01:00', 'after year 9999 in UTC'],
    ['1764410400', 'seconds since 1970'],
    ['', 'empty'],
  ])('%p is none: %s', (text) => {
    expect(parseInstant(text)).toBeNull();
  });

  test('does not depend on the spelling: every offset of one moment reads alike', () => {
    const moment = fc.date({
      min: new Date('1970-01-02T00:00:00Z'),
      max: new Date('2100-12-30T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moment, fc.integer({ min: -1439, max: 1439 }), (at, offset) => {
        const local = new Date(at.getTime() + offset * 60_000).toISOString().slice(0, 23);
        const size = Math.abs(offset);
        const two = (value: number): string => String(value).padStart(2, '0');
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
        expect(parseInstant(local + zone)).toBe(at.toISOString().replace('Z', '000Z'));
      }),
    );
  });
});

describe('the state machines', () => {
  // Written out once more, by hand, from the design: every pair of state and event, allowed or not.
  const machines = {
    order: {
      moves: orderMoves,
      allowed: [
        'INIT claim PROCESSING',
        'INIT fail FAILED',
        'INIT cancel CANCELED',
        'PROCESSING post SUCCESS',
        'PROCESSING fail FAILED',
        'PROCESSING cancel CANCELED',
      ],
    },
    batch: {
      moves: batchMoves,
      allowed: [
        'OPEN settle SETTLING',
        'SETTLING post POSTING',
        'POSTING reconcile RECONCILING',
        'RECONCILING close CLOSED',
      ],
    },
    run: {
      moves: runMoves,
      allowed: [
        'RUNNING finish OK',
        'RUNNING leave PARTIAL',
        'RUNNING contradict INTEGRITY',
        'RUNNING interrupt INTERRUPTED',
        'RUNNING abandon ABANDONED',
      ],
    },
    message: { moves: messageMoves, allowed: ['NEW confirm SENT', 'NEW park PARKED', 'PARKED requeue NEW'] },
  };
  const pairs = Object.entries(machines).flatMap(([entity, { moves, allowed }]) => {
    const machine = moves as Record<string, Record<string, string>>;
    const events = new Set(Object.values(machine).flatMap((row) => Object.keys(row)));
    return Object.keys(machine).flatMap((from) =>
      [...events].map((event) => {
        const to = allowed.find((line) => line.startsWith(`${from} ${event} `))?.split(' ')[2] ?? 'refused';
        return { entity, machine, from, event, to };
      }),
    );
  });

  test.each(pairs)('$entity $from, $event: $to', ({ machine, from, event, to }) => {
    if (to === 'refused') {
      expect(() => move(machine, from, event)).toThrow(
        expect.objectContaining({
          code: 'STATE_MOVE_FORBIDDEN',
          exitCode: 4,
          message: `${from} has no move "${event}".`,
          details: { from, event },
        }),
      );
    } else expect(move(machine, from, event)).toBe(to);
  });

  test.each(Object.entries(machines))(
    '%s: every move is listed, and leads to a state of the table',
    (_entity, machine) => {
      const listed = Object.entries(machine.moves).flatMap(([from, row]) =>
        Object.entries(row as Record<string, string>).map(([event, to]) => `${from} ${event} ${to}`),
      );
      expect(listed.sort()).toEqual([...machine.allowed].sort());
      for (const line of listed) expect(Object.keys(machine.moves)).toContain(line.split(' ')[2]);
    },
  );

  test('a state or event that is a word of JavaScript is refused like any other', () => {
    expect(() => move(orderMoves, 'INIT', 'toString')).toThrow(
      expect.objectContaining({ code: 'STATE_MOVE_FORBIDDEN' }),
    );
    expect(() => move(orderMoves, 'constructor' as never, 'name')).toThrow(
      expect.objectContaining({ code: 'STATE_MOVE_FORBIDDEN' }),
    );
  });
});

describe('a cancellation', () => {
  const stop = new Cancellation('SIGTERM', 'The process received SIGTERM.');
  const wrapped = (): [string, unknown][] => {
    const cyclic = new Error('outer', { cause: new Error('inner') }) as Error & { cause: Error };
    cyclic.cause.cause = cyclic;
    const cyclicWithStop = new AggregateError([cyclic, stop]);
    const aborted = new AbortController();
    aborted.abort(stop);
    return [
      ['itself', stop],
      ['a cause', new Error('lane 3 ended', { cause: stop })],
      ['a chain of causes', new Error('a', { cause: new Error('b', { cause: new Error('c', { cause: stop }) }) })],
      ['one of several errors', new AggregateError([new Error('other'), stop])],
      [
        'several errors inside a cause',
        new Error('x', { cause: new AggregateError([new Error('y', { cause: stop })]) }),
      ],
      ['beside a circle of causes', cyclicWithStop],
      ['the reason of a signal', aborted.signal],
      ['an error that carries a reason', Object.assign(new Error('aborted'), { name: 'AbortError', reason: stop })],
    ];
  };

  test.each(wrapped())('is found as %s, unchanged', (_where, error) => {
    expect(cancellationIn(error)).toBe(stop);
  });

  test('is not found where there is none', () => {
    const cyclic = new Error('outer') as Error & { cause?: unknown };
    cyclic.cause = cyclic;
    for (const error of [cyclic, new AggregateError([new Error('a')]), null, undefined, 'SIGTERM', 7, {}]) {
      expect(cancellationIn(error)).toBeNull();
    }
  });

  test('carries its code, detail, stage and cause, and is told as code and detail', () => {
    const cause = new Error('the clock');
    const late = new Cancellation('DEADLINE', 'Not done by 06:00.', null, cause);
    expect(late).toMatchObject({ code: 'DEADLINE', detail: 'Not done by 06:00.', stage: null, cause, exitCode: 12 });
    expect(String(late)).toBe('Cancellation: DEADLINE: Not done by 06:00.');
    expect(late.at('SETTLING')).toMatchObject({ stage: 'SETTLING', cause });
    expect(stop).not.toHaveProperty('cause');
  });

  test('keeps the first stage that was named', () => {
    expect(stop.at('SETTLING')).toMatchObject({ code: 'SIGTERM', stage: 'SETTLING', detail: stop.detail });
    expect(stop.at('SETTLING').at('POSTING').stage).toBe('SETTLING');
  });

  test('is thrown by an aborted signal as it was given', () => {
    const controller = new AbortController();
    expect(() => {
      throwIfCancelled(controller.signal);
    }).not.toThrow();
    controller.abort(stop);
    expect(() => {
      throwIfCancelled(controller.signal);
    }).toThrow(stop);
  });

  describe('within the time of a shard', () => {
    const untilAborted = (signal: AbortSignal): Promise<never> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(new Error('The statement was cut short.', { cause: signal.reason }));
        });
      });

    test('work that is done in time gives its value, and no clock goes on', async () => {
      jest.useFakeTimers();
      try {
        expect(await withinShardTime(60_000, () => Promise.resolve('value'))).toEqual({ done: true, value: 'value' });
        expect(jest.getTimerCount()).toBe(0);
      } finally {
        jest.useRealTimers();
      }
    });

    test('work that is not is told to stop, and comes to its reason, whatever wraps it', async () => {
      const attempt = await withinShardTime(5, untilAborted);
      expect(attempt).toMatchObject({
        done: false,
        cancellation: { code: 'SHARD_TIMEOUT', detail: 'Not done within 0.005 s.' },
      });
    });

    test.each(Object.keys(cancellationCodes) as CancellationCode[])(
      '%s ends the run unless it is of the shard alone',
      async (code) => {
        const cancellation = new Cancellation(code, 'detail');
        const attempt = withinShardTime(60_000, () => Promise.reject(new Error('wrapped', { cause: cancellation })));
        if (code === 'SHARD_TIMEOUT') expect(await attempt).toEqual({ done: false, cancellation });
        else await expect(attempt).rejects.toThrow('wrapped');
      },
    );

    test('an error that is no cancellation is thrown as it was', async () => {
      const error = new Error('a bug');
      await expect(withinShardTime(60_000, () => Promise.reject(error))).rejects.toBe(error);
    });
  });

  test("an operator's stop is never retried by itself; a time-out may be", () => {
    expect(cancellationCodes.SIGINT).toMatchObject({ exitCode: 130, retry: false });
    expect(cancellationCodes.SIGTERM).toMatchObject({ exitCode: 143, retry: false });
    expect(cancellationCodes.OPERATOR.retry).toBe(false);
    expect(new Cancellation('OPERATOR', 'stopped').mayRetry).toBe(false);
    expect(new Cancellation('DEADLINE', 'late').mayRetry).toBe(true);
    expect(cancellationCodes.DEADLINE).toMatchObject({ exitCode: 12, retry: true });
    expect(cancellationCodes.SHARD_TIMEOUT.retry).toBe(true);
    expect(cancellationCodes.LEASE_LOST).toMatchObject({ exitCode: 11, retry: false });
    expect(cancellationCodes.DATABASE_LOST.exitCode).toBe(75);
  });
});

describe('errors', () => {
  test('exit codes are the promised ones', () => {
    expect(exitCodes).toEqual({
      OK: 0,
      INTERNAL: 1,
      USAGE: 2,
      PARTIAL: 3,
      INTEGRITY: 4,
      PRECONDITION: 5,
      NOTHING_DUE: 10,
      LOCKED: 11,
      DEADLINE: 12,
      TEMPFAIL: 75,
      SIGINT: 130,
      SIGTERM: 143,
    });
  });

  test('every code ends in the exit code of its kind', () => {
    for (const [code, name] of Object.entries(errorCatalogue)) {
      expect(new SettleError(code as keyof typeof errorCatalogue, 'x').exitCode).toBe(exitCodes[name]);
    }
  });

  test('a broken invariant stops with exit code 4 and says what to type', () => {
    expect(() => {
      invariant(false, 'NET_DIFFERS_FROM_ORDERS', 'Net 7 differs.', { net: 7n });
    }).toThrow(expect.objectContaining({ exitCode: 4, next: 'settle verify', details: { net: 7n } }));
    expect(() => {
      invariant(true, 'NET_DIFFERS_FROM_ORDERS', 'never');
    }).not.toThrow();
  });
});

describe('JSON', () => {
  test('writes every bigint as text, wherever it is, and never rounds or throws', () => {
    expect(toJson({ minor: 9007199254740993n, list: [1n, { deep: -(2n ** 70n) }], count: 3, none: null })).toBe(
      '{"minor":"9007199254740993","list":["1",{"deep":"-1180591620717411303424"}],"count":3,"none":null}',
    );
  });

  test('is readable by a JSON reader whatever the amounts are', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt()), (amounts) => {
        expect((JSON.parse(toJson(amounts)) as string[]).map(BigInt)).toEqual(amounts);
      }),
    );
  });
});
