import type { Command } from './context.js';
import { exitCodes } from '../kernel/errors.js';

export const balances: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const entries: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const trialBalance: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const accounts: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
