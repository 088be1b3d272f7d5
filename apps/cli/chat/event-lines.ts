/** Server-sent events of a response as the JSON that they hold. */
import { SeekError } from "../../../lib/base/errors.ts";
import { readEvents } from "../../../lib/serve/http/read-events.ts";

/**
 * The `data` of each event until `[DONE]`.
 *
 * @param response - of type text/event-stream
 * @throws ERR_REMOTE for another type, and for data that are no JSON
 */
export async function* eventsOf(response: Response): AsyncGenerator<object, void, undefined> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    throw new SeekError(
      "ERR_REMOTE",
      `${response.url}: expected text/event-stream, got ${type || "no type"}`,
    );
  }
  for await (const { data } of readEvents(response.body)) {
    if (data === "[DONE]") return;
    yield parsed(data, response.url);
  }
}

function parsed(data: string, url: string): object {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new SeekError("ERR_REMOTE", `${url}: expected JSON, got ${data.slice(0, 80)}`, { cause });
  }
}
