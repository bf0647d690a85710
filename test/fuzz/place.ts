import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInside } from '../support/inside.js';

/** A folder in which the inputs of one door are tried, one after the other, each in a folder of its own. */
export class Place {
  readonly root: string;
  /** The folder of the input under way, with the database as `settle.db` in it. */
  readonly cwd: string;
  /** What the program may use for its temporary files; must be empty after each input. */
  readonly temporary: string;
  private template: Buffer = Buffer.alloc(0);

  constructor(root: string) {
    this.root = root;
    this.cwd = join(this.root, 'input');
    this.temporary = join(this.root, 'tmp');
    mkdirSync(this.temporary);
    process.env['TMPDIR'] = this.temporary;
  }

  /** Whether the file of the database is, byte for byte, what each input finds. */
  isUntouched(): boolean {
    return readFileSync(this.database).equals(this.template);
  }

  get database(): string {
    return join(this.cwd, 'settle.db');
  }

  /** Makes the folder what the next input must find: only the database, as it was. */
  tidy(): void {
    for (const name of readdirSync(this.cwd)) if (name !== 'settle.db') this.remove(join(this.cwd, name));
    if (lstatSync(this.database, { throwIfNoEntry: false })?.isFile() !== true || !this.isUntouched()) {
      this.remove(this.database);
      writeFileSync(this.database, this.template, { mode: 0o600 });
    }
  }

  /** Names of what is in the folder for temporary files. */
  leftovers(): string[] {
    return readdirSync(this.temporary);
  }

  remove(path = this.root): void {
    rmSync(path, { recursive: true, force: true });
  }

  /** Makes the database that each input finds: migrated, with some accounts and orders, one day of them settled. */
  async prepare(): Promise<void> {
    mkdirSync(this.cwd, { mode: 0o700 });
    const typed = async (args: readonly string[], wanted: readonly number[]): Promise<void> => {
      const ended = await runInside({ args, environment: {}, cwd: this.cwd });
      if (!wanted.includes(ended.code ?? -1)) throw new Error(`settle ${args.join(' ')}: ${ended.stderr}`);
    };
    await typed(['migrate', 'up'], [0]);
    for (const [name, text] of Object.entries(templateFiles)) {
      writeFileSync(join(this.cwd, `${name}.csv`), text);
      await typed(['import', name, `${name}.csv`], [0]);
    }
    await typed(['run', '--batch-day', '2026-11-28'], [0, 3]);
    this.template = readFileSync(this.database);
    this.tidy();
  }
}

/** A folder in memory where there is one: what is tried is the program, not the disk. */
export function newRoot(): string {
  const memory = '/dev/shm';
  return mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'settle-fuzz-'));
}

/** Paths below a folder, without following links. */
export function pathsBelow(folder: string, prefix = ''): string[] {
  return readdirSync(join(folder, prefix)).flatMap((name) => {
    const path = join(prefix, name);
    return lstatSync(join(folder, path)).isDirectory() ? [path, ...pathsBelow(folder, path)] : [path];
  });
}

const templateFiles: Readonly<Record<string, string>> = {
  accounts: 'account_no,status\nM1,ACTIVE\nM2,FROZEN\nM3,CLOSED\n',
  orders:
    'order_no,account_no,batch_day,type,amount,currency,channel,occurred_at\n' +
    'O-1,M1,2026-11-29,PAYMENT,12.50,USD,CARD,2026-11-29T10:00:00Z\n' +
    'O-2,M2,2026-11-29,PAYMENT,12.50,USD,CARD,2026-11-29T10:00:00Z\n' +
    'O-3,M1,2026-11-29,REFUND,3,USD,CARD,2026-11-29T10:00:00Z\n' +
    'S-1,M1,2026-11-28,PAYMENT,100.00,USD,CARD,2026-11-28T10:00:00Z\n' +
    'S-2,M2,2026-11-28,PAYMENT,7.00,EUR,CARD,2026-11-28T10:00:00Z\n',
};
