/** A last message of the assistant's, which the reply goes on with. */
import { refused } from "../../http/refusal.ts";
import type { CountBody } from "./body.ts";

/**
 * Whether a conversation ends with the beginning of the reply.
 *
 * @throws Refusal, as of Anthropic's API, beside thinking and beside a form, for blocks that are no text at the end, and for white
 *   space there
 */
export function checkPrefill({ messages, thinking, output_config, output_format }: CountBody): boolean {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return false;
  const path = ["messages", messages.length - 1];
  if (thinking !== undefined && thinking.type !== "disabled") {
    throw refused(
      path,
      "expected a user's message beside thinking: a reply that was begun does not think first",
    );
  }
  if ((output_config?.format ?? output_format) !== undefined) {
    throw refused(path, "expected a user's message beside output_config.format, which holds whole replies");
  }
  const call = last.content.findIndex(({ type }) => type === "tool_use");
  if (call >= 0) throw refused([...path, "content", call], "expected a tool_result behind it");
  const end = last.content.at(-1);
  const place = [...path, "content", last.content.length - 1];
  if (end !== undefined && end.type !== "text")
    throw refused(place, `expected text at the end, got ${end.type}`);
  if (end !== undefined && /\s$/.test(end.text)) throw refused(place, "expected no white space at the end");
  return true;
}
