/** Conversations whose prompt is asked for, without a reply. */
import type { z } from "zod";
import { lazySchema } from "../../../base/on-first-use.ts";
import { refused } from "../../http/refusal.ts";
import type { ModelText } from "../../reply/reply.ts";
import { chatMessage, messagesOf } from "../chat/request.ts";
import { chatTools, toolsOf } from "../fields/tools.ts";

/** The fields of a conversation, under the names that vLLM and llama.cpp share. */
export const conversationFields = lazySchema((z) =>
  z.strictObject({
    model: z.string().nullish(),
    messages: z.array(chatMessage()).min(1),
    tools: chatTools().nullish(),
    add_generation_prompt: z.boolean().nullish(),
    continue_final_message: z.boolean().nullish(),
    chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  }),
);

/** What {@link conversationFields} reads. */
export type ConversationBody = z.output<ReturnType<typeof conversationFields>>;

/**
 * The prompt as far as the text of the last message, which is to go on.
 *
 * @throws Refusal where the template writes that text in another way
 */
function unfinished(prompt: string, last: string): string {
  const at = prompt.lastIndexOf(last);
  if (at >= 0) return prompt.slice(0, at + last.length);
  throw refused(["continue_final_message"], "expected a template that writes messages as they are");
}

/**
 * Writes a conversation as the model reads it.
 *
 * @throws Refusal for what the template refuses, and for a message that is to go on beside a turn that begins
 */
export function promptOf(text: ModelText, body: ConversationBody): string {
  const { messages, tools, chat_template_kwargs: variables, continue_final_message } = body;
  const isContinued = continue_final_message ?? false;
  const addGenerationPrompt = body.add_generation_prompt ?? !isContinued;
  if (isContinued && addGenerationPrompt) {
    throw refused(["continue_final_message"], "expected add_generation_prompt: false beside it");
  }
  const read = messagesOf(messages);
  const conversation = { messages: read, tools: toolsOf(tools), toolChoice: "auto" } as const;
  const templateVariables = variables ?? undefined;
  const prompt = text.prompt({ ...conversation, templateVariables }, { addGenerationPrompt });
  return isContinued ? unfinished(prompt, String(read.at(-1)?.content).trim()) : prompt;
}
