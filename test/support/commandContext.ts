import pc from 'picocolors';
import { loadConfig } from '../../src/config.js';
import type { CommandContext } from '../../src/commands/context.js';
import { documentText } from '../../src/commands/context.js';

/** What a command printed and said, and what it is given: for commands that are tried in the test's own process. */
export interface TestContext {
  context: CommandContext;
  printed(): string;
  said(): string;
  document(): Record<string, unknown>;
  /** Questions that were asked, in their order. */
  asked: { question: string; hidden: boolean }[];
}

/** A context as the command line makes it. `answers`: what a person at a terminal types; without it there is none. */
export function commandContext(
  environment: Record<string, string>,
  options: { file?: string; json?: boolean; yes?: boolean; answers?: readonly string[]; now?: string } = {},
): TestContext {
  const { file, json = false, yes = false, answers, now } = options;
  const [printed, said]: [string[], string[]] = [[], []];
  const asked: TestContext['asked'] = [];
  const left = [...(answers ?? [])];
  const output = json ? 'json' : 'text';
  const context: CommandContext = {
    config: loadConfig({ file, environment }),
    configFile: file,
    clock: { now: () => (now === undefined ? new Date() : new Date(now)) },
    output,
    progress: 'none',
    quiet: false,
    verbose: false,
    interactive: answers !== undefined,
    ask: (question, { hidden = false } = {}) => {
      asked.push({ question, hidden });
      const answer = left.shift();
      return answer === undefined
        ? Promise.reject(new Error(`Nobody expected the question: ${question}`))
        : Promise.resolve(answer);
    },
    assumeYes: yes,
    colors: pc.createColors(false),
    signal: new AbortController().signal,
    print: (text) => {
      printed.push(text);
      return Promise.resolve();
    },
    document: (value) => {
      printed.push(documentText(value, output));
      return Promise.resolve();
    },
    say: (text) => said.push(text),
  };
  return {
    context,
    printed: () => printed.join('\n'),
    said: () => said.join('\n'),
    document: () => JSON.parse(printed.join('\n')) as Record<string, unknown>,
    asked,
  };
}
