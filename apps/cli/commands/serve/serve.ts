/** `seekrl serve`: a model, adapters on it and an agent over HTTP. */
import { once } from "node:events";
import { basename, resolve } from "node:path";
import { z } from "zod";
import type { LocalPolicy } from "../../../../lib/engine/local-policy.ts";
import type { Adapter } from "../../../../lib/model/adapter.ts";
import type { Model } from "../../../../lib/model/model.ts";
import type { TextEncoders } from "../../../../lib/serve/api/texts/routes.ts";
import type { ModelServer } from "../../../../lib/serve/model/model-server.ts";
import { defaultModelLimits } from "../../../../lib/serve/model/options.ts";
import type { ServedModel } from "../../../../lib/serve/reply/reply.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { openLocalPolicy } from "../../open/local-policy.ts";
import { engineOptions, modelOptions } from "../../options/model-options.ts";
import { keyVariable, servedAt, serveOptions } from "../../options/serve-options.ts";
import { encoderOptions, openEncoders } from "./encoders.ts";

const { adapter: _, ...modelOnly } = modelOptions;

const limit = (key: keyof typeof defaultModelLimits, help: string): z.ZodDefault<z.ZodInt> =>
  z.int().min(1).default(defaultModelLimits[key]).describe(help);

const options = z.strictObject({
  ...modelOnly,
  ...engineOptions,
  name: z
    .string()
    .min(1)
    .optional()
    .describe("name under which the model answers; its folder's unless given"),
  adapter: z
    .array(z.string().regex(/^[^=]+=.+$/, "expected NAME=DIR"))
    .default([])
    .describe("NAME=DIR: a LoRA adapter on the model, and the name under which it answers; may be repeated"),
  anyName: z
    .boolean()
    .default(false)
    .describe("answers with the model under names that none has, for clients that send another server's"),
  ...encoderOptions,
  ...serveOptions(8000),
  maxWaiting: z
    .int()
    .min(0)
    .default(512)
    .describe("requests that may wait for memory; more are refused with 429"),
  maxBodyBytes: limit("maxBodyBytes", "bytes of a request"),
  maxChoices: limit("maxChoices", "choices of a request"),
  maxStoredResponses: limit("maxStoredResponses", "responses kept for requests that go on from one"),
  maxStoredBytes: limit("maxStoredBytes", "bytes of those"),
  timeoutMs: limit("timeoutMs", "time to the first byte of an answer, milliseconds; later is 504"),
});

type Options = z.output<typeof options>;

/** Adapters by the names that they are served under, closed together. */
async function openAdapters(
  model: Model,
  given: Options,
): Promise<AsyncDisposable & { byName: Record<string, Adapter> }> {
  const { Adapter } = await import("../../../../lib/model/adapter.ts");
  const byName: Record<string, Adapter> = {};
  const close = async (): Promise<void> => {
    for (const adapter of Object.values(byName)) adapter.close();
  };
  try {
    for (const each of given.adapter) {
      const at = each.indexOf("=");
      const name = each.slice(0, at);
      if (name in byName) throw new UsageError(`--adapter: two are named ${name}`);
      byName[name] = await Adapter.load(model, each.slice(at + 1));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { byName, [Symbol.asyncDispose]: close };
}

/** The models of a policy, by the names under which they answer. */
async function openModels(
  { engine, tokenizer, chatTemplate }: LocalPolicy,
  adapters: Record<string, Adapter>,
  given: Options,
): Promise<ServedModel[]> {
  const { languageModels } = await import("../../../../lib/serve/model/open-models.ts");
  const name = given.name ?? basename(resolve(given.model));
  const { maxWaiting } = given;
  return languageModels({ name, engine, tokenizer, chatTemplate, adapters, maxWaiting });
}

/** What answers. */
interface Answering extends TextEncoders {
  readonly models: readonly ServedModel[];
}

async function listen(
  { models, embedding, reranker }: Answering,
  given: Options,
  io: CommandIo,
): Promise<ModelServer> {
  const { serveModels } = await import("../../../../lib/serve/model/model-server.ts");
  const limits = Object.fromEntries(
    Object.keys(defaultModelLimits).map((key) => [key, given[key as keyof typeof defaultModelLimits]]),
  );
  const { anyName } = given;
  return serveModels({ models, embedding, reranker, limits, anyName, ...servedAt(given, io) });
}

/** The command. */
export const serveCommand = command({
  name: "serve",
  summary: `serves a model and adapters on it to clients of OpenAI and Anthropic until it is told to stop; a key in ${keyVariable} is asked of every client`,
  options,
  isService: true,
  run: async (given, io) => {
    const { adapter: _, ...choice } = given;
    await using policy = await openLocalPolicy(choice);
    await using adapters = await openAdapters(policy.model, given);
    const models = await openModels(policy, adapters.byName, given);
    using encoders = await openEncoders(given);
    const server = await listen({ ...encoders, models }, given, io);
    try {
      const { url, host, port } = server;
      const ids = models.map(({ id }) => id);
      io.write(`${ids.join(", ")} at ${url}\n`);
      io.result({ url, host, port, models: ids });
      if (!io.signal.aborted) await once(io.signal, "abort");
      io.log("stopping");
    } finally {
      await server.close({ graceMs: given.graceMs });
    }
  },
});
