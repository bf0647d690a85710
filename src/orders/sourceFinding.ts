/** One thing that was looked at of a table of others. `fix` is what to type or change; null when nothing needs to be done. */
export interface SourceFinding {
  name: string;
  /** `fail`: runs cannot work so, or would leave orders; `warn`: they can, and it costs or is worth a look. */
  status: 'ok' | 'warn' | 'fail';
  found: string;
  fix: string | null;
}

export function fine(name: string, found: string): SourceFinding {
  return { name, status: 'ok', found, fix: null };
}

export function doubtful(name: string, found: string, fix: string): SourceFinding {
  return { name, status: 'warn', found, fix };
}

export function unfit(name: string, found: string, fix: string): SourceFinding {
  return { name, status: 'fail', found, fix };
}
