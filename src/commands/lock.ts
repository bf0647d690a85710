import type { Command } from './context.js';
import { exitCodes } from '../kernel/errors.js';

export const show: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const release: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
