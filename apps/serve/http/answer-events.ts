/** An answer of events, from the first one to what ends it. */
import type { Call } from "./call.ts";
import type { SentEvent } from "./event-stream.ts";
import { type Refusal, refusalBody } from "./refusal.ts";

/**
 * Answers with events as they come. What fails before the first one is refused with a status; what fails later is told by
 * last events.
 *
 * @param call - the request
 * @param events - closed when the client has gone
 * @param failed - the last events of an answer that cannot go on, `@default` one that holds the error, as OpenAI's clients read it
 */
export async function answerEvents(
  call: Call,
  events: AsyncGenerator<SentEvent, void, undefined>,
  failed: (refusal: Refusal) => readonly SentEvent[] = (refusal) => [
    { data: refusalBody(refusal, call.dialect, call.id) },
  ],
): Promise<void> {
  try {
    const first = await events.next();
    const stream = call.openStream();
    try {
      if (!first.done) await stream.send(first.value);
      for await (const event of events) await stream.send(event);
    } catch (error) {
      const refusal = call.failed(error);
      if (refusal.code !== "client_gone") for (const event of failed(refusal)) await stream.send(event);
    } finally {
      stream.end();
    }
  } finally {
    await events.return();
  }
}
