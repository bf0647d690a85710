import tab from '@bomb.sh/tab';
import complete from '@bomb.sh/tab/commander';
import type { Command as Program } from 'commander';
import { SettleError } from '../kernel/errors.js';
import type { Command } from './context.js';

/** `settle completion bash`: the script, which asks `settle complete -- WORDS` what may follow. */
export const completion: Command<{ shell: string }> = (context, { shell }) => {
  if (context.output !== 'text') {
    throw new SettleError('USAGE', 'The script itself takes the place of the JSON document.', {
      next: `settle completion ${shell}`,
    });
  }
  tab.setup('settle', 'settle', shell);
  return Promise.resolve(0);
};

/** Prints what may follow the words typed so far, a line each. */
export function completeWords(program: Program, words: readonly string[]): void {
  // The library brings commands of its own, in place of ours.
  const ours = program.commands as Program[];
  ours.splice(
    ours.findIndex((command) => command.name() === 'completion'),
    1,
  );
  complete(program, { completionCommandName: 'completion' }).parse([...words]);
}
