/** A served model that learns, and how its tests ask and score it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import OpenAI from "openai";
import { LearningModel } from "../../../apps/serve/learn/learning-model.ts";
import type { LearnEvent, LearnOptions } from "../../../apps/serve/learn/options.ts";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { openLanguageModels } from "../../../apps/serve/model/open-models.ts";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { checkpoint } from "../model/served.ts";

/** A folder that goes with its test. */
export async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A server of one model and of what learns from its replies, closed with its test. */
export async function served(t: TestContext, given: Partial<LearnOptions>, record?: { folder: string }) {
  const policy = await openLocalPolicy({ model: checkpoint }, {});
  t.after(() => policy[Symbol.asyncDispose]());
  const { engine, tokenizer, chatTemplate, model } = policy;
  const events: LearnEvent[] = [];
  const shared = { engine, tokenizer, chatTemplate };
  const [base] = openLanguageModels({ name: "world", ...shared });
  const { LanguageModel } = await import("../../../apps/serve/model/language-model.ts");
  const learning = await LearningModel.open({
    ...{ name: "learner", model, onEvent: (event) => events.push(event) },
    serve: (adapter) =>
      new LanguageModel({ ...shared, id: "learner", parent: "world", adapter, admission: base.admission }),
    ...given,
  });
  t.after(() => learning.close());
  const server = await serveModels({ models: [base, learning], port: 0, record });
  t.after(() => server.close({ graceMs: 0 }));
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const score = async (response_id: string, reward: number, choice = 0) =>
    fetch(`${server.url}/v1/feedback`, {
      method: "POST",
      body: JSON.stringify({ response_id, reward, choice }),
    });
  return { client, events, learning, score, policy, server };
}

/** A prompt after which the model writes many different words. */
export const prompt = { model: "learner", prompt: "the city of", max_tokens: 6, temperature: 1 };

/** The share of words with an "a". */
export function worth(text: string): number {
  const words = text.trim().split(/\s+/);
  return words.filter((word) => /a/.test(word)).length / words.length;
}
