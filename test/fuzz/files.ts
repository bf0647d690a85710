import { gzipSync } from 'node:zlib';
import { nasty, type Random } from './random.js';

// Files at the door: good ones with single values that are wrong, good ones damaged on their way, and garbage.

export type FileKind = 'orders' | 'accounts';

export const orderNames = [
  'order_no',
  'account_no',
  'batch_day',
  'type',
  'amount',
  'currency',
  'channel',
  'occurred_at',
] as const;
export const accountNames = ['account_no', 'status'] as const;

const values: Readonly<Record<string, (random: Random) => string>> = {
  order_no: (random) => `O-${String(random.whole(1, 30))}`,
  account_no: (random) =>
    random.pick(['M1', 'M2', 'm1', 'M1 ', 'Mé', 'Me\u0301', 'М1', 'M😀', 'M\u200b1', '=M', 'ﬁ', 'M1\u00a0x']),
  batch_day: (random) =>
    random.pick(['2026-11-29', '2026-11-29', '2024-02-29', '2026-02-29', '1000-01-01', '26-11-29', '9999-12-31']),
  type: (random) => random.pick(['PAYMENT', 'PAYMENT', 'REFUND', 'FEE', 'ADJUSTMENT', 'payment', 'PAYMENT ']),
  amount: (random) =>
    random.pick([
      '12.50',
      '1',
      '0',
      '-0',
      '-0.00',
      '-3',
      '0.001',
      '1.2345',
      '1e308',
      '1,234.56',
      '01',
      '.5',
      '5.',
      '+5',
      '92233720368547758.07',
      '92233720368547758.08',
      '9223372036854775807',
      '-9223372036854775808',
      `1${'0'.repeat(400)}`,
      String(random.whole(1, 99_999)),
    ]),
  currency: (random) => random.pick(['USD', 'USD', 'EUR', 'JPY', 'KWD', 'CNY', 'usd', 'XXX', 'US', '']),
  channel: (random) => random.pick(['CARD', 'CARD', 'BANK', 'c\u0000d', ' x']),
  occurred_at: (random) =>
    random.pick([
      '2026-11-29T10:00:00Z',
      '2026-11-29T10:00:00Z',
      '2026-11-29T18:00:00.000+08:00',
      '2026-11-29t10:00:00.123456789z',
      '2026-11-29T10:00:00',
      '2026-11-29 10:00:00Z',
      '2026-11-29T24:00:00Z',
      '2026-02-30T10:00:00Z',
      '9999-12-31T23:59:59-01:00',
      '1000-01-01T00:00:00+01:00',
      '2026-11-29T10:00:60Z',
      '2026-11-29T10:00:00+24:00',
    ]),
  reversal_of: (random) => random.pick(['', '', 'O-1', 'O-2', ' O', 'O-\u202e']),
  status: (random) => random.pick(['ACTIVE', 'FROZEN', 'CLOSED', 'active', 'Closed', '']),
};

/** A value that is right, seldom one that only looks right, and seldom one that has nothing to do with it. */
function valueOf(name: string, random: Random): string {
  const usual: Readonly<Record<string, string>> = {
    batch_day: '2026-11-29',
    type: 'PAYMENT',
    amount: '12.50',
    currency: 'USD',
    channel: 'CARD',
    occurred_at: '2026-11-29T10:00:00Z',
    status: 'ACTIVE',
    account_no: 'M1',
  };
  if (random.oneIn(40)) return random.pick(nasty);
  if (random.oneIn(60)) return random.text();
  const right = Object.hasOwn(usual, name) ? usual[name] : undefined;
  return right !== undefined && !random.oneIn(6)
    ? right
    : Object.hasOwn(values, name)
      ? (values[name]?.(random) ?? '')
      : random.text();
}

interface Table {
  names: string[];
  rows: string[][];
}

function tableOf(kind: FileKind, random: Random): Table {
  let names: string[] = [...(kind === 'orders' ? orderNames : accountNames)];
  if (kind === 'orders' && random.oneIn(3)) names.push('reversal_of');
  if (random.oneIn(8)) names.push(random.pick(['__proto__', 'constructor', 'note', '', 'Order_no', '\ufefforder_no']));
  if (random.oneIn(30)) names.push(random.pick(names));
  if (random.oneIn(30)) names.splice(random.whole(0, names.length - 1), 1);
  if (random.oneIn(3)) names = random.shuffled(names);
  const count = random.oneIn(20) ? random.whole(0, 60) : random.whole(0, 5);
  const rows: string[][] = [];
  for (let at = 0; at < count; at += 1) {
    const again = random.oneIn(8) ? rows[random.whole(0, rows.length - 1)] : undefined;
    const row = again === undefined ? names.map((name) => valueOf(name, random)) : [...again];
    if (again !== undefined && random.oneIn(2)) {
      const column = random.whole(0, names.length - 1);
      row[column] = valueOf(names[column] ?? '', random);
    }
    if (random.oneIn(40)) row.push('x');
    if (random.oneIn(40)) row.pop();
    rows.push(row);
  }
  return { names, rows };
}

