import type { Exporting } from './tracing.js';

/** A request to the collector gets so long, so that what is left is sent and the process ends within its five seconds. */
const requestMsMax = 4_000;

/**
 * The SDK and its exporter over OTLP/HTTP, set up as the OTEL_… variables say. They are no part of an installation:
 * throws ERR_MODULE_NOT_FOUND where they are not there.
 */
export async function openExporter(environment: NodeJS.ProcessEnv): Promise<Exporting> {
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  // Comes with the exporter. It reads OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME.
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } =
    await import('@opentelemetry/resources');
  const own = resourceFromAttributes({ 'service.name': 'settle' });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ timeoutMillis: requestMsIn(environment) }))],
  });
  return { tracer: provider.getTracer('settle'), flush: () => provider.shutdown() };
}

function requestMsIn(environment: NodeJS.ProcessEnv): number {
  const asked = Number(environment['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'] ?? environment['OTEL_EXPORTER_OTLP_TIMEOUT']);
  return asked > 0 ? Math.min(asked, requestMsMax) : requestMsMax;
}
