/** What a request asks of an agent: one question, within the agent's own rules. */
import { checkOptions } from "../../../lib/base/check-options.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { samplingKinds } from "../../../lib/engine/sampling-options.ts";
import type { Message } from "../../../lib/text/templates/chat-template.ts";
import { refused } from "../http/refusal.ts";
import type { AgentBudget, ReplyRequest } from "../reply/reply.ts";

/** Who says what in the text of a conversation. */
const speakers: Readonly<Record<string, string>> = {
  system: "Instructions",
  developer: "Instructions",
  user: "User",
  assistant: "Assistant",
};

/** @throws Refusal for what an agent has itself, or cannot be held to */
export function checkAsked(id: string, request: ReplyRequest): void {
  const { tools, toolChoice, constraint, stop, topLogprobs = 0, sampling, budget = {} } = request;
  const [tool] = tools;
  if (tool !== undefined) {
    throw refused(["tools"], `expected none: ${id} has tools of its own, got ${tool.name}`);
  }
  if (toolChoice === "required" || typeof toolChoice === "object") {
    throw refused(["tool_choice"], `expected auto or none: ${id} has tools of its own`);
  }
  if (constraint !== undefined) {
    throw refused(["response_format"], `expected text: ${id} answers in the form of its recipe`);
  }
  if (stop.length > 0) throw refused(["stop"], `expected none: ${id} ends its answer itself`);
  if (topLogprobs > 0) {
    throw refused(
      ["top_logprobs"],
      `expected 0: ${id} tells how likely its own tokens were, got ${topLogprobs}`,
    );
  }
  checkSampling(sampling);
  checkBudget(budget);
}

function checkSampling(sampling: ReplyRequest["sampling"]): void {
  try {
    checkOptions("sampling", sampling, samplingKinds);
  } catch (error) {
    if (!(error instanceof SeekError)) throw error;
    throw refused(["sampling"], error.message);
  }
}

function checkBudget({ maxSearches = 0, topK = 1, deadlineMs = 1 }: AgentBudget): void {
  const bounds = { maxSearches: [maxSearches, 0], topK: [topK, 1], deadlineMs: [deadlineMs, 1] } as const;
  for (const [name, [value, least]] of Object.entries(bounds)) {
    if (Number.isSafeInteger(value) && value >= least && value < 2 ** 31) continue;
    throw refused(["budget", name], `expected a whole number from ${least} on, got ${value}`);
  }
}

/**
 * The question of a conversation: its last message, which must be the user's. What was said before stands in front of it,
 * as text: agents are trained on single questions, and have no other place for it.
 *
 * @param messages - as a request has them
 * @throws Refusal for a conversation that ends otherwise, and for messages of tools
 */
export function questionOf(messages: readonly Message[]): string {
  const said = messages.map((message, i) => ({ who: speakerOf(message, i), text: contentOf(message, i) }));
  const last = said.at(-1);
  if (last === undefined || messages.at(-1)?.role !== "user" || last.text === "") {
    throw refused(["messages"], "expected the user's question as the last one");
  }
  const before = said.slice(0, -1).filter(({ text }) => text !== "");
  if (before.length === 0) return last.text;
  const lines = before.map(({ who, text }) => `${who}: ${text}`);
  return `What was said before:\n${lines.join("\n")}\n\nThe question now: ${last.text}`;
}

function speakerOf({ role }: Message, i: number): string {
  const who = speakers[role];
  if (who !== undefined) return who;
  throw refused(["messages", i, "role"], `expected system, user or assistant, got ${role.slice(0, 100)}`);
}

function contentOf({ content }: Message, i: number): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content.trim();
  throw refused(["messages", i, "content"], "expected a text");
}
