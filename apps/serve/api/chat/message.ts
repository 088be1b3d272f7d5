/** Messages of chat completions as OpenAI's clients send them, those that this server answered with included. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { Message } from "../../../../lib/text/templates/chat-template.ts";
import { listField } from "../../http/body/list-field.ts";
import { contentField, textOf } from "../fields/content.ts";
import { hint, notServed, officialObject } from "../fields/official.ts";
import { callArguments } from "../fields/tools.ts";

/** A call in a message. */
export const chatToolCall = lazySchema((z) =>
  officialObject({
    id: z.string(),
    type: z.literal("function", { error: "expected function: models here call functions" }),
    function: officialObject({
      name: z.string(),
      arguments: callArguments(),
      // OpenAI's client keeps it on what it parsed.
      parsed_arguments: hint(),
    }),
    index: hint(),
  }),
);

/** A message. */
export const chatMessage = lazySchema((z) =>
  officialObject({
    role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
    content: contentField().optional(),
    name: z.string().optional(),
    tool_call_id: z.string().optional(),
    tool_calls: listField(chatToolCall()).optional(),
    // Two names of one field; the second is vLLM's later one.
    reasoning_content: z.string().optional(),
    reasoning: z.string().optional(),
    refusal: z.string().optional(),
    audio: notServed("expected none: models here read texts"),
    function_call: notServed("expected tool_calls"),
    // Of an answer that comes back: what it cites and has searched for is not read again.
    annotations: hint(),
    seekrl: hint(),
    parsed: hint(),
  }),
);

/** What {@link chatMessage} reads. */
export type ChatMessage = z.output<ReturnType<typeof chatMessage>>;

function contentOf({ content, refusal }: ChatMessage, place: number): string {
  const text = content === undefined ? "" : textOf(content, ["messages", place, "content"]);
  // A refusal is what was said, where nothing else was.
  return text === "" ? (refusal ?? "") : text;
}

/** The messages as chat templates read them. @throws Refusal for content that is no text */
export function messagesOf(messages: readonly ChatMessage[]): Message[] {
  return messages.map((message, i) => {
    const { role, tool_calls, tool_call_id, name, reasoning } = message;
    const { reasoning_content = reasoning } = message;
    const calls = tool_calls?.map(({ id, type, function: { name, arguments: args } }) => {
      return { id, type, function: { name, arguments: args } };
    });
    return {
      // What newer models call developer is the system's part in every template.
      role: role === "developer" ? "system" : role === "function" ? "tool" : role,
      content: contentOf(message, i),
      ...(calls !== undefined && calls.length > 0 ? { tool_calls: calls } : {}),
      ...(tool_call_id === undefined ? {} : { tool_call_id }),
      ...(name === undefined ? {} : { name }),
      ...(reasoning_content === undefined ? {} : { reasoning_content }),
    };
  });
}
