import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fail, ok, warn, type Finding } from '../kernel/finding.js';

/** Where something is written: a file that grows, or a folder that files are put into. */
export interface Place {
  /** "report.dir" */
  setting: string;
  path: string;
  kind: 'file' | 'folder';
}

const mebibyte = 1_048_576;
const bytesLow = 1_024 * mebibyte;
const bytesOut = 64 * mebibyte;

/** Whether there is room where files are written, and whether this user may write there. One finding a place. */
export function diskFindings(places: readonly Place[]): Finding[] {
  return places.map((place) => diskFinding(place, freeBytes));
}

/** `free` tells the bytes that a user without privileges may still write to a folder. */
export function diskFinding({ setting, path, kind }: Place, free: (folder: string) => number): Finding {
  const name = `disk:${setting}`;
  const folder = nearestFolder(kind === 'file' ? dirname(path) : path);
  const which = `${setting} (${path})`;
  try {
    accessSync(existsSync(path) ? path : folder, constants.W_OK);
  } catch {
    return fail(
      name,
      `${which} cannot be written by this user`,
      `Make ${folder} writable, or name another place in ${setting}.`,
    );
  }
  const bytes = free(folder);
  const found = `${which} has ${sizeText(bytes)} free`;
  if (bytes < bytesOut) return fail(name, found, `Free space on the disk of ${folder}: a full disk stops a run.`);
  const needed = Math.max(bytesLow, kind === 'file' && existsSync(path) ? statSync(path).size : 0);
  return bytes < needed
    ? warn(name, `${found}, less than ${sizeText(needed)}`, `Free space on the disk of ${folder}.`)
    : ok(name, found);
}

/** The folder itself, or what is there of the path to it: it is made when it is needed. */
function nearestFolder(path: string): string {
  let folder = resolve(path);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function sizeText(bytes: number): string {
  return bytes >= 1_024 * mebibyte
    ? `${(bytes / 1_024 / mebibyte).toFixed(1)} GiB`
    : `${String(Math.floor(bytes / mebibyte))} MiB`;
}
