import { isTimeZone } from '../times.js';

/** Short names that stand for one offset only. CST, IST and others are used by several countries and are not here. */
const offsets: Readonly<Record<string, string>> = {
  UTC: '+00:00',
  GMT: '+00:00',
  WET: '+00:00',
  WEST: '+01:00',
  CET: '+01:00',
  CEST: '+02:00',
  EET: '+02:00',
  EEST: '+03:00',
  EST: '-05:00',
  EDT: '-04:00',
  CDT: '-05:00',
  MST: '-07:00',
  MDT: '-06:00',
  PST: '-08:00',
  PDT: '-07:00',
  BRT: '-03:00',
  SGT: '+08:00',
  HKT: '+08:00',
  JST: '+09:00',
  AWST: '+08:00',
  AEST: '+10:00',
  AEDT: '+11:00',
  NZST: '+12:00',
  NZDT: '+13:00',
};

/** The offset of a short name, or of one written out; null for others. */
export function offsetOf(zone: string): string | null {
  if (/^[+-]([01][0-9]|2[0-3]):[0-5][0-9]$/.test(zone)) return zone;
  return Object.hasOwn(offsets, zone) ? (offsets[zone] ?? null) : null;
}

/** Names of zones as Square shows them to merchants. */
const names: Readonly<Record<string, string>> = {
  'Eastern Time (US & Canada)': 'America/New_York',
  'Central Time (US & Canada)': 'America/Chicago',
  'Mountain Time (US & Canada)': 'America/Denver',
  'Pacific Time (US & Canada)': 'America/Los_Angeles',
  'Atlantic Time (Canada)': 'America/Halifax',
  'Indiana (East)': 'America/Indiana/Indianapolis',
  Newfoundland: 'America/St_Johns',
  Saskatchewan: 'America/Regina',
  Arizona: 'America/Phoenix',
  Alaska: 'America/Juneau',
  Hawaii: 'Pacific/Honolulu',
  'Puerto Rico': 'America/Puerto_Rico',
  London: 'Europe/London',
  Edinburgh: 'Europe/London',
  Dublin: 'Europe/Dublin',
  Paris: 'Europe/Paris',
  Madrid: 'Europe/Madrid',
  Tokyo: 'Asia/Tokyo',
  Osaka: 'Asia/Tokyo',
  Sydney: 'Australia/Sydney',
  Melbourne: 'Australia/Melbourne',
  Canberra: 'Australia/Melbourne',
  Brisbane: 'Australia/Brisbane',
  Adelaide: 'Australia/Adelaide',
  Darwin: 'Australia/Darwin',
  Hobart: 'Australia/Hobart',
  Perth: 'Australia/Perth',
};

/** The zone of the IANA list that a name means; null for others. */
export function zoneOf(name: string): string | null {
  if (Object.hasOwn(names, name)) return names[name] ?? null;
  return name.includes('/') && isTimeZone(name) ? name : null;
}

/** Whether dates beside this zone are written as in the United States: month, day, year. */
export function isAmerican(name: string): boolean {
  return /US & Canada|^(Arizona|Alaska|Hawaii|Indiana \(East\)|Puerto Rico)$/.test(name) || name.startsWith('US/');
}
