/** A small web site on a port of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Answers one request. */
export type Route = (request: IncomingMessage, response: ServerResponse) => void;

/** A running site. */
export interface Site extends AsyncDisposable {
  readonly url: string;
  /** Paths in the order they were asked for, with the time. */
  readonly asked: { readonly path: string; readonly time: number }[];
  readonly mostAtOnce: number;
}

/** A page of HTML. */
export function html(body: string, headers: Record<string, string> = {}): Route {
  return (_, response) =>
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...headers }).end(body);
}

/** An article long enough to be found among menus. */
export function article(title: string, sentence: string): string {
  const paragraph = `<p>${`${sentence} `.repeat(12)}</p>`;
  const menu = "<nav><ul><li><a href='/a'>Home</a></li><li><a href='/b'>Imprint</a></li></ul></nav>";
  return `<!doctype html><html><head><title>${title}</title><script>track()</script></head>
    <body>${menu}<article><h1>${title}</h1>${paragraph}${paragraph}</article><footer>All rights reserved</footer></body></html>`;
}

/** Serves routes; what has none is 404. */
export async function startSite(routes: Readonly<Record<string, Route>>): Promise<Site> {
  const asked: { path: string; time: number }[] = [];
  const counts = { now: 0, most: 0 };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push({ path, time: performance.now() });
    counts.now += 1;
    counts.most = Math.max(counts.most, counts.now);
    response.on("close", () => {
      counts.now -= 1;
    });
    const route = routes[path];
    if (route) route(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    get mostAtOnce() {
      return counts.most;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
