import { Cancellation } from './cancellation.js';
import { exitCodes, SettleError } from './errors.js';

/** The exit code of a command that ended with this error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof SettleError || error instanceof Cancellation ? error.exitCode : exitCodes.INTERNAL;
}
