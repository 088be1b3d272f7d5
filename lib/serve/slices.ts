/** Long lists in slices, so that no request holds up the others for long. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Work at a stretch, milliseconds. */
const sliceMs = 4;

/** Lets others have their turn now and then. */
export class Pace {
  #since = performance.now();

  /** Waits for one turn of the event loop, if the last one is long enough ago. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#since < sliceMs) return;
    await nextTurn();
    this.#since = performance.now();
  }
}

/** A list of an answer, each of whose items becomes JSON when its turn has come. */
export interface JsonList {
  parts(): Generator<string>;
}

/** A list of which each item is written by a function. */
export function listOf<Item>(
  items: readonly Item[],
  write: (item: Item, index: number) => unknown,
): JsonList {
  return {
    *parts() {
      for (const [i, item] of items.entries())
        yield `${i === 0 ? "[" : ","}${JSON.stringify(write(item, i))}`;
      yield items.length === 0 ? "[]" : "]";
    },
  };
}

/** Characters that are encoded at once. */
const blockChars = 1 << 16;

/**
 * Encodes an answer block by block.
 *
 * @param pieces - JSON as it is, and lists
 * @param signal - ends the work; its reason is thrown
 * @returns the bytes, in blocks
 */
export async function encode(pieces: readonly (string | JsonList)[], signal: AbortSignal): Promise<Buffer[]> {
  const [pace, blocks] = [new Pace(), [] as Buffer[]];
  let text = "";
  for (const piece of pieces) {
    for (const part of typeof piece === "string" ? [piece] : piece.parts()) {
      text += part;
      if (text.length < blockChars) continue;
      blocks.push(Buffer.from(text));
      text = "";
      await pace.breathe();
      if (signal.aborted) throw signal.reason;
    }
  }
  blocks.push(Buffer.from(text));
  return blocks;
}
