/** A search agent that is served under a name, like a language model. */
import { randomInt } from "node:crypto";
import { checkOptions, type OptionKinds, optionsOf } from "../../../lib/base/check-options.ts";
import { defined } from "../../../lib/base/defined.ts";
import { mixSeed } from "../../../lib/base/random.ts";
import { streamed } from "../../../lib/base/streamed.ts";
import { type SamplingOptions, samplingKinds } from "../../../lib/engine/sampling-options.ts";
import type { PromptTemplate } from "../../../lib/rollout/seams.ts";
import { promptText } from "../../../lib/rollout/session/prompt.ts";
import type { CacheNeed } from "../generation/admission.ts";
import { asRefusal } from "../generation/as-refusal.ts";
import { promptIdsOf } from "../generation/prompt-ids.ts";
import { refused } from "../http/refusal.ts";
import type { ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";
import { checkAsked, questionOf } from "./asked.ts";
import { AgentChoice, type AskedChoice } from "./choice.ts";
import type { AgentModelParts } from "./parts.ts";

const partKinds: OptionKinds<AgentModelParts> = {
  ...{ id: "string", parent: "string", engine: "object", tokenizer: "object", chatTemplate: "object" },
  ...{ recipe: "object", search: "function", contextTokens: "number", admission: "object" },
  ...{ sampling: optionsOf<SamplingOptions>(samplingKinds), templateVariables: "object" },
};

/** Seeds are whole numbers below this. */
const seedBound = 2 ** 32;

/**
 * Makes a search agent answer as a language model does: its thoughts come as reasoning, its searches as events, its answer
 * as text, with citations of the passages that hold it. The last message of a conversation is its question. Unless a request
 * says otherwise, the likeliest token is taken.
 *
 * @param parts - engine, tokenizer, recipe, search
 * @returns the agent, which may be asked any number of questions at once
 * @throws ERR_ARGUMENT for an unknown or missing part; from `reply`: Refusal for tools, forms and stop strings of a request
 * @example
 * const recipe = ragR1({ queries: "multi" });
 * const agent = agentModel({
 *   ...{ id: "agent/rag-r1", engine, tokenizer, chatTemplate, recipe, search },
 *   contextTokens: engine.maxTokens,
 * });
 * const request = { messages: [{ role: "user", content: "capital of France?" }], tools: [], toolChoice: "auto" };
 * const sampled = { parallelToolCalls: true, stop: [], sampling: {}, n: 1, budget: { maxSearches: 1 } };
 * for await (const event of agent.reply({ ...request, ...sampled }, new AbortController().signal)) {
 *   if (event.type === "text") process.stdout.write(event.text);
 * }
 */
export function agentModel(parts: AgentModelParts): ServedModel {
  const needed = ["id", "engine", "tokenizer", "recipe", "search", "contextTokens"] as const;
  checkOptions("agentModel", parts, partKinds, needed);
  const { id, parent } = parts;
  const contextTokens = Math.min(parts.contextTokens, parts.recipe.limits.maxTokens);
  const sampling = { temperature: 0, ...defined(parts.sampling ?? {}) };
  const own = { ...parts, sampling };
  return { id, parent, contextTokens, sampling, reply: (request, signal) => replyOf(own, request, signal) };
}

async function* replyOf(
  parts: AgentModelParts,
  request: ReplyRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplyEvent, void, undefined> {
  checkAsked(parts.id, request);
  const question = questionOf(request.messages);
  const own = withVariables(parts, request);
  const need = await needOf(own, question, request.n);
  const { n, seed = randomInt(seedBound), budget = {}, maxTokens = Number.POSITIVE_INFINITY } = request;
  const sampling = { ...parts.sampling, ...defined(request.sampling) };
  const choices = Array.from({ length: n }, (_, choice) => ({
    ...{ choice, question, budget, maxTokens, sampling },
    seed: choice === 0 ? seed : mixSeed(seed, "choice", choice),
  }));
  const leave = await parts.admission?.enter(need, signal);
  try {
    yield* streamed<ReplyEvent, void>(async (onEvent, left) => {
      const failed = new AbortController();
      const stop = AbortSignal.any([signal, left, failed.signal]);
      const running = choices.map((asked) =>
        runChoice(own, { ...asked, onEvent, signal: stop }, () => failed.abort()),
      );
      const settled = await Promise.allSettled(running);
      const failure = settled.find((each) => each.status === "rejected");
      if (failure !== undefined) throw failure.reason;
    });
    if (signal.aborted) throw signal.reason;
  } catch (error) {
    throw asRefusal(error);
  } finally {
    leave?.();
  }
}

async function runChoice(parts: AgentModelParts, asked: AskedChoice, onFailure: () => void): Promise<void> {
  try {
    await new AgentChoice(parts, asked).run();
  } catch (error) {
    onFailure();
    throw error;
  }
}

/** The chat template with the variables that a request sets. */
function withVariables(parts: AgentModelParts, { templateVariables: asked }: ReplyRequest): AgentModelParts {
  const { chatTemplate, templateVariables } = parts;
  if (chatTemplate === undefined || (templateVariables ?? asked) === undefined) return parts;
  const variables = { ...templateVariables, ...asked };
  const render: PromptTemplate["render"] = (messages, options) =>
    chatTemplate.render(messages, { ...options, variables } as typeof options);
  return { ...parts, chatTemplate: { render } };
}

/** What it may hold of the cache. @throws Refusal for a conversation that leaves no room for a turn */
async function needOf(
  { recipe, tokenizer, chatTemplate, engine, contextTokens }: AgentModelParts,
  question: string,
  n: number,
): Promise<CacheNeed> {
  const { format, limits } = recipe;
  const most = Math.min(limits.maxTokens, contextTokens, engine.maxTokens ?? contextTokens);
  const prompt = promptText(format, question, chatTemplate);
  const { length } = await promptIdsOf(prompt, { tokenizer, contextTokens: most, form: { kind: "prompt" } });
  if (length < most) return { numPromptTokens: length, maxTokens: most - length, n };
  const message = `expected fewer than ${most} tokens with the agent's prompt, got ${length}`;
  throw refused(["messages"], message, "context_length_exceeded");
}
