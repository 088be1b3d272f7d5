/** The end of a stream that cannot go on, as OpenAI's clients read it. */
import type { SentEvent } from "../../http/event-stream.ts";
import { type Refusal, refusalBody } from "../../http/refusal.ts";

/** An event that holds the error; there is no `[DONE]` behind it. */
export function errorEvents(refusal: Refusal): SentEvent[] {
  return [{ data: refusalBody(refusal, "error", "") }];
}
