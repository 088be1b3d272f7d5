/** `GET /v1/models`: what is served, as OpenAI's, vLLM's and Anthropic's clients read it. */
import type { Call } from "../../http/call.ts";
import type { ServedModel } from "../../reply/reply.ts";
import type { Serving } from "../fields/serving.ts";

/** One model; the names of the protocols stand beside each other. */
function entryOf({ id, parent, contextTokens }: ServedModel, startedAt: Date): object {
  return {
    id,
    object: "model",
    created: Math.floor(startedAt.getTime() / 1000),
    owned_by: "seekrl",
    root: parent ?? id,
    parent: parent ?? null,
    max_model_len: contextTokens,
    type: "model",
    display_name: id,
    created_at: startedAt.toISOString(),
  };
}

/** The list, the models themselves first and what is made of them behind. */
export function modelListRoute({ models }: Serving): (call: Call) => void {
  const startedAt = new Date();
  return (call) => {
    const list = models.list();
    const data = list.map((model) => entryOf(model, startedAt));
    const ends = { first_id: list[0]?.id ?? null, last_id: list.at(-1)?.id ?? null };
    call.answer({ object: "list", data, has_more: false, ...ends });
  };
}

/** One model by its name. */
export function modelRoute({ models }: Serving): (call: Call) => void {
  const startedAt = new Date();
  return (call) => call.answer(entryOf(models.find(call.params.id ?? ""), startedAt));
}
