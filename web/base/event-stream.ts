/** Server-sent events out of pieces of text. */

/** One event. */
export interface ServerEvent {
  /** @default "message" */
  readonly event: string;
  readonly data: string;
}

/**
 * Reads events as the HTML standard words them, however the text is cut into pieces.
 *
 * @param pieces - text as it arrives
 * @returns each event once its empty line has come
 */
export async function* readEvents(pieces: AsyncIterable<string>): AsyncGenerator<ServerEvent> {
  let rest = "";
  for await (const piece of pieces) {
    rest += piece;
    // A carriage return at the end may be the first half of a line's end.
    const cut = rest.endsWith("\r") ? rest.length - 1 : rest.length;
    const blocks = rest.slice(0, cut).split(/\r\n\r\n|\n\n|\r\r/);
    rest = (blocks.pop() ?? "") + rest.slice(cut);
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== undefined) yield event;
    }
  }
}

function eventOf(block: string): ServerEvent | undefined {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { event, data: data.join("\n") };
}
