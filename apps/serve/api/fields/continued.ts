/** Whether a reply goes on with the last message, as vLLM's and Hugging Face's users say it. */
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { Message } from "../../../../lib/text/templates/chat-template.ts";
import { refused } from "../../http/refusal.ts";

/** The two fields that say it. */
export const continuedFields = lazySchema((z) =>
  z.object({
    add_generation_prompt: z.boolean().nullish(),
    continue_final_message: z.boolean().nullish(),
  }),
);

/** What {@link continuedFields} reads. */
interface ContinuedFields {
  readonly add_generation_prompt?: boolean | null | undefined;
  readonly continue_final_message?: boolean | null | undefined;
}

/**
 * Whether the last message goes on.
 *
 * @throws Refusal beside a turn that begins, and for a message that is not the assistant's or ends with calls
 */
export function continuesLast(fields: ContinuedFields, messages: readonly Message[]): boolean {
  if (fields.continue_final_message !== true) return false;
  if (fields.add_generation_prompt === true) {
    throw refused(["continue_final_message"], "expected add_generation_prompt: false beside it");
  }
  const last = messages.at(-1);
  const got = last?.tool_calls === undefined ? last?.role : "one with tool_calls";
  if (got === "assistant") return true;
  const place = ["messages", messages.length - 1];
  throw refused(
    place,
    `expected a text of the assistant's, which continue_final_message goes on with, got ${got}`,
  );
}
