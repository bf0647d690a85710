import type { Command } from './context.js';
import { exitCodes } from '../kernel/errors.js';

export const status: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const requeue: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
