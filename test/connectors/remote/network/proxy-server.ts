/** A proxy on a port of this machine: every name leads to the server that a test means, and it refuses on command. */
import { once } from "node:events";
import { request as ask, createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { TestContext } from "node:test";

/** A running proxy. */
export interface ProxyServer {
  readonly url: string;
  /** What it was asked for, in order: `GET http://hub.example/`, `CONNECT hub.example:443`. */
  readonly asked: string[];
  /** What came as Proxy-Authorization, in order. */
  readonly credentials: (string | undefined)[];
  /** In place of answers from now on: a status, or none at all. */
  instead: number | "silence" | undefined;
}

/** Connections that are open, so that the end of a test closes them. */
function tracked(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  return sockets;
}

/**
 * Starts a proxy that ends with the test.
 *
 * @param port - of the server on this machine that all names lead to
 */
export async function startProxy(t: TestContext, port: number): Promise<ProxyServer> {
  const proxy: ProxyServer & { url: string } = { url: "", asked: [], credentials: [], instead: undefined };
  const server = createServer((request, response) => {
    const { method, url = "", headers } = request;
    const { "proxy-authorization": credential, "proxy-connection": _, ...passed } = headers;
    proxy.asked.push(`${method} ${url}`);
    proxy.credentials.push(credential);
    if (proxy.instead === "silence") return;
    if (proxy.instead !== undefined) return void response.writeHead(proxy.instead).end();
    const { pathname, search } = new URL(url);
    const to = { host: "127.0.0.1", port, method, path: `${pathname}${search}`, headers: passed };
    const behind = ask(to, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    behind.on("error", () => response.destroy());
    request.pipe(behind);
  });
  server.on("connect", ({ url, headers }, client: Socket) => {
    proxy.asked.push(`CONNECT ${url}`);
    proxy.credentials.push(headers["proxy-authorization"]);
    if (proxy.instead === "silence") return;
    if (proxy.instead !== undefined) return void client.end(`HTTP/1.1 ${proxy.instead} No\r\n\r\n`);
    const behind = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      behind.pipe(client).pipe(behind);
    });
    behind.on("error", () => client.destroy());
    client.on("close", () => behind.destroy());
  });
  const sockets = tracked(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return proxy;
}

const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** Sets these variables alone of those that name proxies, until the test ends. */
export function setProxies(t: TestContext, variables: Readonly<Record<string, string>>): void {
  const before = names.map((name) => [name, process.env[name]] as const);
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  for (const name of names) delete process.env[name];
  Object.assign(process.env, variables);
}
