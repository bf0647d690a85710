import { settingsSchema, settingsTemplate, shownSettings, type ShownSetting } from '../configShow.js';
import { toJson } from '../kernel/json.js';
import type { Command, CommandContext } from './context.js';

const originOf: Record<ShownSetting['source'], (setting: ShownSetting) => string> = {
  default: () => 'default',
  file: () => 'file',
  environment: ({ variable }) => variable ?? 'environment',
};

/** `settle config show`: what holds, setting by setting. Whatever is wrong has ended the program before. */
const show: Command<object> = async (context) => {
  const settings = shownSettings({ file: context.configFile, environment: process.env });
  if (context.output !== 'text') {
    await context.document({ schema: 'settle.config', settings });
    return 0;
  }
  const width = Math.max(...settings.map(({ setting }) => setting.length));
  for (const setting of settings) {
    const value = setting.value === null ? '-' : toJson(setting.value);
    await context.print(`${setting.setting.padEnd(width)}  ${value}  (${originOf[setting.source](setting)})`);
  }
  return 0;
};

/** `settle config check`: the settings are read before any command begins, so that coming here is the answer. */
const check: Command<object> = async (context) => {
  if (context.output === 'text') await context.print('The settings are valid.');
  else await context.document({ schema: 'settle.configCheck', ok: true });
  return 0;
};

const printed =
  (text: () => string): Command<object> =>
  async (context: CommandContext) => {
    await context.print(text().trimEnd());
    return 0;
  };

export const configCommands = {
  show,
  check,
  init: printed(settingsTemplate),
  schema: printed(() => toJson(settingsSchema(), 2)),
};
