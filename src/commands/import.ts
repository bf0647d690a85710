import type { Command } from './context.js';
import { exitCodes } from '../kernel/errors.js';

export const importOrdersCommand: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const importAccountsCommand: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
