/** `POST /apply-template`: a conversation as the model reads it. */
import type { Call } from "../../http/call.ts";
import { readBody } from "../../http/request-body.ts";
import type { Serving } from "../fields/serving.ts";
import { textModelOf } from "../fields/text-model.ts";
import { conversationFields, promptOf } from "./conversation.ts";

/** `{messages, tools?, add_generation_prompt?, chat_template_kwargs?}` to `{prompt}`. */
export function applyTemplateRoute(serving: Serving): (call: Call) => Promise<void> {
  const { maxBodyBytes: maxBytes } = serving.limits;
  return async (call) => {
    const schema = conversationFields();
    const body = await readBody(call.incoming, { schema, maxBytes, signal: call.signal });
    call.answer({ prompt: promptOf(textModelOf(serving, body.model).text, body) });
  };
}
