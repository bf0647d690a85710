import { settingsHash, settingsSchema, settingsTemplate, shownSettings, type ShownSetting } from '../configShow.js';
import { toJson } from '../kernel/json.js';
import type { Command } from './context.js';

const originOf: Record<ShownSetting['source'], (setting: ShownSetting) => string> = {
  default: () => 'default',
  file: () => 'file',
  environment: ({ variable }) => variable ?? 'environment',
};

/** `settle config show`: what holds, setting by setting. Whatever is wrong has ended the program before. */
const show: Command<object> = async (context) => {
  const from = { file: context.configFile, environment: process.env };
  const [settings, hash] = [shownSettings(from), settingsHash(from)];
  if (context.output !== 'text') {
    await context.document({ schema: 'settle.config', settings, hash });
    return 0;
  }
  const width = Math.max(...settings.map(({ setting }) => setting.length));
  for (const setting of settings) {
    const value = setting.value === null ? '-' : toJson(setting.value);
    await context.print(`${setting.setting.padEnd(width)}  ${value}  (${originOf[setting.source](setting)})`);
  }
  context.say(`Config hash ${hash}, as runs and reports carry it.`);
  return 0;
};

/** `settle config check`: the settings are read before any command begins, so that coming here is the answer. */
const check: Command<object> = async (context) => {
  if (context.output === 'text') await context.print('The settings are valid.');
  else await context.document({ schema: 'settle.configCheck', ok: true });
  return 0;
};

/** `settle config init`: a commented settle.yaml. */
const init: Command<object> = async (context) => {
  if (context.output === 'text') await context.print(settingsTemplate().trimEnd());
  else await context.document({ schema: 'settle.configTemplate', text: settingsTemplate() });
  return 0;
};

/** `settle config schema`: for editors, so that the text is the bare JSON Schema. */
const schema: Command<object> = async (context) => {
  if (context.output === 'text') await context.print(toJson(settingsSchema(), 2));
  else await context.document({ schema: 'settle.configSchema', jsonSchema: settingsSchema() });
  return 0;
};

export const configCommands = { show, check, init, schema };
