/** Tools from a file: which built-in ones an agent has, and which servers of the Model Context Protocol. */
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { codeOf, SeekError } from "../../../lib/base/errors.ts";
import { readText } from "../../../lib/base/files/regular-file.ts";
import { parseConfigText } from "../../../lib/data/files/config-text.ts";
import type { Tool } from "../../../lib/rollout/tools/tool.ts";
import type { ToolBox } from "../../../lib/rollout/tools/tool-box.ts";
import type { Search } from "../../../lib/search/search.ts";

const wording = { name: z.string().optional(), description: z.string().optional() };
const count = z.int().min(1).optional();
const path = z.string().min(1);

const toolSchema = z.discriminatedUnion("use", [
  z.strictObject({ use: z.literal("search"), ...wording, topK: count, maxTopK: count }),
  z.strictObject({ use: z.literal("document"), ...wording, corpus: path.optional(), maxParts: count }),
  z.strictObject({
    ...{ use: z.literal("graph"), ...wording, file: path },
    ...{ maxHops: count, maxPaths: count, maxFacts: count },
  }),
  z.strictObject({ use: z.literal("calculator"), ...wording }),
  z.strictObject({ use: z.literal("page"), ...wording, cache: path.optional(), partChars: count }),
]);

const choice = { only: z.array(z.string()).optional(), prefix: z.string().optional(), startTimeoutMs: count };
const texts = z.record(z.string(), z.string());
const serverSchema = z.union([
  z.strictObject({
    ...{ command: z.string().min(1), args: z.array(z.string()).default([]) },
    ...{ env: texts.default({}), cwd: z.string().optional(), ...choice },
  }),
  z.strictObject({ url: z.url(), headers: texts.default({}), ...choice }),
]);

const fileSchema = z.strictObject({
  timeoutMs: count,
  maxCalls: count,
  maxChars: count,
  tools: z.array(toolSchema).default([]),
  mcpServers: z.record(z.string(), serverSchema).default({}),
});

type ToolsFile = z.output<typeof fileSchema>;
type ToolEntry = ToolsFile["tools"][number];
type ServerEntry = ToolsFile["mcpServers"][string];

/** A box of tools that is given back when it is done with. */
interface OpenedTools extends AsyncDisposable {
  readonly box: ToolBox;
}

