import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { run } from '../src/commands/run.js';
import { tracesWanted } from '../src/telemetry/wanted.js';
import { answerOf, type Answer } from './support/command.js';
import { createTestDatabase, type TestDatabase } from './support/databases.js';
import { day, givenVariedDay } from './support/day.js';
import { Listener } from './support/listeners.js';

// Spans of a run, as a collector on this machine receives them over OTLP/HTTP.

interface Span {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: { intValue?: number; stringValue?: string } }[];
  status: { code?: number };
}
interface Sent {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] };
    scopeSpans: { spans: Span[] }[];
  }[];
}

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';

let current: TestDatabase;
let listener: Listener;
beforeEach(async () => {
  current = await createTestDatabase('sqlite');
  await givenVariedDay(current.database, 40);
  listener = await Listener.start();
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = listener.url('');
});
afterEach(async () => {
  for (const name of ['ENDPOINT', 'TIMEOUT']) delete process.env[`OTEL_EXPORTER_OTLP_${name}`];
  delete process.env['TRACEPARENT'];
  delete process.env['OTEL_SERVICE_NAME'];
  await listener.stop();
  await current.drop();
});

const typed = (options: object = {}): Promise<Answer> =>
  answerOf(run, { batchDay: day, chunkSize: 10, ...options }, { url: current.url });
const sent = (): Sent[] => listener.came.map(({ body }) => JSON.parse(body) as Sent);
const spans = (): Span[] =>
  sent().flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans)),
  );

test('are the run, its stages, and the shards of a stage; in the trace of whoever started it; without an account', async () => {
  process.env['TRACEPARENT'] = `00-${traceId}-${parentId}-01`;
  process.env['OTEL_SERVICE_NAME'] = 'nightly';
  expect((await typed()).code).toBe(3);
  expect(listener.came.map(({ method, path }) => `${method} ${path}`)).toContain('POST /v1/traces');
  const all = spans();
  const named = (name: string): Span[] => all.filter((span) => span.name === name);
  const [whole] = named('settle run');
  expect(named('settle run')).toHaveLength(1);
  expect(whole).toMatchObject({ parentSpanId: parentId, status: { code: 2 } });
  expect(
    Object.fromEntries(whole?.attributes.map(({ key, value }) => [key, value.intValue ?? value.stringValue]) ?? []),
  ).toEqual({
    'process.exit.code': 3,
    'settle.batch_day': day,
    'settle.outcome': 'PARTIAL',
    'settle.run_id': '1',
  });
  expect(all.every((span) => span.traceId === traceId)).toBe(true);
  const stages = all.filter(({ name }) => name.startsWith('settle.stage'));
  expect(stages.map(({ name }) => name).sort()).toEqual(
    ['POSTING', 'RECONCILING', 'SETTLING'].map((name) => `settle.stage ${name}`),
  );
  expect(stages.every(({ parentSpanId }) => parentSpanId === whole?.spanId)).toBe(true);
  const [settling] = named('settle.stage SETTLING');
  const shards = named('settle.shard');
  expect(shards.length).toBeGreaterThan(2);
  expect(shards.every(({ parentSpanId }) => parentSpanId === settling?.spanId)).toBe(true);
  const orders = shards.flatMap(({ attributes }) => attributes.filter(({ key }) => key === 'settle.orders'));
  // All of the day but the three of accounts that are set aside.
  expect(orders.reduce((sum, { value }) => sum + Number(value.intValue), 0)).toBe(44);
  expect(all).toHaveLength(1 + stages.length + shards.length);
  const told = JSON.stringify(sent());
  expect(told).toContain('nightly');
  expect(told).not.toMatch(/ELEPHANT|FROZEN|"V0/);
});

describe('a collector', () => {
  test.each([
    ['that refuses', 400, /^Traces: .*The run ended as told above\.$/],
    ['that never answers', 'hang', /^Traces: .*The run ended as told above\.$/],
  ] as const)('%s is said, and not waited for', async (_what, answer, expected) => {
    process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '300';
    listener.answer = () => answer;
    const began = Date.now();
    const { code, said } = await typed();
    expect([code, said.find((text) => text.startsWith('Traces'))]).toEqual([3, expect.stringMatching(expected)]);
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  test('gets five seconds in all, whatever its client makes of a silence', async () => {
    const { Tracing } = await import('../src/telemetry/tracing.js');
    const { trace } = await import('@opentelemetry/api');
    const silent = { tracer: trace.getTracer('none'), flush: () => new Promise<void>(() => undefined) };
    const tracing = new Tracing(silent, 'run', {});
    expect(await tracing.end({ exitCode: 0, attributes: {} }, 50)).toBe('not delivered within 0.05 s');
  });
});

test('of a dry run there are none', async () => {
  await typed({ dryRun: true });
  expect(listener.came).toEqual([]);
});

test('are asked for by the variables of OpenTelemetry', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  expect(tracesWanted({})).toBe(false);
  expect(tracesWanted({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' })).toBe(false);
  expect(tracesWanted(endpoint)).toBe(true);
  expect(tracesWanted({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' })).toBe(true);
  expect(tracesWanted({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBe(false);
  expect(tracesWanted({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toBe(false);
});

test('packages that are not installed are named, with what to type, and the run goes on', async () => {
  jest.unstable_mockModule('@opentelemetry/sdk-trace-node', () => {
    throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  });
  jest.resetModules();
  const { run: fresh } = await import('../src/commands/run.js');
  const { code, said } = await answerOf(fresh, { batchDay: day }, { url: current.url });
  expect(code).toBe(3);
  expect(said).toEqual(
    expect.arrayContaining([
      expect.stringContaining('their packages are not installed; the run goes on without'),
      expect.stringMatching(
        /next: npm install @opentelemetry\/sdk-trace-node@\S+ @opentelemetry\/resources@\S+ @opentelemetry\/exporter-trace-otlp-http@\S+/,
      ),
    ]),
  );
  expect(listener.came).toEqual([]);
});

test('the versions that are named to be installed are those that are tried here', async () => {
  const { readFileSync } = await import('node:fs');
  const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    peerDependencies: Record<string, string>;
  };
  for (const file of ['src/commands/traced.ts', 'docs/observability.md'])
    for (const name of ['sdk-trace-node', 'exporter-trace-otlp-http'])
      expect(readFileSync(file, 'utf8')).toContain(
        `@opentelemetry/${name}@${String(peerDependencies[`@opentelemetry/${name}`])}`,
      );
});
