import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

export interface Reached {
  /** Milliseconds to the connection, the proof of who the other side is included. */
  ms: number;
  /** When its certificate ends, and the version of TLS; null without TLS. */
  secure: { protocol: string; validTo: Date } | null;
}

/** Why a host was not reached, in words that hold nothing the other side sent. */
export interface NotReached {
  problem: string;
  fix: string;
}

/**
 * Looks up the host of an http or https URL and connects to it, over TLS once it has proven who it is. Not a byte of a request
 * is sent. An abort of the signal ends the wait.
 */
export function reach(url: URL, ca: string | null, signal: AbortSignal): Promise<Reached | NotReached> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isTls = url.protocol === 'https:';
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  const servername = /^[0-9.]+$|:/.test(host) ? '' : host;
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const socket: Socket = isTls
      ? connectTls({ host, port, servername, minVersion: 'TLSv1.2', ...(ca === null ? {} : { ca }) })
      : connectPlain({ host, port });
    const end = (outcome: Reached | NotReached): void => {
      signal.removeEventListener('abort', onAbort);
      resolve(outcome);
      socket.destroy();
    };
    const onAbort = (): void => {
      end({ problem: 'no answer in time', fix: `Check the network and the firewall up to ${host}.` });
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      end(explained(error, host, port));
    });
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      end({ ms: Math.round(performance.now() - startedAt), secure: isTls ? proofOf(socket as TLSSocket) : null });
    });
    if (signal.aborted) onAbort();
  });
}

function proofOf(socket: TLSSocket): Reached['secure'] {
  return {
    protocol: socket.getProtocol() ?? 'TLS',
    validTo: new Date(socket.getPeerCertificate().valid_to),
  };
}

function explained({ code = '' }: NodeJS.ErrnoException, host: string, port: number): NotReached {
  const at = `${host}:${String(port)}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return {
      problem: `the name ${host} is not known (${code})`,
      fix: 'Mend the host in the setting, or the name server of this machine.',
    };
  }
  if (code === 'ECONNREFUSED') {
    return { problem: `nobody listens at ${at}`, fix: 'Start it, or mend host and port in the setting.' };
  }
  if (/CERT|SIGNATURE|ERR_TLS|ISSUER/.test(code)) {
    return {
      problem: `${at} does not prove who it is (${code})`,
      fix: 'Name its certificates with the setting ca, or have its certificate renewed.',
    };
  }
  if (/SSL|EPROTO/.test(code)) {
    return { problem: `${at} does not speak TLS 1.2 or later (${code})`, fix: 'Mend the port in the setting.' };
  }
  return {
    problem: `${at} is not reached (${/^[A-Z][A-Z0-9_]*$/.test(code) ? code : 'connection failed'})`,
    fix: `Check the network and the firewall up to ${host}.`,
  };
}
