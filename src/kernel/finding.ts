/** One thing that was looked at. `fix` is what to type or change; null when nothing needs to be done. */
export interface Finding {
  name: string;
  /** `fail`: Settle must not or cannot work so, or would leave orders; `warn`: it works, and it costs or is worth a look. */
  status: 'ok' | 'warn' | 'fail';
  found: string;
  fix: string | null;
}

export function ok(name: string, found: string): Finding {
  return { name, status: 'ok', found, fix: null };
}

export function warn(name: string, found: string, fix: string): Finding {
  return { name, status: 'warn', found, fix };
}

export function fail(name: string, found: string, fix: string): Finding {
  return { name, status: 'fail', found, fix };
}