function csvOf({ names, rows }: Table, random: Random): string {
  const mixed = random.oneIn(6);
  const end = random.pick(['\n', '\n', '\r\n', '\r']);
  const lineEnd = (): string => (mixed ? random.pick(['\n', '\r\n', '\r', '\n\n', '\n   \n']) : end);
  const cell = (text: string): string => {
    const needed = /[",\r\n]/.test(text);
    const quoted = needed ? !random.oneIn(30) : random.oneIn(12);
    return quoted ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [names, ...rows].map((row) => row.map(cell).join(',') + lineEnd());
  const text = lines.join('');
  return random.oneIn(4) ? text.replace(/[\r\n]+$/, '') : text;
}

function ndjsonOf({ names, rows }: Table, random: Random): string {
  const value = (text: string): string => {
    if (!random.oneIn(60)) return JSON.stringify(text);
    return random.pick([
      'null',
      '12.5',
      '1e400',
      'true',
      '[]',
      '{"amount":"1"}',
      '-0',
      'NaN',
      '"\\ud800"',
      '"\\u0000"',
    ]);
  };
  const line = (row: readonly string[]): string => {
    const pairs = names.map((name, at) => `${JSON.stringify(name)}:${value(row[at] ?? '')}`);
    if (random.oneIn(30)) pairs.push(random.pick(['"__proto__":{"amount":"1"}', '"__proto__":"x"', '"toString":"x"']));
    const blank = random.oneIn(10) ? ' ' : '';
    return `${blank}{${pairs.join(`,${blank}`)}}${random.oneIn(60) ? random.pick([',', '}', ' x', '//']) : ''}`;
  };
  const end = random.pick(['\n', '\n', '\r\n', '\n\n']);
  return rows.map((row) => line(row)).join(end) + (random.oneIn(3) ? '' : end);
}

type Damage = (bytes: Buffer, random: Random) => Buffer;

const inserted: readonly string[] = [
  '"',
  ',',
  '\n',
  '\r',
  '\r\n',
  '\0',
  '\ufeff',
  '""',
  '"\n',
  '{',
  '}',
  '\\',
  '\u2028',
  ';',
  '\t',
  "'",
];

const damages: readonly Damage[] = [
  (bytes, random) => bytes.subarray(0, random.whole(0, bytes.length)),
  (bytes, random) => bytes.subarray(random.whole(0, bytes.length)),
  (bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
  (bytes) => Buffer.from(`\ufeff${bytes.toString()}`, 'utf16le'),
  (bytes) => Buffer.from(bytes.toString(), 'utf16le').swap16(),
  (bytes) => Buffer.from(bytes.toString(), 'latin1'),
  (bytes) => gzipSync(bytes),
  (bytes) => Buffer.from(bytes.toString().replaceAll('\n', '\r\n')),
  (bytes) => Buffer.from(bytes.toString().replaceAll(',', ';')),
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes, random) => splice(bytes, random.whole(0, bytes.length), 0, random.bytes(random.whole(1, 4))),
  (bytes, random) => splice(bytes, random.whole(0, bytes.length), 0, Buffer.from(random.pick(inserted))),
  (bytes, random) => splice(bytes, random.whole(0, bytes.length), 0, Buffer.from(random.pick(inserted))),
  (bytes, random) => splice(bytes, random.whole(0, bytes.length), random.whole(1, 40), Buffer.alloc(0)),
  (bytes, random) => splice(bytes, random.whole(0, bytes.length), 1, random.bytes(1)),
  (bytes, random) => splice(bytes, random.whole(0, bytes.length), 0, Buffer.from(random.pick(nasty))),
];

function splice(bytes: Buffer, at: number, taken: number, put: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + taken)]);
}

function huge(kind: FileKind, random: Random): Buffer {
  const table = tableOf(kind, random);
  const cell = 'c'.repeat(random.pick([1_048_000, 1_048_576, 1_048_577, 5_000_000]));
  switch (random.whole(0, 3)) {
    case 0:
      return Buffer.from(
        csvOf({ names: [...table.names, 'big'], rows: table.rows.map((row) => [...row, cell]) }, random),
      );
    case 1:
      return Buffer.from(`{"a":"${cell}"}\n`);
    case 2:
      return Buffer.from(`${table.names.join(',')}\n${'\n'.repeat(100_000)}${'x,'.repeat(9)}\n`);
    default:
      return Buffer.from(
        `${orderNames.join(',')}\n${Array.from({ length: 5_000 }, (_, at) => `H-${String(at)},M1,2026-11-29,PAYMENT,1,USD,CARD,2026-11-29T10:00:00Z`).join('\n')}`,
      );
  }
}

/** The bytes of one file that somebody might hand in. */
export function fileBytes(kind: FileKind, random: Random): Buffer {
  if (random.oneIn(500)) return huge(kind, random);
  if (random.oneIn(12)) {
    const garbage = [
      () => random.bytes(random.whole(0, 300)),
      () => Buffer.from(random.text(200)),
      () => Buffer.from(`${(kind === 'orders' ? orderNames : accountNames).join(',')}\n${random.text(300)}`),
      () => Buffer.from(`{${random.text(200)}`),
      () => Buffer.from(random.pick(['', '\ufeff', '\n\n', ' \t\r\n', '\0', '{', '[]', '{}', '"', ',,,,,,,\n'])),
    ];
    return random.pick(garbage)();
  }
  const table = tableOf(kind, random);
  let bytes: Buffer = Buffer.from(random.oneIn(3) ? ndjsonOf(table, random) : csvOf(table, random));
  if (random.oneIn(3)) {
    for (let times = random.whole(1, 3); times > 0; times -= 1) bytes = random.pick(damages)(bytes, random);
  }
  return bytes;
}
