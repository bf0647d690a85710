import type { Command } from './context.js';
import { exitCodes } from '../kernel/errors.js';

export const verify: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const reconcileCommand: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
