import { documentText, type Command, type CommandContext, type Output } from '../../src/commands/context.js';
import { loadConfig } from '../../src/config.js';
import type { Tree } from '../../src/kernel/yamlTree.js';
import { commandContext } from './commandContext.js';

/** How a command is run inside the test's process; what is left out is as on a terminal-less machine. */
export interface Asked {
  url: string;
  /** What its clock says. */
  now?: string;
  output?: Output;
  settings?: Tree;
  signal?: AbortSignal;
}

export interface Answer {
  code: number;
  /** What it printed, without the last line break. */
  stdout: string;
  said: string[];
}

/** What a command is given, and what it has answered so far. */
export function contextOf(asked: Asked): { context: CommandContext; answer: () => Omit<Answer, 'code'> } {
  const { url, now = '2026-11-30T01:00:00.000Z', output = 'text', settings = {} } = asked;
  const made = commandContext({ SETTLE_DATABASE_URL: url }, { now });
  const said: string[] = [];
  const context: CommandContext = {
    ...made.context,
    config: loadConfig({ environment: { SETTLE_DATABASE_URL: url }, flags: settings }),
    output,
    signal: asked.signal ?? made.context.signal,
    document: (value) => made.context.print(documentText(value, output)),
    say: (text) => said.push(text),
  };
  return { context, answer: () => ({ stdout: made.printed(), said }) };
}

/** Runs a command without a process of its own; what it throws is thrown. */
export async function answerOf<Options>(command: Command<Options>, options: Options, asked: Asked): Promise<Answer> {
  const { context, answer } = contextOf(asked);
  const code = await command(context, options);
  return { code, ...answer() };
}