/** What tools are built from beside their file. */
interface ToolParts {
  /** Opened when a tool searches. */
  readonly openSearch: () => Promise<Search>;
  /** The folder whose documents are read unless the file names another corpus. */
  readonly index?: string | undefined;
  /** Variables that the file may name. */
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Reads a file of tools.
 *
 * @param file - JSON or YAML
 * @returns what it says
 * @throws ERR_IO, ERR_FORMAT naming the key, what was expected, what was found
 */
export async function readToolsFile(file: string): Promise<ToolsFile> {
  let value: unknown;
  try {
    value = parseConfigText(await readText(file), file);
  } catch (cause) {
    if (codeOf(cause) !== undefined) throw cause;
    throw new SeekError("ERR_FORMAT", `${file}: ${(cause as Error).message}`, { cause });
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(
      ({ path: at, message }) => `${at.join(".") || "tools"}: ${message}`,
    );
    throw new SeekError("ERR_FORMAT", `${file}: ${issues.join("; ")}`);
  }
  if (parsed.data.tools.length > 0 || Object.keys(parsed.data.mcpServers).length > 0) return parsed.data;
  throw new SeekError("ERR_FORMAT", `${file}: expected some of tools or mcpServers, got neither`);
}

/**
 * Opens the tools of a file, and starts its servers. Relative paths in it, and those that its servers are given, are
 * relative to the file's folder.
 *
 * @param file - of `readToolsFile`
 * @param parts - the command's search and index
 * @returns the box; disposing of it closes files and servers
 * @throws what opening a tool throws, once the others are closed
 */
export async function openTools(file: string, parts: ToolParts): Promise<OpenedTools> {
  const { tools: entries, mcpServers, ...limits } = await readToolsFile(file);
  const at: Place = (path) => resolve(dirname(file), path);
  const closing: Closing = [];
  const close = async (): Promise<void> => {
    await Promise.all(closing.splice(0).map(async (each) => each()));
  };
  try {
    const own: Tool[] = [];
    for (const entry of entries) own.push(await openTool(entry, { ...parts, at }, closing));
    const servers = Object.entries(mcpServers).map(([name, { ...entry }]) => {
      if ("command" in entry) entry.cwd = at(entry.cwd ?? ".");
      return openServer(name, entry, { env: parts.env, closing });
    });
    const theirs = await allOrFirstFailure(servers);
    const { toolBox } = await import("../../../lib/rollout/tools/tool-box.ts");
    return { box: toolBox([...own, ...theirs.flat()], given(limits)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Waits for all, so that what was opened can be closed. */
async function allOrFirstFailure<Result>(work: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

type Entry<Use extends ToolEntry["use"]> = Extract<ToolEntry, { readonly use: Use }>;
type Closing = (() => Promise<void> | void)[];
/** Where a path of the file leads. */
type Place = (path: string) => string;
type EntryParts = ToolParts & { readonly at: Place };

function openTool(entry: ToolEntry, parts: EntryParts, closing: Closing): Promise<Tool> {
  switch (entry.use) {
    case "search":
      return openSearchTool(entry, parts);
    case "document":
      return openDocumentTool(entry, parts, closing);
    case "graph":
      return openGraphTool(entry, parts);
    case "calculator":
      return openCalculator(entry);
    case "page":
      return openPageTool(entry, parts);
  }
}

async function openSearchTool(
  { use: _, ...entry }: Entry<"search">,
  { openSearch }: ToolParts,
): Promise<Tool> {
  const { searchTool } = await import("../../../lib/rollout/tools/built-in/search.ts");
  return searchTool(await openSearch(), given(entry));
}

async function openDocumentTool(
  { use: _, corpus: named, ...entry }: Entry<"document">,
  { index, at }: EntryParts,
  closing: Closing,
): Promise<Tool> {
  const { documentTool } = await import("../../../lib/rollout/tools/built-in/document.ts");
  const { Library } = await import("../../../lib/rollout/tools/built-in/library.ts");
  const corpus = named === undefined ? index : at(named);
  if (corpus === undefined) {
    throw new SeekError("ERR_ARGUMENT", "tools: document: expected a corpus, or the command's --index");
  }
  const library = await Library.open(corpus);
  closing.push(() => library.close());
  return documentTool(library, given(entry));
}

async function openGraphTool({ use: _, file, ...entry }: Entry<"graph">, { at }: EntryParts): Promise<Tool> {
  const { graphTool } = await import("../../../lib/rollout/tools/built-in/graph.ts");
  const { TripleStore } = await import("../../../lib/rollout/tools/built-in/triples.ts");
  return graphTool(await TripleStore.open(at(file)), given(entry));
}

async function openCalculator({ use: _, ...entry }: Entry<"calculator">): Promise<Tool> {
  const { calculatorTool } = await import("../../../lib/rollout/tools/built-in/calculator.ts");
  return calculatorTool(given(entry));
}

async function openPageTool({ use: _, cache, ...entry }: Entry<"page">, { at }: EntryParts): Promise<Tool> {
  const { pageTool } = await import("../../../connectors/tools/page.ts");
  const { pageReader } = await import("../../../connectors/web/page-reader.ts");
  return pageTool(
    pageReader({ cache: cache === undefined ? undefined : { folder: at(cache) } }),
    given(entry),
  );
}

async function openServer(
  name: string,
  { only, prefix, startTimeoutMs, ...place }: ServerEntry,
  { env, closing }: Pick<ToolParts, "env"> & { readonly closing: Closing },
): Promise<readonly Tool[]> {
  const { McpServer } = await import("../../../connectors/tools/mcp/server.ts");
  const known =
    "url" in place
      ? { ...place, headers: withVariables(place.headers, name, env) }
      : given({ ...place, env: withVariables(place.env, name, env) });
  const server = await McpServer.open(known, given({ only, prefix, startTimeoutMs }));
  closing.push(() => server.close());
  return server.tools;
}

/** Secrets stand in the environment, not in files: `${NAME}` is the variable of that name. */
function withVariables(
  values: Readonly<Record<string, string>>,
  server: string,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, text]) => {
      const filled = text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
        const value = env[name];
        if (value !== undefined) return value;
        throw new SeekError(
          "ERR_ARGUMENT",
          `tools: mcpServers.${server}.${key}: expected the environment variable ${name}, got none`,
        );
      });
      return [key, filled];
    }),
  );
}

/** Options without those that are undefined. */
type Given<Options> = { [Key in keyof Options]: Exclude<Options[Key], undefined> };

function given<Options extends object>(options: Options): Given<Options> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Given<Options>;
}
