/** Agents over scripted models, asked as protocols ask, and what they reply. */

import { agentModel } from "../../../apps/serve/agent/agent-model.ts";
import type { AgentModelParts } from "../../../apps/serve/agent/parts.ts";
import type { ReplyEvent, ReplyRequest, ServedModel } from "../../../apps/serve/reply/reply.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { defaultLimits, type Limits } from "../../../lib/rollout/limits.ts";
import { characters, recordedSearch, ScriptedSequence, type ScriptedTurn } from "../../rollout/doubles.ts";

export const single = ragFormat("single");

/** A request with one question. */
export function asking(question: string, changes: Partial<ReplyRequest> = {}): ReplyRequest {
  return {
    messages: [{ role: "user", content: question }],
    ...{ tools: [], toolChoice: "auto", parallelToolCalls: true, stop: [], sampling: {}, n: 1, seed: 0 },
    ...changes,
  };
}

interface Around extends Partial<Omit<AgentModelParts, "recipe">> {
  readonly format?: AgentModelParts["recipe"]["format"];
  readonly tools?: AgentModelParts["recipe"]["tools"];
  readonly limits?: Partial<Limits>;
}

/** An agent whose model says one turn after the other, the same in every sequence. */
export function scripted(turns: readonly ScriptedTurn[], around: Around = {}): ServedModel {
  const { format = single, tools, limits, ...parts } = around;
  return agentModel({
    ...{ id: "agent/scripted", engine: { open: () => new ScriptedSequence(...turns) } },
    ...{ tokenizer: characters, search: recordedSearch(), contextTokens: 8192 },
    recipe: { format: { ...format, prompt: (q) => q }, tools, limits: { ...defaultLimits, ...limits } },
    ...parts,
  });
}

/** All that an agent replies. */
export async function replied(agent: ServedModel, request: ReplyRequest | string): Promise<ReplyEvent[]> {
  const asked = typeof request === "string" ? asking(request) : request;
  const events: ReplyEvent[] = [];
  for await (const event of agent.reply(asked, new AbortController().signal)) events.push(event);
  return events;
}

type Told<Type, Event = ReplyEvent> = Event extends { readonly type: infer Own }
  ? Type extends Own
    ? Event
    : never
  : never;

/** The events of a type. */
export function ofType<Type extends ReplyEvent["type"]>(
  events: readonly ReplyEvent[],
  type: Type,
): Told<Type>[] {
  return events.filter((event) => event.type === type) as Told<Type>[];
}

/** What was thought, what was said, and why it ended. */
export function summary(events: readonly ReplyEvent[]) {
  const textOf = (type: "reasoning" | "text"): string =>
    ofType(events, type)
      .map(({ text }) => text)
      .join("");
  return { thought: textOf("reasoning"), said: textOf("text"), reason: ofType(events, "finish")[0]?.reason };
}
