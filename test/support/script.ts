import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface ScriptEnded {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs a module text as a process of its own, on the built program: for what only another process can show, such as
 * another time zone, or two writers on one file. `import … from 'settle:db/database.js'` names a file below dist/src.
 */
export function script(
  text: string,
  options: { args?: readonly string[]; env?: Record<string, string> } = {},
): { child: ChildProcess; ended: Promise<ScriptEnded> } {
  const built = pathToFileURL(join(process.cwd(), 'dist', 'src')).href;
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', text.replaceAll("'settle:", `'${built}/`), ...(options.args ?? [])],
    { env: { ...process.env, ...options.env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (part: Buffer) => (stdout += part.toString()));
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
  const ended = new Promise<ScriptEnded>((resolve) => {
    child.on('close', (code, signal) => {
      resolve({ code, signal, stdout, stderr });
    });
  });
  return { child, ended };
}
