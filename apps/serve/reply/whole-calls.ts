/** Calls whose arguments are always JSON: clients parse what they are told. */
import type { ReplyEvent } from "./reply.ts";

/**
 * A reply in which a call that says no arguments has none, `{}`.
 *
 * @param reply - closed when no more is asked for
 */
export async function* wholeCalls(
  reply: AsyncIterable<ReplyEvent>,
): AsyncGenerator<ReplyEvent, void, undefined> {
  /** Of each choice the call that has said nothing yet. */
  const silent = new Map<number, number>();
  for await (const event of reply) {
    const { choice, type } = event;
    const index = silent.get(choice);
    if (type === "toolArguments" && event.text !== "") silent.delete(choice);
    else if (index !== undefined && (type === "toolCall" || type === "finish")) {
      yield { type: "toolArguments", choice, index, text: "{}", tokens: [] };
      silent.delete(choice);
    }
    if (type === "toolCall") silent.set(choice, event.index);
    yield event;
  }
}
