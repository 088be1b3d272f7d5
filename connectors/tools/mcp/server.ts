/** Servers of the Model Context Protocol, whose tools become tools of ours. */

import type { Tool as McpTool } from "@modelcontextprotocol/client";
import { checkOptions } from "../../../lib/base/check-options.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import {
  type BoundCall,
  firstProperty,
  type JsonSchema,
  shown,
  type Tool,
  type ToolOutput,
} from "../../../lib/rollout/tools/tool.ts";
import {
  checkPlace,
  connectMcp,
  isForgotten,
  type McpConnection,
  type McpPlace,
  placeName,
  reasonOf,
} from "./connection.ts";

/** Which of a server's tools, under which names, and how long it may take to start. */
export interface McpOptions {
  /** Names of the tools that are taken. @default all */
  readonly only?: readonly string[];
  /** Stands before each name, so that tools of several servers keep apart. @default nothing */
  readonly prefix?: string;
  /** How long the server may take to start and to list its tools, milliseconds. @default 30_000 */
  readonly startTimeoutMs?: number;
}

/** A server that could not be reached is not tried again within this time, milliseconds. */
const pauseMs = 1000;
/** Calls end at the deadline of their box; the SDK's own must not come first. */
const noTimeoutMs = 2 ** 31 - 1;

/**
 * A server of the Model Context Protocol. When it goes away, or has forgotten us, calls fail and
 * the next one starts it anew.
 *
 * @example
 * const server = await McpServer.open(mcpPlace, { only: ["add"] });
 * const { run } = toolBox(server.tools);
 * const [{ text }] = await run([{ name: "add", input: { a: 2, b: 3 }, text: "" }]);
 * assert.equal(text, "5");
 * await server.close();
 */
export class McpServer {
  readonly #place: McpPlace;
  readonly #startTimeoutMs: number;
  #connecting: Promise<McpConnection> | undefined;
  #connection: McpConnection | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** The server's tools, as they were when it was opened. */
  readonly tools: readonly Tool[] = [];

  private constructor(place: McpPlace, startTimeoutMs: number) {
    this.#place = place;
    this.#startTimeoutMs = startTimeoutMs;
  }

  /**
   * Starts a server, or connects to one, and asks for its tools.
   *
   * @param place - a command, or an address
   * @param options - which tools, under which names
   * @returns the server, to be closed
   * @throws ERR_REMOTE when it does not answer, with what it wrote to standard error; ERR_ARGUMENT for a tool in `only`
   * that it does not have; ERR_FORMAT for a schema that is none
   */
  static async open(place: McpPlace, options: McpOptions = {}): Promise<McpServer> {
    checkPlace("McpServer.open: place", place);
    const kinds = { only: "list", prefix: "string", startTimeoutMs: "number" } as const;
    const { only, prefix = "", startTimeoutMs = 30_000 } = checkOptions("McpServer.open", options, kinds);
    const server = new McpServer(place, startTimeoutMs);
    try {
      const { client } = await server.#connect();
      const { tools } = await client.listTools(undefined, { timeout: startTimeoutMs });
      const chosen = chooseTools(placeName(place), tools, only);
      const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
      const schemas = new AjvJsonSchemaValidator();
      const made = chosen.map((each) => {
        const check = checkOf(placeName(place), each, (schema) =>
          schemas.getValidator(schema as Parameters<typeof schemas.getValidator>[0]),
        );
        return server.#toolOf(each, prefix, check);
      });
      return Object.assign(server, { tools: made });
    } catch (error) {
      await server.close();
      throw error instanceof SeekError ? error : server.#failure(error);
    }
  }

