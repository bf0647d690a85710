import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from './bound.js';
import { launch } from './launch.js';
import { serverStore, sqliteStore, type Store } from './store.js';

/** A database of its own for one history. */
export interface World {
  engine: Engine;
  url: string;
  store: Store;
  /** For files, and where commands are started: no configuration lies there. */
  folder: string;
  /** Null when the server serves others too. */
  crash: { kill(): Promise<void>; start(): Promise<void> } | null;
  remove(): Promise<void>;
}

/** A server on which databases may be made. */
export interface SoakServer {
  /** Ends in "/". */
  url: string;
  crash: World['crash'];
}

let made = 0;

export async function makeWorld(engine: Engine, server: SoakServer | null): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'settle-soak-'));
  let world: World;
  if (engine === 'sqlite') {
    const path = join(folder, 'soak.db');
    world = {
      engine,
      url: `sqlite:${path}`,
      store: sqliteStore(path),
      folder,
      crash: null,
      remove: () => {
        rmSync(folder, { recursive: true, force: true });
        return Promise.resolve();
      },
    };
  } else {
    if (server === null) throw new Error('There is no server to soak.');
    made += 1;
    const name = `settle_test_soak_${String(process.pid)}_${String(made)}`;
    const admin = serverStore(`${server.url}information_schema`);
    await admin.change(`create database ${name}`);
    const url = `${server.url}${name}`;
    world = {
      engine,
      url,
      store: serverStore(url),
      folder,
      crash: server.crash,
      remove: async () => {
        await admin.change(`drop database ${name}`);
        rmSync(folder, { recursive: true, force: true });
      },
    };
  }
  const migrated = await launch(['migrate', 'up'], { url: world.url, cwd: folder, env: {} }).ended;
  if (migrated.code !== 0) throw new Error(`The schema cannot be made: ${migrated.stderr}`);
  return world;
}
