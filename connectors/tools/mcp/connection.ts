/** The way to a server of the Model Context Protocol: a process of our own, or an address. */

import type { Client } from "@modelcontextprotocol/client";
import { checkArgument, checkOptions, type OptionKinds } from "../../../lib/base/check-options.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { routedFetch } from "../../remote/network/routed-fetch.ts";

/** A server that is started and spoken to over its standard input and output. */
export interface McpCommand {
  readonly command: string;
  readonly args?: readonly string[];
  /** Beside the few variables, such as PATH, that it is given anyhow. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server with an address, spoken to over HTTP. */
export interface McpAddress {
  readonly url: string;
  /** Of every request, such as `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where a server is. */
export type McpPlace = McpCommand | McpAddress;

const commandKinds: OptionKinds<McpCommand> = {
  command: "string",
  args: "list",
  env: "object",
  cwd: "string",
};
const addressKinds: OptionKinds<McpAddress> = { url: "string", headers: "object" };

/** Refuses what is no {@link McpPlace}. */
export function checkPlace(name: string, place: McpPlace): void {
  checkArgument(name, place, "object");
  if ("url" in place) checkOptions(name, place, addressKinds, ["url"]);
  else checkOptions(name, place, commandKinds, ["command"]);
}

/** A server that answers. */
export interface McpConnection {
  readonly client: Client;
  /** Whether the server has gone, or knows us no more. */
  readonly isClosed: () => boolean;
  /** Calls under way. */
  numRunning: number;
  /** Lets go of a server that knows us no more, once the calls under way have ended. */
  readonly leave: () => void;
  /** What a process last wrote to its standard error. */
  readonly lastWords: () => string;
  readonly close: () => Promise<void>;
}

/** Characters of a server's standard error that are kept. */
const maxLastWords = 1000;
/** How long a server may take over a farewell, milliseconds. */
const farewellMs = 1000;

/** What a server is called in messages. */
export function placeName(place: McpPlace): string {
  return "url" in place ? place.url : [place.command, ...(place.args ?? [])].join(" ");
}

/**
 * Connects, and shakes hands. The SDK is loaded here, on demand.
 *
 * @param place - where the server is
 * @param timeoutMs - how long it may take
 * @returns the connection, to be closed
 * @throws ERR_REMOTE
 */
export async function connectMcp(place: McpPlace, timeoutMs: number): Promise<McpConnection> {
  const { Client } = await import("@modelcontextprotocol/client");
  const state = { isClosed: false, words: "" };
  const way = await openWay(place, (text) => {
    state.words = (state.words + text).slice(-maxLastWords);
  });
  // Asking an address which protocols it speaks costs a request; asking a command would cost a process.
  const versionNegotiation = { mode: "url" in place ? ("auto" as const) : ("legacy" as const) };
  const client = new Client({ name: "seekrl", version: "1" }, { versionNegotiation });
  client.onclose = () => {
    state.isClosed = true;
  };
  const close = async (): Promise<void> => {
    await way.farewell();
    await client.close();
  };
  try {
    await client.connect(way.transport, { timeout: timeoutMs });
  } catch (cause) {
    await client.close().catch(() => {});
    const said = state.words.trim() === "" ? "" : `; it said: ${state.words.trim()}`;
    throw new SeekError("ERR_REMOTE", `MCP server ${placeName(place)}: ${reasonOf(cause)}${said}`, { cause });
  }
  const leave = (): void => {
    state.isClosed = true;
  };
  const lastWords = (): string => state.words.trim();
  return { client, isClosed: () => state.isClosed, numRunning: 0, leave, lastWords, close };
}

/** What began a failure, in a line: the client wraps "fetch failed" around it, or lists all that an answer is not. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SeekError) return error.message;
  const { data } = error as { readonly data?: { readonly cause?: unknown } };
  const cause = error.cause ?? data?.cause;
  if (cause instanceof Error) return reasonOf(cause);
  return "issues" in error ? "expected an answer of the Model Context Protocol, got another" : error.message;
}

/** Whether an address has forgotten the session, as after a restart: the protocol answers 404, some servers 400. */
export function isForgotten(error: unknown): boolean {
  const { status } = error as { readonly status?: unknown };
  return error instanceof Error && (status === 404 || status === 400);
}

interface Way {
  readonly transport: Parameters<Client["connect"]>[0];
  readonly farewell: () => Promise<void>;
}

async function openWay(place: McpPlace, onWords: (text: string) => void): Promise<Way> {
  if ("url" in place) return openAddress(place);
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { command, args = [], env, cwd } = place;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    stderr: "pipe",
    env: env && { ...env },
    cwd,
  });
  transport.stderr?.on("data", (bytes: Buffer) => onWords(bytes.toString()));
  return { transport, farewell: async () => {} };
}

async function openAddress({ url, headers }: McpAddress): Promise<Way> {
  if (!URL.canParse(url))
    throw new SeekError("ERR_ARGUMENT", `MCP server: expected an address, got "${url}"`);
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: routedFetch,
    ...(headers ? { requestInit: { headers: { ...headers } } } : {}),
  });
  const farewell = async (): Promise<void> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, farewellMs);
    });
    // A server that forgets us by itself need not be told that we leave.
    await Promise.race([transport.terminateSession().catch(() => {}), late]);
    clearTimeout(timer);
  };
  return { transport, farewell };
}
