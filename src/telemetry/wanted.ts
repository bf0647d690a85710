/** Whether the environment asks for traces, in the words of OpenTelemetry. */
export function tracesWanted(environment: NodeJS.ProcessEnv): boolean {
  const isSet = (name: string): boolean => (environment[name] ?? '').trim() !== '';
  const isOff =
    environment['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none';
  return !isOff && (isSet('OTEL_EXPORTER_OTLP_ENDPOINT') || isSet('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'));
}
