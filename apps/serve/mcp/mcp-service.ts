/** Search, corpus and agent as tools of the Model Context Protocol, over standard input and output or HTTP. */
import type { Readable, Writable } from "node:stream";
import type { McpServer } from "@modelcontextprotocol/server";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { packageVersion } from "../../../lib/base/package-root.ts";
import type { Call } from "../http/call.ts";
import { HttpServer, type Route, type ServeOptions } from "../http/http-server.ts";
import { readEvents } from "../http/read-events.ts";
import { failureOf } from "../http/refusal.ts";
import { addAsk } from "./asking.ts";
import type { McpToolParts } from "./parts.ts";
import { addCorpus, addSearch } from "./reading.ts";

/**
 * A server with the tools that there are parts for; one for each connection.
 *
 * @param parts - see {@link McpToolParts}
 */
export async function makeMcpServer(parts: McpToolParts): Promise<McpServer> {
  const { McpServer } = await import("@modelcontextprotocol/server");
  const server = new McpServer({ name: "seekrl", version: packageVersion() });
  addSearch(server, parts);
  if (parts.corpus !== undefined) addCorpus(server, parts.corpus, parts);
  if (parts.agent !== undefined) addAsk(server, parts.agent, parts);
  return server;
}

/** Whom a server over standard input and output answers. */
interface StdioOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/**
 * Serves the process that started this one, over standard input and output.
 *
 * @param parts - of the tools
 * @param options - see {@link StdioOptions}
 * @returns when the input has ended or the signal has fired
 */
export async function serveMcpOverStdio(
  parts: McpToolParts,
  { stdin, stdout, signal }: StdioOptions,
): Promise<void> {
  const { serveStdio, StdioServerTransport } = await import("@modelcontextprotocol/server/stdio");
  const transport = new StdioServerTransport(stdin, stdout);
  const handle = serveStdio(() => makeMcpServer(parts), { transport });
  await new Promise<void>((resolve) => {
    stdin.once("end", resolve).once("close", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  await handle.close();
}

/** Bytes of a message. */
const maxBodyBytes = 4 * 2 ** 20;

/** An agent may take this long before it says anything, milliseconds. */
const timeoutMs = 600_000;

const anything = lazySchema((z) => z.unknown());

/** Headers of an answer that are passed on. */
const passedOn = ["content-type", "allow", "mcp-session-id", "mcp-protocol-version"];

/**
 * Serves `POST /mcp`, and `GET /health`.
 *
 * @param parts - of the tools
 * @param options - where, for whom
 * @returns the server, listening
 * @throws ERR_ARGUMENT for an empty key, or none where other machines can ask; ERR_IO when the port cannot be had
 */
export async function serveMcpOverHttp(parts: McpToolParts, options: ServeOptions): Promise<HttpServer> {
  const { createMcpHandler } = await import("@modelcontextprotocol/server");
  const handler = createMcpHandler(() => makeMcpServer(parts));
  const handle = async (call: Call): Promise<void> => answer(call, handler.fetch);
  const methods = ["POST", "GET", "DELETE"] as const;
  const routes: Route[] = [
    ...methods.map((method) => ({ method, path: "/mcp", dialect: "error" as const, handle })),
    {
      method: "GET",
      path: "/health",
      dialect: "error",
      handle: (call) => call.answer({ status: "healthy" }),
    },
  ];
  const service = { routes, timeoutMs, defaultPort: 8000, failureOf: failureOf("the server") };
  return HttpServer.open(service, options);
}

type Fetch = (request: Request, options: { readonly parsedBody?: unknown }) => Promise<Response>;

async function answer(call: Call, fetch: Fetch): Promise<void> {
  const { incoming, signal } = call;
  const { method = "POST", headers } = incoming;
  const given = Object.entries(headers).filter(
    (each): each is [string, string] => typeof each[1] === "string",
  );
  const parsedBody = method === "POST" ? await call.read(anything(), { maxBodyBytes }) : undefined;
  const request = new Request("http://localhost/mcp", { method, headers: given, signal });
  const response = await fetch(request, parsedBody === undefined ? {} : { parsedBody });
  if (response.headers.get("content-type")?.startsWith("text/event-stream"))
    return passEvents(call, response);
  const kept = passedOn.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  call.send([Buffer.from(await response.arrayBuffer())], response.status, Object.fromEntries(kept));
}

/** Passes events on as fast as the client takes them. */
async function passEvents(call: Call, { body }: Response): Promise<void> {
  const stream = call.openStream();
  try {
    for await (const event of readEvents(body)) await stream.send(event);
  } finally {
    stream.end();
  }
}
