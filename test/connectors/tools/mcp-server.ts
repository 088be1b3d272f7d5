/** A real server of the Model Context Protocol for tests, over standard input and output or HTTP. */
import { randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

function makeServer(): McpServer {
  const server = new McpServer({ name: "test", version: "1" });
  const say = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool(
    "add",
    { description: "Adds two numbers.", inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => say(String(a + b)),
  );
  server.registerTool(
    "fail",
    { description: "Says that it failed.", inputSchema: z.object({ why: z.string() }) },
    async ({ why }) => ({ ...say(why), isError: true }),
  );
  server.registerTool(
    "hang",
    { description: "Never answers.", inputSchema: z.object({}) },
    () => new Promise<never>(() => {}),
  );
  server.registerTool("crash", { description: "Ends the server.", inputSchema: z.object({}) }, async () => {
    process.stderr.write("out of luck\n", () => process.exit(3));
    return new Promise<never>(() => {});
  });
  server.registerTool(
    "pid",
    { description: "Which process it is.", inputSchema: z.object({ variable: z.string().optional() }) },
    async ({ variable }) =>
      say(variable === undefined ? String(process.pid) : (process.env[variable] ?? "unset")),
  );
  server.registerTool("show", { description: "Shows a picture.", inputSchema: z.object({}) }, async () => ({
    content: [
      { type: "text", text: "a dot" },
      { type: "image", data: "AA==", mimeType: "image/png" },
    ],
  }));
  return server;
}

const [, , mode, port = "0"] = process.argv;

function listen(answer: (request: Request) => Response | Promise<Response>): void {
  const fetch = (request: Request): Response | Promise<Response> => {
    const isKnown = request.headers.get("authorization") === "Bearer let-me-in";
    return isKnown ? answer(request) : new Response("who?", { status: 401 });
  };
  serve({ fetch, port: Number(port), hostname: "127.0.0.1" }, (address) => {
    process.stdout.write(`${address.port}\n`);
  });
}

if (mode === "http") {
  const handler = createMcpHandler(() => makeServer());
  listen((request) => handler.fetch(request));
} else if (mode === "sessions") {
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  await makeServer().connect(transport);
  listen((request) => transport.handleRequest(request));
} else if (mode === "broken") {
  process.stderr.write("no licence\n", () => process.exit(1));
} else {
  await makeServer().connect(new StdioServerTransport());
}
