/** What a command evaluates: models of this machine, checkpoints of a run, or models behind a server. */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { z } from "zod";
import type { ProcessGroup } from "../../../lib/comm/process-group.ts";
import type { PromptTemplate, SequenceSource, TextCodec } from "../../../lib/rollout/seams.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { modelFolder } from "../fields.ts";
import { flagName } from "../flags.ts";
import { engineOptions, modelOptions } from "../options/model-options.ts";
import { loadTokenizer, openLocalPolicy, type PolicyFolders } from "./local-policy.ts";

/** One of `model` and `endpoint` must be given. */
export const policyOptions = {
  ...modelOptions,
  ...engineOptions,
  model: modelFolder(
    z
      .array(z.string())
      .optional()
      .describe(
        "model folder or name on the hub, or a training run's folder for all of its checkpoints; several are compared",
      ),
  ),
  endpoint: z
    .string()
    .optional()
    .describe("OpenAI-compatible server to ask instead of a model folder, such as http://host/v1"),
  endpointModel: z.array(z.string()).optional().describe("its model; several are compared"),
  endpointApi: z
    .enum(["chat", "completions"])
    .default("chat")
    .describe("messages, or one text that the server continues as it is"),
  endpointKeyEnv: z.string().optional().describe("environment variable with its key"),
  endpointConcurrency: z.int().min(1).default(32).describe("requests under way at once"),
  tokenizer: modelFolder(
    z
      .string()
      .optional()
      .describe("of an endpoint: folder with its tokenizer and chat template; without one words are counted"),
  ),
};

const schema = z.object(policyOptions);

/** What the options say. */
type PolicyChoice = z.output<typeof schema> & {
  /** The ranks that share a model of this machine. */
  readonly tensorParallel?: ProcessGroup | undefined;
};

/** What an agent needs of a policy. */
export interface OpenedPolicy extends AsyncDisposable {
  readonly engine: SequenceSource;
  readonly tokenizer: TextCodec;
  readonly chatTemplate?: PromptTemplate;
}

/** A policy that a command evaluates: opened when its turn comes. */
export interface PolicySource {
  /** Short, and another one for each. */
  readonly name: string;
  /** What decides its answers, for a file of results that is gone on with. */
  readonly settings: object;
  /** Of a model of this machine. */
  readonly folders?: PolicyFolders;
  readonly open: (io: Pick<CommandIo, "log">) => Promise<OpenedPolicy>;
}

/**
 * The policies that the options name, in order.
 *
 * @throws UsageError when they name none, or what belongs to another kind
 */
export function policiesOf(choice: PolicyChoice): PolicySource[] {
  const { model, endpoint } = choice;
  if ((model === undefined) === (endpoint === undefined)) {
    throw new UsageError(`expected one of --model, --endpoint, got ${model === undefined ? "none" : "both"}`);
  }
  if (endpoint !== undefined) return endpointPolicies(endpoint, choice);
  for (const key of ["endpointModel", "endpointKeyEnv", "tokenizer"] as const) {
    if (choice[key] !== undefined) throw new UsageError(`${flagName(key)}: expected only with --endpoint`);
  }
  const folders = (model ?? []).flatMap(checkpointsOf);
  const names = shortNames(folders);
  const { adapter, dtype, weights, device, contextTokens, cacheGib, tensorParallel } = choice;
  const form = { adapter, dtype, weights, device, contextTokens };
  return folders.map((folder, i) => ({
    name: names[i] ?? folder,
    settings: { model: folder, ...form },
    folders: { model: folder, adapter },
    open: (io) => openLocalPolicy({ model: folder, ...form, cacheGib, tensorParallel }, io),
  }));
}

/** The checkpoints of a training run's folder, oldest first; a model folder is itself. */
function checkpointsOf(folder: string): string[] {
  const root = join(folder, "checkpoints");
  if (existsSync(join(folder, "config.json")) || !existsSync(root)) return [folder];
  const steps = readdirSync(root).filter((name) => /^step-\d+$/.test(name));
  if (steps.length === 0) throw new UsageError(`--model: expected checkpoints in ${root}, got none`);
  return steps.sort((a, b) => Number(a.slice(5)) - Number(b.slice(5))).map((name) => join(root, name));
}

/** As many last parts of each path as tell them apart. */
function shortNames(paths: readonly string[]): string[] {
  const parts = paths.map((path) => resolve(path).split(sep));
  for (let count = 1; count <= 64; count++) {
    const names = parts.map((each) =>
      each
        .slice(-count)
        .filter((part) => part !== "checkpoints")
        .join("-"),
    );
    if (new Set(names).size === names.length) return names;
  }
  const twice = paths.find((path, i) => paths.indexOf(path) !== i) ?? "";
  throw new UsageError(`--model: expected each once, got ${twice} twice`);
}

function endpointPolicies(url: string, choice: PolicyChoice): PolicySource[] {
  const {
    endpointModel: models = [],
    endpointApi: api,
    endpointKeyEnv,
    endpointConcurrency,
    tokenizer,
  } = choice;
  if (models.length === 0) throw new UsageError("--endpoint-model: an endpoint needs the name of its model");
  if (new Set(models).size < models.length) throw new UsageError("--endpoint-model: expected each once");
  return models.map((model) => ({
    name: model.replaceAll(/[^\w.-]+/g, "-"),
    settings: { endpointModel: model, api, tokenizer },
    open: async () => {
      const { Completions } = await import("../../../connectors/remote/completions.ts");
      const { endpointSource } = await import("../../../connectors/endpoint/text-sequence.ts");
      const maxConcurrent = endpointConcurrency;
      const completions = new Completions({ url, model, api, apiKeyEnv: endpointKeyEnv, maxConcurrent });
      await completions.check();
      const codec = await codecOf(tokenizer, api);
      const engine = endpointSource({ completions, tokenizer: codec.tokenizer });
      return { engine, ...codec, [Symbol.asyncDispose]: async () => {} };
    },
  }));
}

async function codecOf(
  folder: string | undefined,
  api: PolicyChoice["endpointApi"],
): Promise<Pick<OpenedPolicy, "tokenizer" | "chatTemplate">> {
  const { messageMarks, withoutMarks, wordCodec } = await import("../../../connectors/endpoint/messages.ts");
  const tokenizer = folder === undefined ? wordCodec() : withoutMarks(await loadTokenizer(folder));
  if (api === "chat") return { tokenizer, chatTemplate: messageMarks };
  if (folder === undefined) return { tokenizer };
  const { ChatTemplate } = await import("../../../lib/text/templates/chat-template.ts");
  const chatTemplate = await ChatTemplate.load(folder);
  return chatTemplate === undefined ? { tokenizer } : { tokenizer, chatTemplate };
}
