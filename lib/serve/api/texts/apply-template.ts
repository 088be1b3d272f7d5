/** `POST /apply-template`: a conversation as the model reads it. */
import type { Call } from "../../http/call.ts";
import type { Serving } from "../fields/serving.ts";
import { textModelOf } from "../fields/text-model.ts";
import { conversationFields, conversationOf, promptOptionsOf } from "./conversation.ts";

/** `{messages, tools?, add_generation_prompt?, chat_template_kwargs?}` to `{prompt}`. */
export function applyTemplateRoute(serving: Serving): (call: Call) => Promise<void> {
  return async (call) => {
    const body = await call.read(conversationFields(), serving.limits);
    const { text } = textModelOf(serving, body.model);
    call.answer({ prompt: text.prompt(conversationOf(body), promptOptionsOf(body)) });
  };
}
