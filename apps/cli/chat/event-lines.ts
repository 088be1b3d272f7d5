/** Server-sent events of a response as the JSON that they hold. */
import { SeekError } from "../../../lib/base/errors.ts";

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
  for await (const line of linesOf(response)) {
    if (!line.startsWith("data:")) continue;
    const data = line.slice("data:".length).trim();
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

async function* linesOf({ body }: Response): AsyncGenerator<string, void, undefined> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield line.replace(/\r$/, "");
  }
  if (rest !== "") yield rest;
}
