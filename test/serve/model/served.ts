/** The shipped model of the built-in world, served on a port of its own, and OpenAI's client of it. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import OpenAI from "openai";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { type LanguageModelOptions, languageModels } from "../../../apps/serve/model/open-models.ts";
import type { ModelServerOptions } from "../../../apps/serve/model/options.ts";
import type { EngineOptions } from "../../../lib/engine/engine-options.ts";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { projectRoot } from "../../project.ts";

/** The folder of the shipped model. */
export const checkpoint = join(projectRoot, "world", "checkpoint");

interface ServedOptions {
  readonly engine?: EngineOptions;
  readonly models?: Partial<LanguageModelOptions>;
  readonly server?: Partial<ModelServerOptions>;
}

/** Serves the model as `world`; all is closed when the test ends. */
export async function servedWorld(t: TestContext, options: ServedOptions = {}) {
  const policy = await openLocalPolicy({ model: checkpoint }, options.engine ?? {});
  t.after(() => policy[Symbol.asyncDispose]());
  const { engine, tokenizer, chatTemplate } = policy;
  const models = languageModels({
    ...{ name: "world", engine, tokenizer, chatTemplate },
    ...options.models,
  });
  const server = await serveModels({ models, port: 0, ...options.server });
  t.after(() => server.close({ graceMs: 0 }));
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  return { policy, engine, tokenizer, models, server, client, url: server.url };
}

/** Waits until something holds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
