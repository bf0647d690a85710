import { Agent, type ClientRequestArgs } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';

/** Shorter than any server keeps an idle connection, so that no request meets a connection that is just being closed. */
const idleMsMax = 3_000;

/**
 * Connections of one channel, kept and used again. A request is given its connection only once that is there, over TLS once
 * the other side has proven who it is: before that not a byte of the request leaves this machine.
 */
export class ChannelConnections extends Agent {
  private readonly target: URL;
  private readonly ca: string | null;
  private readonly connectMsMax: number;

  constructor(url: URL, options: { ca: string | null; concurrency: number; timeoutMs: number }) {
    super({ keepAlive: true, maxSockets: options.concurrency, timeout: idleMsMax, scheduling: 'lifo' });
    this.target = url;
    this.ca = options.ca;
    this.connectMsMax = options.timeoutMs;
  }

  override createConnection(
    _options: ClientRequestArgs,
    made?: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    const { target, ca } = this;
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const isTls = target.protocol === 'https:';
    const port = target.port === '' ? (isTls ? 443 : 80) : Number(target.port);
    // An address has no name to be asked for; a certificate is checked against it all the same.
    const servername = /^[0-9.]+$|:/.test(host) ? '' : host;
    const socket: Socket = isTls
      ? connectTls({ host, port, servername, minVersion: 'TLSv1.2', ...(ca === null ? {} : { ca }) })
      : connectPlain({ host, port });
    const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), this.connectMsMax);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      made?.(error, socket);
    };
    socket.once('error', fail);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      socket.setNoDelay(true);
      made?.(null, socket);
    });
    return undefined;
  }
}
