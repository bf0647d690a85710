import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Call = { id: number; method: string; params: unknown[] };
type Reply = { jsonrpc: string; id: unknown; result?: unknown; error?: unknown };

/** What the proxy does to the replies of a node; each is null or absent while it lets them through. */
export interface Misbehaviour {
  /** Answers with this status and a page instead. */
  status?: number;
  /** Never answers. */
  hangs?: boolean;
  /** Cuts the connection in the middle of the answer. */
  cuts?: boolean;
  /** Answers with this text. */
  text?: string;
  /** Turns an array of replies around. */
  reverses?: boolean;
  /** Rewrites a reply. */
  rewrite?: (call: Call, reply: Reply) => Reply | null;
  /** Only so many requests; then as a good node again. */
  times?: number;
}

export interface NodeProxy {
  readonly url: string;
  /** Misbehaves so from now on. */
  be(misbehaviour: Misbehaviour): void;
  /** Bodies of requests that came. */
  readonly bodies: string[];
  close(): Promise<void>;
}

/** A node behind which another one stands; what the real node never does, it does. */
export async function startNodeProxy(target: string, path = '/v1/s3cretKey'): Promise<NodeProxy> {
  let now: Misbehaviour = {};
  const bodies: string[] = [];
  const server = createServer((incoming, response) => {
    void readText(incoming).then(async (body) => {
      bodies.push(body);
      const { times = Infinity, ...asked } = now;
      const misbehaviour = times > 0 ? asked : {};
      now = { ...now, times: times - 1 };
      await answer(target, body, misbehaviour, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}${path}`,
    bodies,
    be: (misbehaviour) => {
      now = misbehaviour;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

async function answer(target: string, body: string, how: Misbehaviour, response: ServerResponse): Promise<void> {
  if (how.hangs === true) return;
  if (how.status !== undefined) {
    response.writeHead(how.status).end('<html>s3cretBody</html>');
    return;
  }
  const calls = JSON.parse(body) as Call[];
  let text = how.text ?? (await forward(target, body));
  if (how.text === undefined && Array.isArray(calls)) {
    const replies = JSON.parse(text) as Reply[];
    const byId = new Map(calls.map((call) => [call.id, call]));
    const rewritten = replies.flatMap((reply) => {
      const call = byId.get(reply.id as number) as Call;
      return how.rewrite === undefined ? [reply] : (how.rewrite(call, reply) ?? []);
    });
    text = JSON.stringify(how.reverses === true ? rewritten.reverse() : rewritten);
  }
  response.setHeader('content-type', 'application/json');
  if (how.cuts === true) {
    response.setHeader('content-length', String(text.length));
    response.write(text.slice(0, text.length / 2));
    setTimeout(() => response.destroy(), 20);
  } else response.end(text);
}

function forward(target: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(target, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) => {
      void readText(response).then(resolve);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function readText(stream: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}
