import { connect, createServer, type Socket } from 'node:net';
import { parseDatabaseUrl } from '../../src/db/url.js';

/**
 * What happens to the next statement that matches:
 * - `drop`: the connection is cut before the server sees the statement
 * - `dropAnswer`: the server gets the statement, the client never gets its answer
 * - `halfAnswer`: the client gets the first bytes of the answer, then the connection is cut
 * - `holdAnswer`: the server gets the statement, the answer stays on the way, and the connection stays open
 * - `deliverLate`: the client's connection is cut at once, the server gets the statement `lateMs` later
 */
export type Fault = 'drop' | 'dropAnswer' | 'halfAnswer' | 'holdAnswer' | 'deliverLate';

export interface Proxy {
  /** The given URL, by way of the proxy. */
  url: string;
  /** Does this to the next statement that matches, once. */
  next(statement: RegExp, fault: Fault): void;
  /** Calls back when a matching statement passes, before the server sees it; the statement then goes on. */
  onStatement(statement: RegExp, listener: () => void): void;
  /** Faults that have struck. */
  struck(): number;
  close(): Promise<void>;
}

const lateMs = 400;
const queryCommand = 3;

/**
 * The text of a query, or nothing for another command. After the command, MySQL from 8.0.23 on is sent the number of
 * the query's attributes, 0, and of its parameter sets, 1; MariaDB is sent the text at once.
 */
function statementIn(packet: Buffer): string {
  if (packet[4] !== queryCommand) return '';
  return packet.toString('utf8', packet[5] === 0 && packet[6] === 1 ? 7 : 5);
}

/** A TCP proxy on loopback in front of a MySQL server, which can lose what a network loses. */
export async function startProxy(url: string): Promise<Proxy> {
  const target = parseDatabaseUrl(url);
  if (target.dialect !== 'mysql') throw new Error('Only a server has a network in front of it.');
  const planned: { statement: RegExp; fault: Fault }[] = [];
  const listeners: { statement: RegExp; listener: () => void }[] = [];
  const sockets = new Set<Socket>();
  let struck = 0;

  const server = createServer((client) => {
    const upstream = connect(target.port, target.host);
    let answers: 'pass' | 'dropAnswer' | 'halfAnswer' | 'holdAnswer' = 'pass';
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());

    client.on('data', (packet: Buffer) => {
      const text = statementIn(packet);
      for (const { statement, listener } of listeners) if (statement.test(text)) listener();
      const at = planned.findIndex(({ statement }) => statement.test(text));
      const fault = at < 0 ? undefined : planned.splice(at, 1)[0]?.fault;
      if (fault === undefined) {
        upstream.write(packet);
        return;
      }
      struck += 1;
      if (fault === 'drop') {
        upstream.destroy();
        client.destroy();
      } else if (fault === 'deliverLate') {
        client.removeAllListeners('close');
        client.destroy();
        setTimeout(() => {
          upstream.end(packet);
        }, lateMs);
      } else {
        answers = fault;
        upstream.write(packet);
      }
    });
    upstream.on('data', (packet: Buffer) => {
      if (answers === 'pass') client.write(packet);
      else if (answers === 'dropAnswer') client.destroy();
      else if (answers === 'halfAnswer') client.write(packet.subarray(0, 5), () => client.destroy());
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const through = new URL(url);
  through.host = `127.0.0.1:${String(address.port)}`;
  return {
    url: through.href,
    next: (statement, fault) => planned.push({ statement, fault }),
    onStatement: (statement, listener) => listeners.push({ statement, listener }),
    struck: () => struck,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}
