import { connect, createServer, type Socket } from 'node:net';
import { parseDatabaseUrl } from '../../src/db/url.js';

/**
 * What happens to a statement:
 * - `drop`: the connection is cut before the server sees the statement
 * - `halfRequest`: the server gets the first half of the statement, then the connection is cut
 * - `dropAnswer`: the server gets the statement, the client never gets its answer
 * - `halfAnswer`: the client gets the first bytes of the answer, then the connection is cut
 * - `holdAnswer`: the server gets the statement, the answer stays on the way, and the connection stays open
 * - `deliverLate`: the client's connection is cut at once, the server gets the statement `lateMs` later
 */
export type Fault = 'drop' | 'halfRequest' | 'dropAnswer' | 'halfAnswer' | 'holdAnswer' | 'deliverLate';

export interface Proxy {
  /** The given URL, by way of the proxy. */
  url: string;
  /** Does this to the next statement that matches, once. */
  next(statement: RegExp, fault: Fault): void;
  /** Does this to the nth packet that clients send from now on, logins too, whichever connection it is on; once. */
  at(nth: number, fault: Fault): void;
  /** Calls back when a matching statement passes, before the server sees it; the statement then goes on. */
  onStatement(statement: RegExp, listener: (text: string) => void): void;
  /** From now on nothing gets through either way and nothing is closed, new connections included, until `heal`. */
  blackHole(): void;
  /** Cuts every connection and lets no new one in, until `heal`. */
  refuse(): Promise<void>;
  heal(): Promise<void>;
  /** Faults that have struck. */
  struck(): number;
  /** What clients have sent since the start, shortened: a statement's first words, or "(login)". */
  sent(): readonly string[];
  /** What the faults of `at` and `next` struck. */
  struckAt(): readonly string[];
  close(): Promise<void>;
}

const lateMs = 400;
const [quitCommand, queryCommand] = [1, 3];

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
  const plannedAt: { nth: number; fault: Fault }[] = [];
  const listeners: { statement: RegExp; listener: (text: string) => void }[] = [];
  const sockets = new Set<Socket>();
  const sent: string[] = [];
  const struckAt: string[] = [];
  let swallowing = false;

  const faultFor = (text: string): Fault | undefined => {
    const byCount = plannedAt.findIndex(({ nth }) => nth === sent.length);
    if (byCount >= 0) return plannedAt.splice(byCount, 1)[0]?.fault;
    const byText = planned.findIndex(({ statement }) => statement.test(text));
    return byText < 0 ? undefined : planned.splice(byText, 1)[0]?.fault;
  };

  // Half-open: a client that ends its side is not answered with the other end while nothing gets through.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(target.port, target.host);
    let answers: 'pass' | 'dropAnswer' | 'halfAnswer' | 'holdAnswer' = 'pass';
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    client.on('end', () => {
      if (!swallowing) upstream.end();
    });
    upstream.on('close', () => {
      if (!swallowing) client.destroy();
    });

    client.on('data', (packet: Buffer) => {
      if (swallowing) return;
      const text = statementIn(packet);
      for (const { statement, listener } of listeners) if (statement.test(text)) listener(text);
      if (swallowing) return; // a listener may have made the hole
      const isQuit = packet.length === 5 && packet[4] === quitCommand;
      if (!isQuit) sent.push(text === '' ? '(login)' : text.slice(0, 60).replaceAll(/\s+/g, ' '));
      const fault = isQuit ? undefined : faultFor(text);
      if (fault === undefined) {
        upstream.write(packet);
        return;
      }
      struckAt.push(sent.at(-1) as string);
      if (fault === 'drop') {
        upstream.destroy();
        client.destroy();
      } else if (fault === 'halfRequest') {
        upstream.write(packet.subarray(0, Math.ceil(packet.length / 2)), () => {
          upstream.destroy();
        });
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
      if (swallowing) return;
      if (answers === 'pass') client.write(packet);
      else if (answers === 'dropAnswer') client.destroy();
      else if (answers === 'halfAnswer') client.write(packet.subarray(0, 5), () => client.destroy());
    });
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  const shut = (): Promise<void> =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) resolve();
      else
        server.close(() => {
          resolve();
        });
    });
  await listen(0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const through = new URL(url);
  through.host = `127.0.0.1:${String(address.port)}`;
  return {
    url: through.href,
    next: (statement, fault) => planned.push({ statement, fault }),
    at: (nth, fault) => plannedAt.push({ nth: sent.length + nth, fault }),
    onStatement: (statement, listener) => listeners.push({ statement, listener }),
    blackHole: () => {
      swallowing = true;
    },
    refuse: shut,
    heal: async () => {
      // What was swallowed has left holes in the streams: no connection of before can go on.
      if (swallowing) for (const socket of sockets) socket.destroy();
      swallowing = false;
      if (!server.listening) await listen(address.port);
    },
    struck: () => struckAt.length,
    sent: () => sent,
    struckAt: () => struckAt,
    close: shut,
  };
}
