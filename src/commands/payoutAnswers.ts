import { hostname } from 'node:os';
import { instantText } from '../kernel/clock.js';
import { exitCodes, SettleError } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { FileRefusal } from '../orders/importProblems.js';
import { ImportSource, requireReadable } from '../orders/importSource.js';
import { importAnswers, type AnswersImported } from '../payouts/importAnswers.js';
import { countText } from '../reports/words.js';
import { withDatabase, type Command } from './context.js';
import { channelNames, rulesOf } from './payoutChannels.js';

/**
 * `settle payout answers FILE --channel NAME`: takes a bank's report on a payment file, all of it or nothing. Exit code 2
 * when it is refused, 3 when something in it needs a person.
 */
export const answers: Command<{ file: string; channel: string }> = (context, { file, channel }) =>
  withDatabase(context, async (database) => {
    const [name = ''] = channelNames(context.config, channel);
    const settings = context.config.channels[name];
    if (settings?.kind !== 'file') {
      throw new SettleError('USAGE', `Channel ${name} writes no payment files, so that no bank reports on them.`, {
        details: { channel: name },
        next: 'settle payout check asks such a channel.',
      });
    }
    await requireReadable(file);
    let imported: AnswersImported | null = null;
    let refused: { code: string; message: string } | null = null;
    const source = await ImportSource.open(file, process.stdin, context.signal);
    try {
      imported = await importAnswers(database, { name, rules: rulesOf(settings) }, source.chunks(context.signal), {
        actor: `settle payout answers (${hostname()}, process ${String(process.pid)})`,
        now: () => instantText(context.clock.now()),
        onOutcome: ({ payout, state, code }) => {
          if (state === 'MANUAL') context.say(`Payout ${String(payout.id)} needs a person: ${code}.`);
        },
      });
    } catch (error) {
      if (!(error instanceof FileRefusal)) throw error;
      refused = { code: error.code, message: error.message };
    } finally {
      await source.close();
    }
    if (context.output === 'text') await context.print(resultText(file, imported, refused));
    else await context.document({ schema: 'settle.payoutAnswers', file, channel: name, imported, refused });
    if (refused !== null) return exitCodes.USAGE;
    const troubles = (imported?.moved.manual ?? 0) + (imported?.contradictions ?? 0);
    return troubles > 0 ? exitCodes.PARTIAL : exitCodes.OK;
  });

function resultText(
  file: string,
  imported: AnswersImported | null,
  refused: { code: string; message: string } | null,
): string {
  const name = file === '-' ? 'standard input' : printable(file);
  if (imported === null) {
    return `${name}: refused, nothing of it is stored: ${refused?.code ?? ''}: ${refused?.message ?? ''}`;
  }
  const { originalMessageId, isRepeat, known, moved, noted, contradictions } = imported;
  const on = `${name}: on ${printable(originalMessageId)}:`;
  if (isRepeat) return `${on} taken before; nothing is changed`;
  const parts = [
    `${countText(moved.paid)} paid`,
    `${countText(moved.refused)} refused`,
    `${countText(noted)} noted`,
    `${countText(known)} known before`,
  ];
  if (moved.manual > 0) parts.push(`${countText(moved.manual)} for a person`);
  if (contradictions > 0) parts.push(`${countText(contradictions)} against what is final`);
  return `${on} ${parts.join(', ')}`;
}
