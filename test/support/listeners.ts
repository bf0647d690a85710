import { createServer as createHttpServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer, type Socket } from 'node:net';

export interface Request {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Somebody on this machine who takes requests over HTTP, and answers as the test says. */
export class Listener {
  readonly came: Request[] = [];
  /** A status; "hang" never answers. */
  answer: (request: Request) => number | 'hang' = () => 200;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly scheme: 'http' | 'https',
  ) {}

  static async start(tls?: { key: string; cert: string }): Promise<Listener> {
    const server = tls === undefined ? createHttpServer() : (createHttpsServer(tls) as Server);
    const listener = new Listener(server, tls === undefined ? 'http' : 'https');
    server.on('connection', (socket: Socket) => {
      listener.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => listener.sockets.delete(socket));
    });
    server.on('request', (incoming, response) => {
      let body = '';
      incoming.on('data', (part: Buffer) => (body += part.toString()));
      incoming.on('end', () => {
        const { method = '', url: path = '', headers } = incoming;
        const request = { method, path, headers, body };
        listener.came.push(request);
        const status = listener.answer(request);
        if (status !== 'hang') response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return listener;
  }

  url(path: string): string {
    return `${this.scheme}://127.0.0.1:${String((this.server.address() as AddressInfo).port)}${path}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A mail server that takes everything, as little of SMTP as a client needs; or refuses, or never says a word. */
export class MailServer {
  readonly mails: string[] = [];
  mode: 'take' | 'refuse' | 'hang' | 'trickle' = 'take';
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: TcpServer) {}

  static async start(): Promise<MailServer> {
    const server = createTcpServer();
    const mail = new MailServer(server);
    server.on('connection', (socket) => {
      mail.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => mail.sockets.delete(socket));
      mail.talk(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return mail;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private talk(socket: Socket): void {
    if (this.mode === 'hang') return;
    if (this.mode === 'trickle') {
      // Never silent, and never done: no time limit between two bytes would notice.
      const timer = setInterval(() => socket.write('220-still here\r\n'), 20);
      socket.on('close', () => {
        clearInterval(timer);
      });
      return;
    }
    let [rest, data] = ['', false];
    socket.write('220 stand-in\r\n');
    socket.on('data', (part) => {
      rest += part.toString();
      for (;;) {
        const end = data ? rest.indexOf('\r\n.\r\n') : rest.indexOf('\r\n');
        if (end === -1) return;
        const text = rest.slice(0, end);
        rest = rest.slice(end + (data ? 5 : 2));
        if (data) {
          this.mails.push(text);
          data = false;
          socket.write('250 taken\r\n');
        } else if (/^rcpt/i.test(text) && this.mode === 'refuse') socket.write('550 no such hunter2 here\r\n');
        else if (/^data/i.test(text)) {
          data = true;
          socket.write('354 go on\r\n');
        } else if (/^quit/i.test(text)) socket.end('221 bye\r\n');
        else socket.write('250 ok\r\n');
      }
    });
  }
}
