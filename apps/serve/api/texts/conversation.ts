/** Conversations whose prompt is asked for, without a reply; `POST /apply-template` is one way. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { jsonText } from "../../../../lib/base/slices/json-text.ts";
import { listField } from "../../http/body/list-field.ts";
import type { Call } from "../../http/call.ts";
import type { Conversation, PromptOptions } from "../../reply/reply.ts";
import { chatMessage, messagesOf } from "../chat/message.ts";
import { continuedFields, continuesLast } from "../fields/continued.ts";
import { officialObject } from "../fields/official.ts";
import { type Serving, textModelOf } from "../fields/serving.ts";
import { chatTools, toolsOf } from "../fields/tools.ts";

/** The fields of a conversation, under the names that vLLM and llama.cpp share. */
export const conversationFields = lazySchema((z) =>
  officialObject({
    model: z.string().optional(),
    messages: listField(chatMessage(), { min: 1 }),
    tools: chatTools().optional(),
    ...continuedFields().shape,
    chat_template_kwargs: z.record(z.string(), z.unknown()).optional(),
  }),
);

/** What {@link conversationFields} reads. */
type ConversationBody = z.output<ReturnType<typeof conversationFields>>;

/**
 * The conversation of a checked body.
 *
 * @throws Refusal for content that is no text, and for a message that is to go on beside a turn that begins
 */
export function conversationOf(body: ConversationBody): Conversation {
  const messages = messagesOf(body.messages);
  return {
    messages,
    continuesLast: continuesLast(body, messages),
    tools: toolsOf(body.tools),
    toolChoice: "auto",
    templateVariables: body.chat_template_kwargs,
  };
}

/** How the conversation of a checked body is written. */
export function promptOptionsOf({ add_generation_prompt }: ConversationBody): PromptOptions {
  return { addGenerationPrompt: add_generation_prompt ?? true };
}

/** `{messages, tools?, add_generation_prompt?, chat_template_kwargs?}` to `{prompt}`. */
export function applyTemplateRoute(serving: Serving): (call: Call) => Promise<void> {
  return async (call) => {
    const body = await call.read(conversationFields(), serving.limits);
    const { text } = textModelOf(serving, body.model);
    const prompt = await text.prompt(conversationOf(body), promptOptionsOf(body));
    await call.answerLong((await jsonText({ prompt })) ?? "");
  };
}
