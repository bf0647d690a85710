import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { SecretPlace } from '../configPayouts.js';
import { SettleError } from '../kernel/errors.js';
import { readSmallFile } from '../kernel/smallFile.js';

/** A command that asks a vault gets so long. */
const commandMsMax = 30_000;
const commandBytesMax = 64 * 1024;

/**
 * Fetches a secret from where the configuration says it is, when it is needed and not before. `setting` is the path of the
 * setting, such as `channels.bank.secret`. Blanks and line ends around the secret are no part of it. Throws
 * CONFIG_UNREADABLE with the setting; neither the secret nor anything that a command printed is repeated. An abort of `signal`
 * ends a command.
 */
export async function fetchSecret(place: SecretPlace, setting: string, signal?: AbortSignal): Promise<string> {
  const { text, where } = await lookUp(place, setting, signal);
  const secret = text.trim();
  if (secret === '') throw unreadable(setting, `${where} is empty`);
  if (/\p{Cc}/u.test(secret)) throw unreadable(setting, `${where} holds more than one line, or control characters`);
  return secret;
}

async function lookUp(
  place: SecretPlace,
  setting: string,
  signal: AbortSignal | undefined,
): Promise<{ text: string; where: string }> {
  if ('env' in place) {
    const text = process.env[place.env];
    if (text === undefined) throw unreadable(setting, `the environment variable ${place.env} is not set`);
    return { text, where: `the environment variable ${place.env}` };
  }
  if ('file' in place) {
    try {
      return { text: readSmallFile(place.file), where: `the file ${place.file}` };
    } catch (error) {
      throw unreadable(setting, `the file ${place.file} cannot be read: ${(error as Error).message}`);
    }
  }
  // Arguments may be secret too, so that of a command only its name is told.
  const [program = '', ...args] = place.command;
  return { text: await outputOf(program, args, setting, signal), where: `what ${program} printed` };
}

async function outputOf(
  program: string,
  args: readonly string[],
  setting: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, [...args], {
      timeout: commandMsMax,
      maxBuffer: commandBytesMax,
      windowsHide: true,
      ...(signal === undefined ? {} : { signal }),
    });
    return stdout;
  } catch (error) {
    const { code, killed } = error as { code?: string | number | null; killed?: boolean };
    if (killed === true) throw unreadable(setting, `${program} took longer than 30 s`);
    throw unreadable(setting, `${program} failed (${String(code ?? 'no exit code')})`);
  }
}

function unreadable(setting: string, why: string): SettleError {
  return new SettleError('CONFIG_UNREADABLE', `The secret ${setting} cannot be fetched: ${why}.`, {
    details: { setting },
    next: `Mend ${setting} in settle.yaml, or what it names.`,
  });
}
