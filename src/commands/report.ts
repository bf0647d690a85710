import type { Command } from './context.js';
import { exitCodes } from '../kernel/errors.js';

export const report: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
