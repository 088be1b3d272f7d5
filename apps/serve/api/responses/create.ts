/** A response from the request to its last event. */
import { newId } from "../../reply/ids.ts";
import { wholeCalls } from "../../reply/whole-calls.ts";
import type { Caller } from "../fields/serving.ts";
import { conversationOf, type FindResponse, type ResponseParts } from "./conversation.ts";
import { type ResponseRequest, replyRequestOf } from "./request.ts";
import { headOf } from "./resource.ts";
import type { StoredResponse } from "./store.ts";
import { type ResponseEvent, ResponseWriter } from "./writer.ts";

/** A response that is being made. */
export interface Making {
  readonly writer: ResponseWriter;
  /** As it stands, with the conversation that it answers. */
  stored(): StoredResponse;
  readonly events: AsyncGenerator<ResponseEvent, void, undefined>;
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
  call: Caller,
  body: ResponseRequest,
  { find, ...parts }: ResponseParts & { readonly find: FindResponse },
): Making {
  const { serving, store } = parts;
  const model = serving.models.find(body.model);
  const input = conversationOf(body, find, parts);
  const request = replyRequestOf(body, { items: input, model });
  const id = newId("resp_");
  const writer = new ResponseWriter(headOf(body, { id, model }), {
    logprobs: request.topLogprobs !== undefined,
    sealedThoughts: body.include?.includes("reasoning.encrypted_content") ?? false,
  });
  const stored = (): StoredResponse => ({ response: writer.response, input });
  const reply = wholeCalls(serving.reply(call, { id, model, request }));
  const events = async function* (): AsyncGenerator<ResponseEvent, void, undefined> {
    let hasBegun = false;
    for await (const event of reply) {
      if (!hasBegun) yield* writer.begin();
      hasBegun = true;
      const told = writer.take(event);
      // Kept before it is told, so that a client may come back to it at once.
      if (writer.isDone && writer.response.store) store.put(stored());
      yield* told;
    }
  };
  return { writer, stored, events: events() };
}
