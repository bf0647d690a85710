import { SettleError, type ErrorCode, type errorCatalogue } from './errors.js';

type IntegrityCode = {
  [Code in ErrorCode]: (typeof errorCatalogue)[Code] extends 'INTEGRITY' ? Code : never;
}[ErrorCode];

/**
 * States what must hold. A violation is a bug or tampering, never bad luck: it stops the run with exit code 4
 * and leaves what is committed as it is.
 */
export function invariant(
  holds: boolean,
  code: IntegrityCode,
  message: string,
  details: Record<string, unknown> = {},
): asserts holds {
  if (!holds) {
    throw new SettleError(code, message, { details, next: 'settle verify' });
  }
}
