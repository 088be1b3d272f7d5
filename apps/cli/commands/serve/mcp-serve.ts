/** `seekrl mcp serve`: a search, its documents and an agent as tools of the Model Context Protocol. */

import { z } from "zod";
import { messageOf } from "../../../../lib/base/errors.ts";
import { folderName } from "../../../../lib/base/files/hub-cache.ts";
import type { LocalPolicy } from "../../../../lib/engine/local-policy.ts";
import type { McpToolParts } from "../../../serve/mcp/parts.ts";
import { type CommandIo, command, UsageError, untilStopped } from "../../command.ts";
import { flagName } from "../../flags.ts";
import { openLocalPolicy } from "../../open/local-policy.ts";
import { engineOptions, modelOptions } from "../../options/model-options.ts";
import { keyVariable, servedAt, serveOptions } from "../../options/serve-options.ts";
import { openServedAgentSetting, servedAgent, servedAgentOptions } from "./served-agent.ts";

const { port: _, ...overHttp } = serveOptions(8000);

const options = z.strictObject({
  ...servedAgentOptions,
  ...modelOptions,
  ...engineOptions,
  model: modelOptions.model.optional(),
  port: z
    .int()
    .min(0)
    .max(65535)
    .optional()
    .describe("serves /mcp over HTTP at this port, 0 for a free one; without it standard input and output"),
  ...overHttp,
});

type Options = z.output<typeof options>;

/** The command. */
export const mcpServeCommand = command({
  name: "mcp serve",
  summary: `offers a search, its documents and with --model an agent as tools of the Model Context Protocol; over HTTP a key in ${keyVariable} is asked of every client`,
  options,
  isService: true,
  run: async (given, io) => {
    refuseIdle(given);
    using setting = await openServedAgentSetting(given);
    await using policy = await openPolicy(given, io);
    const agent = policy && (await servedAgent(policy, setting, { parent: folderName(given.model ?? "") }));
    await using opened = await openCorpus(given);
    const parts = {
      ...{ search: setting.search, agent, corpus: opened?.corpus },
      searchTimeoutMs: given.limits?.searchTimeoutMs,
      onFault: (tool: string, error: unknown) => io.log(`${tool}: ${messageOf(error)}`),
    };
    await serve(parts, given, io);
  },
});

/** Options that say nothing without a model. */
const ofModels = ["adapter", "recipe", "weights", "dtype", "contextTokens", "cacheGib"] as const;

function refuseIdle(given: Options): void {
  const idle = ofModels.find((key) => given.model === undefined && given[key] !== undefined);
  if (idle !== undefined) throw new UsageError(`${flagName(idle)}: expected only with --model`);
}

async function openPolicy(given: Options, io: CommandIo): Promise<LocalPolicy | undefined> {
  const { model, adapter, dtype, weights, device, contextTokens, cacheGib } = given;
  if (model === undefined) return undefined;
  return openLocalPolicy({ model, adapter, dtype, weights, device, contextTokens, cacheGib }, io);
}

async function openCorpus({ index }: Options) {
  if (index === undefined) return undefined;
  const { IndexCorpus } = await import("../../../serve/mcp/index-corpus.ts");
  const corpus = new IndexCorpus(index.folder);
  return { corpus, [Symbol.asyncDispose]: () => corpus.close() };
}

async function serve(
  parts: McpToolParts,
  { port, graceMs, ...given }: Options,
  io: CommandIo,
): Promise<void> {
  const { serveMcpOverHttp, serveMcpOverStdio } = await import("../../../serve/mcp/mcp-service.ts");
  if (port === undefined) {
    const { stdout, signal } = io;
    return serveMcpOverStdio(parts, { stdin: io.stdin(), stdout, signal });
  }
  const server = await serveMcpOverHttp(parts, servedAt({ ...given, port }, io));
  try {
    io.write(`tools at ${server.url}/mcp\n`);
    io.result({ url: `${server.url}/mcp`, host: server.host, port: server.port });
    await untilStopped(io);
  } finally {
    await server.close({ graceMs });
  }
}
