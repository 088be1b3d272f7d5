/** A response from the request to its last event. */
import type { Call } from "../../http/call.ts";
import { Refusal } from "../../http/refusal.ts";
import type { ServedModel } from "../../reply/reply.ts";
import { newId } from "../fields/ids.ts";
import { refused } from "../fields/refuse.ts";
import type { Serving } from "../fields/serving.ts";
import { itemsOf } from "./items/input.ts";
import type { Item } from "./items/item.ts";
import { type ResponseRequest, replyRequestOf } from "./request.ts";
import { headOf } from "./resource.ts";
import type { ResponseStore, StoredResponse } from "./store.ts";
import { type ResponseEvent, ResponseWriter } from "./writer.ts";

/** What responses are made with. */
export interface ResponseParts {
  readonly serving: Serving;
  readonly store: ResponseStore;
}

/** Where the response before is looked for. */
export type FindResponse = (id: string) => StoredResponse | undefined;

/** A response that is being made. */
export interface Making {
  readonly writer: ResponseWriter;
  /** The conversation that it answers. */
  readonly input: readonly Item[];
  readonly events: AsyncGenerator<ResponseEvent, void, undefined>;
}

/** @throws Refusal 404 */
export function gone(id: string): Refusal {
  return new Refusal(
    "not_found",
    `${id.slice(0, 100)}: no such response is kept; old ones make room for others`,
  );
}

/** The conversation that a request goes on with. */
function conversationOf(
  body: Pick<ResponseRequest, "previous_response_id" | "input">,
  find: FindResponse,
  { store }: ResponseParts,
): Item[] {
  const { previous_response_id: id, input } = body;
  const own = itemsOf(input ?? [], (itemId) => store.findItem(itemId));
  if (id == null) return own;
  const previous = find(id);
  if (previous !== undefined) return [...previous.input, ...previous.response.output, ...own];
  const why = `no response ${id.slice(0, 100)} is kept; send the whole conversation as input`;
  throw refused(["previous_response_id"], why, "previous_response_not_found");
}

/** The model of a request: the one that it names, or the first. */
function modelOf({ model }: ResponseRequest, { models }: Serving): ServedModel {
  const [first] = models.list();
  return model == null && first !== undefined ? first : models.find(model ?? "");
}

/**
 * Begins a response.
 *
 * @param call - the request
 * @param body - checked
 * @param parts - models, and what is kept; `find` is where the response before is looked for
 * @returns its events, which keep it at the end
 * @throws Refusal for what cannot be asked
 */
export function makeResponse(
  call: Call,
  body: ResponseRequest,
  { find, ...parts }: ResponseParts & { readonly find: FindResponse },
): Making {
  const { serving, store } = parts;
  const model = modelOf(body, serving);
  const input = conversationOf(body, find, parts);
  const request = replyRequestOf(body, input);
  const id = newId("resp_");
  const writer = new ResponseWriter(headOf(body, { id, model: model.id }), {
    logprobs: request.topLogprobs !== undefined,
    sealedThoughts: body.include?.includes("reasoning.encrypted_content") ?? false,
  });
  const reply = serving.reply(call, { id, model, request });
  const events = async function* (): AsyncGenerator<ResponseEvent, void, undefined> {
    let hasBegun = false;
    for await (const event of reply) {
      if (!hasBegun) yield* writer.begin();
      hasBegun = true;
      const told = writer.take(event);
      // Kept before it is told, so that a client may come back to it at once.
      if (writer.isDone && writer.response.store) store.put({ response: writer.response, input });
      yield* told;
    }
  };
  return { writer, input, events: events() };
}
