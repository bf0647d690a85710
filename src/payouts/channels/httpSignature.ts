import { createHmac, timingSafeEqual } from 'node:crypto';

export const signatureHeader = 'settle-signature';

/** What a signature covers. */
export interface SignedRequest {
  method: string;
  /** As it stands in the first line of the request. */
  path: string;
  idempotencyKey: string;
  body: string;
}

/** `t=SECONDS,v1=HEX`: HMAC-SHA256 over time, method, path, key and body, each on a line of its own. */
export function signature(secret: string, seconds: number, request: SignedRequest): string {
  return `t=${String(seconds)},v1=${codeOf(secret, String(seconds), request).toString('hex')}`;
}

/** How far the clocks of the two sides may be apart. */
const skewSecondsMax = 300;

/** Whether a request was signed with the secret, and lately. Takes the same time whichever byte differs. */
export function isSigned(secret: string, header: string | undefined, seconds: number, request: SignedRequest): boolean {
  const [, at = '', code = ''] = /^t=([0-9]{1,12}),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? [];
  if (at === '' || Math.abs(seconds - Number(at)) > skewSecondsMax) return false;
  return timingSafeEqual(Buffer.from(code, 'hex'), codeOf(secret, at, request));
}

function codeOf(secret: string, at: string, { method, path, idempotencyKey, body }: SignedRequest): Buffer {
  return createHmac('sha256', secret).update([at, method, path, idempotencyKey, body].join('\n')).digest();
}
