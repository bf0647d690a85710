import type { Progress } from '../batch/deps.js';
import type { RunDocument } from '../batch/document.js';
import { exitCodeOf } from '../kernel/exitCodeOf.js';
import type { Tracing } from '../telemetry/tracing.js';
import { tracesWanted } from '../telemetry/wanted.js';
import type { CommandContext } from './context.js';

/** What a run is given to be followed by; without traces it changes nothing. */
export interface Following {
  progress(progress: Progress): Progress;
  /** The document that the run ended with. */
  document(document: RunDocument): void;
}

/** Follows nothing. */
export const nobody: Following = { progress: (progress) => progress, document: () => undefined };

/** Does the work of a run, with its spans where the environment asks for them. What hinders them is said, and the run goes on. */
export async function traced(
  context: CommandContext,
  command: string,
  work: (following: Following) => Promise<number>,
): Promise<number> {
  const tracing = tracesWanted(process.env) ? await begin(context, command) : null;
  if (tracing === null) return work(nobody);
  const attributes: Record<string, string> = {};
  const following: Following = {
    progress: (progress) => tracing.following(progress),
    document: ({ batchDay, outcome, runId }) => {
      Object.assign(attributes, {
        'settle.batch_day': batchDay,
        'settle.outcome': outcome,
        ...(runId === null ? {} : { 'settle.run_id': runId }),
      });
    },
  };
  const end = async (exitCode: number): Promise<void> => {
    const problem = await tracing.end({ exitCode, attributes });
    if (problem !== null) context.say(`Traces: ${problem}. The run ended as told above.`);
  };
  let exitCode: number;
  try {
    exitCode = await work(following);
  } catch (error) {
    await end(exitCodeOf(error));
    throw error;
  }
  await end(exitCode);
  return exitCode;
}

async function begin({ say }: CommandContext, command: string): Promise<Tracing | null> {
  try {
    const [{ Tracing: Spans }, { openExporter }] = await Promise.all([
      import('../telemetry/tracing.js'),
      import('../telemetry/exporter.js'),
    ]);
    return new Spans(await openExporter(process.env), command, process.env);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    say(
      isMissing
        ? 'Traces are asked for by OTEL_EXPORTER_OTLP_ENDPOINT, and their packages are not installed; the run goes on without.'
        : `Traces cannot be set up: ${error instanceof Error ? error.message : String(error)}; the run goes on without.`,
    );
    if (isMissing)
      say(
        '  next: npm install @opentelemetry/sdk-trace-node@2.9.0 @opentelemetry/resources@2.9.0 @opentelemetry/exporter-trace-otlp-http@0.220.0',
      );
    return null;
  }
}
