/** A search agent that is served under a name, like a language model. */
import { randomInt } from "node:crypto";
import { checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { mixSeed } from "../../base/random.ts";
import { streamed } from "../../base/streamed.ts";
import type { Recipe } from "../../recipes/recipe.ts";
import type { PromptTemplate, SequenceSource, TextCodec } from "../../rollout/seams.ts";
import { promptText } from "../../rollout/session/prompt.ts";
import type { Search } from "../../search/search.ts";
import { refused } from "../api/fields/refuse.ts";
import type { ReplyEvent, ReplyRequest, ServedModel } from "../reply/reply.ts";
import { checkAsked, questionOf } from "./asked.ts";
import { AgentChoice, type AskedChoice } from "./choice.ts";

/** What a served agent is made of. */
export interface AgentModelParts {
  /** Its name, such as `agent/rag-r1`. */
  readonly id: string;
  /** The name of its language model. @default none */
  readonly parent?: string | undefined;
  readonly engine: SequenceSource;
  readonly tokenizer: TextCodec;
  readonly chatTemplate?: PromptTemplate | undefined;
  /** Its conversation, tools and limits. */
  readonly recipe: Pick<Recipe, "format" | "limits" | "tools" | "searchThrough">;
  readonly search: Search;
  /** Longest conversation of the language model, in tokens. */
  readonly contextTokens: number;
}

const partKinds: OptionKinds<AgentModelParts> = {
  ...{ id: "string", parent: "string", engine: "object", tokenizer: "object", chatTemplate: "object" },
  ...{ recipe: "object", search: "function", contextTokens: "number" },
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
 */
export function agentModel(parts: AgentModelParts): ServedModel {
  const needed = ["id", "engine", "tokenizer", "recipe", "search", "contextTokens"] as const;
  checkOptions("agentModel", parts, partKinds, needed);
  const { id, parent } = parts;
  const contextTokens = Math.min(parts.contextTokens, parts.recipe.limits.maxTokens);
  return { id, parent, contextTokens, reply: (request, signal) => replyOf(parts, request, signal) };
}

async function* replyOf(
  parts: AgentModelParts,
  request: ReplyRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplyEvent, void, undefined> {
  checkAsked(parts.id, request);
  const question = questionOf(request.messages);
  const own = withVariables(parts, request);
  checkRoom(own, question);
  const { n, seed = randomInt(seedBound), budget = {}, maxTokens = Number.POSITIVE_INFINITY } = request;
  const sampling = { temperature: 0, ...request.sampling };
  const asked = { question, budget, maxTokens, sampling };
  yield* streamed<ReplyEvent, void>(async (onEvent, left) => {
    const failed = new AbortController();
    const stop = AbortSignal.any([signal, left, failed.signal]);
    const choices = Array.from({ length: n }, async (_, choice) => {
      const own_ = { ...asked, choice, seed: choice === 0 ? seed : mixSeed(seed, "choice", choice) };
      await runChoice(own, { ...own_, onEvent, signal: stop }, () => failed.abort());
    });
    const settled = await Promise.allSettled(choices);
    const failure = settled.find((each) => each.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  });
  if (signal.aborted) throw signal.reason;
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
function withVariables(
  parts: AgentModelParts,
  { templateVariables: variables }: ReplyRequest,
): AgentModelParts {
  const { chatTemplate } = parts;
  if (chatTemplate === undefined || variables === undefined) return parts;
  const render: PromptTemplate["render"] = (messages, options) =>
    chatTemplate.render(messages, { ...options, variables } as typeof options);
  return { ...parts, chatTemplate: { render } };
}

/** @throws Refusal for a conversation that leaves no room for a turn */
function checkRoom(
  { recipe, tokenizer, chatTemplate, engine, contextTokens }: AgentModelParts,
  question: string,
): void {
  const { format, limits } = recipe;
  const most = Math.min(limits.maxTokens, contextTokens, engine.maxTokens ?? contextTokens);
  const { length } = tokenizer.encode(promptText(format, question, chatTemplate), { beginsText: true });
  if (length < most) return;
  throw refused(["messages"], `expected fewer than ${most} tokens with the agent's prompt, got ${length}`);
}
