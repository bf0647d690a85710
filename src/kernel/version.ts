import { createRequire } from 'node:module';

/** The version of the program: by its name, so that it is found from the sources and from what they are built into. */
export function programVersion(): string {
  return (createRequire(import.meta.url)('settle/package.json') as { version: string }).version;
}
