/** Server-sent events out of a response's bytes. */

/** One event. */
export interface ReadEvent {
  /** Its name, where it has one. */
  readonly event: string | undefined;
  readonly data: string;
}

/** A line's end; a carriage return that came last may be the first half of one. */
const lineEnd = /\r\n|\n|\r(?!$)/;

/**
 * Reads events as the HTML standard words them, however the bytes are cut into pieces.
 *
 * @param body - bytes as they arrive; none for an empty response
 * @returns each event with data once its empty line has come
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array> | null,
): AsyncGenerator<ReadEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let event: string | undefined;
  let data: string[] = [];
  for await (const bytes of body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(lineEnd);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (field === "event") event = value;
      if (field === "data") data.push(value);
      if (line !== "") continue;
      if (data.length > 0) yield { event, data: data.join("\n") };
      event = undefined;
      data = [];
    }
  }
}