  /** Ends the server's process, or takes leave of the address; later calls fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#connecting?.catch(() => undefined);
    await connection?.close().catch(() => {});
  }

  /** As {@link close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #toolOf({ name, title, description, inputSchema }: McpTool, prefix: string, check: Check): Tool {
    const { $schema: _, ...schema } = inputSchema as JsonSchema;
    return {
      // Names of the protocol may have slashes and be longer.
      name: `${prefix}${name}`.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 64),
      description: description ?? title ?? name,
      inputSchema: schema,
      fromText: (text) => firstProperty(schema, text),
      bind: (input): BoundCall => {
        const fault = check(input);
        if (fault !== undefined) return { invalid: fault };
        return { run: ({ signal }) => this.#call(name, input as Record<string, unknown>, signal) };
      },
    };
  }

  async #call(name: string, input: Record<string, unknown>, signal: AbortSignal): Promise<ToolOutput> {
    const connection = await this.#connect();
    connection.numRunning += 1;
    try {
      const result = await connection.client.callTool(
        { name, arguments: input },
        { signal, timeout: noTimeoutMs, resetTimeoutOnProgress: true },
      );
      const text = textOf(result);
      if (result.isError === true) throw new SeekError("ERR_REMOTE", text || "the tool failed");
      return { text };
    } catch (error) {
      if (isForgotten(error)) connection.leave();
      throw error instanceof SeekError ? error : this.#failure(error);
    } finally {
      connection.numRunning -= 1;
      if (connection.isClosed() && connection.numRunning === 0) void connection.close().catch(() => {});
    }
  }

  /** The connection there is, or a new one; callers that come while it is made share it. */
  #connect(): Promise<McpConnection> {
    if (this.#isClosed) throw new SeekError("ERR_STATE", `MCP server ${placeName(this.#place)}: closed`);
    if (this.#connecting !== undefined && this.#connection?.isClosed() !== true) return this.#connecting;
    if (performance.now() - this.#failedAt < pauseMs) {
      throw new SeekError("ERR_REMOTE", `MCP server ${placeName(this.#place)}: did not start just now`);
    }
    this.#connection = undefined;
    this.#connecting = connectMcp(this.#place, this.#startTimeoutMs).then(
      (connection) => {
        this.#connection = connection;
        return connection;
      },
      (error: unknown) => {
        this.#connecting = undefined;
        this.#failedAt = performance.now();
        throw error;
      },
    );
    return this.#connecting;
  }

  #failure(cause: unknown): SeekError {
    const why = reasonOf(cause);
    const said = this.#connection?.isClosed() === true ? this.#connection.lastWords() : "";
    const words = said === "" ? "" : `; it said: ${said}`;
    return new SeekError("ERR_REMOTE", `MCP server ${placeName(this.#place)}: ${why}${words}`, { cause });
  }
}

/** What is wrong with an input; undefined when nothing is. */
type Check = (input: unknown) => string | undefined;

type SchemaCheck = (input: unknown) => { readonly valid: boolean; readonly errorMessage: string | undefined };

function checkOf(
  place: string,
  { name, inputSchema }: McpTool,
  validatorOf: (schema: McpTool["inputSchema"]) => SchemaCheck,
): Check {
  try {
    const validate = validatorOf(inputSchema);
    return (input) => {
      const { valid, errorMessage } = validate(input);
      if (valid) return undefined;
      return `${fieldsIn(errorMessage ?? "not as its schema")}, got ${shown(input)}`;
    };
  } catch (cause) {
    const why = (cause as Error).message;
    throw new SeekError("ERR_FORMAT", `MCP server ${place}: the schema of its tool ${name} is none: ${why}`, {
      cause,
    });
  }
}

/** The validator calls the input `data`, and its property `a` `data/a`. */
function fieldsIn(message: string): string {
  return message.replaceAll(
    /(^|, )data(\/| )/g,
    (_, before, mark) => `${before}${mark === "/" ? "" : "input "}`,
  );
}

function chooseTools(
  place: string,
  tools: readonly McpTool[],
  only: readonly string[] | undefined,
): readonly McpTool[] {
  if (only === undefined) return tools;
  const missing = only.find((name) => !tools.some((each) => each.name === name));
  if (missing === undefined) return tools.filter(({ name }) => only.includes(name));
  const names = tools.map(({ name }) => name).join(", ");
  throw new SeekError("ERR_ARGUMENT", `MCP server ${place}: it has no tool "${missing}"; it has ${names}`);
}

interface Contents {
  readonly content?: readonly { readonly type: string }[];
  readonly structuredContent?: unknown;
}

/** The texts of a result; what is no text is named, and a result of data alone is its JSON. */
function textOf({ content = [], structuredContent }: Contents): string {
  if (content.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return content.map(partText).join("\n");
}

function partText(part: { readonly type: string }): string {
  const { text, resource, uri, mimeType } = part as {
    readonly text?: unknown;
    readonly resource?: { readonly text?: unknown; readonly uri?: unknown };
    readonly uri?: unknown;
    readonly mimeType?: unknown;
  };
  if (typeof text === "string") return text;
  if (typeof resource?.text === "string") return resource.text;
  const what = [part.type, mimeType ?? "", uri ?? resource?.uri ?? ""].map(String);
  return `[${what.filter((each) => each !== "").join(" ")}]`;
}
