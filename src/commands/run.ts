import type { Command } from './context.js';
import { exitCodes } from '../kernel/errors.js';

export const run: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const resume: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
export const rerun: Command<object> = () => Promise.resolve(exitCodes.INTERNAL);
