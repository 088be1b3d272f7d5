/** The ids of a choice in the order in which they were drawn. */
import type { ReplyEvent } from "../../reply/reply.ts";

/**
 * Tells ids event by event. An agent's tokens come beside what they say, tags and queries last, which is another order than
 * that in which they were drawn: its ids are told all at once, at the end, by what it read and drew.
 */
export class DrawnIds {
  /** An agent's ids as they came; nothing for a language model, whose ids come in order. */
  #held: number[] | undefined;

  /** Takes the choice's next event. @returns the ids that can be told by now, behind those that were */
  next(event: ReplyEvent): number[] {
    // Only models that read one prompt tell its ids.
    if (event.type === "start" && event.promptIds === undefined) this.#held = [];
    const ids = "tokens" in event ? event.tokens.map(({ id }) => id) : [];
    if (this.#held === undefined) return ids;
    this.#held.push(...ids);
    if (event.type !== "finish") return [];
    const drawn = event.segments?.filter(({ kind }) => kind === "policy");
    return drawn?.flatMap(({ tokens }) => [...tokens]) ?? this.#held;
  }
}
