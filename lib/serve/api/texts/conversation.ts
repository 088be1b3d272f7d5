/** Conversations whose prompt is asked for, without a reply. */
import type { z } from "zod";
import { lazySchema } from "../../../base/on-first-use.ts";
import type { ModelText } from "../../reply/reply.ts";
import { chatMessage, messagesOf } from "../chat/request.ts";
import { continuedFields, continuesLast } from "../fields/continued.ts";
import { chatTools, toolsOf } from "../fields/tools.ts";

/** The fields of a conversation, under the names that vLLM and llama.cpp share. */
export const conversationFields = lazySchema((z) =>
  z.strictObject({
    model: z.string().nullish(),
    messages: z.array(chatMessage()).min(1),
    tools: chatTools().nullish(),
    ...continuedFields().shape,
    chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  }),
);

/** What {@link conversationFields} reads. */
export type ConversationBody = z.output<ReturnType<typeof conversationFields>>;

/**
 * Writes a conversation as the model reads it.
 *
 * @throws Refusal for what the template refuses, and for a message that is to go on beside a turn that begins
 */
export function promptOf(text: ModelText, body: ConversationBody): string {
  const messages = messagesOf(body.messages);
  const conversation = {
    messages,
    continuesLast: continuesLast(body, messages),
    tools: toolsOf(body.tools),
    toolChoice: "auto",
    templateVariables: body.chat_template_kwargs ?? undefined,
  } as const;
  return text.prompt(conversation, { addGenerationPrompt: body.add_generation_prompt ?? true });
}
