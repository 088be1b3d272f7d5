/** The replies to several prompts as one. */
import { streamed } from "../../../../lib/base/streamed.ts";
import type { ReplyEvent } from "../../reply/reply.ts";

/**
 * Mixes replies as their events come.
 *
 * @param replies - one a prompt, each of `n` choices
 * @param n - choices of a prompt; those of the second one follow those of the first
 * @returns their events, numbered through
 */
export function mixed(
  replies: readonly AsyncGenerator<ReplyEvent, void, undefined>[],
  n: number,
): AsyncGenerator<ReplyEvent, void, undefined> {
  const [only, another] = replies;
  if (only !== undefined && another === undefined) return only;
  return streamed<ReplyEvent, void>(async (onEvent, leave) => {
    const close = (): void => {
      for (const reply of replies) void reply.return();
    };
    leave.addEventListener("abort", close, { once: true });
    const pass = async (reply: AsyncGenerator<ReplyEvent>, place: number): Promise<void> => {
      for await (const event of reply) onEvent({ ...event, choice: place * n + event.choice });
    };
    try {
      await Promise.all(replies.map(pass));
    } finally {
      await Promise.allSettled(replies.map((reply) => reply.return()));
    }
  });
}
