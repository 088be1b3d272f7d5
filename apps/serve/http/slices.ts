/** Long lists in slices, so that no request holds up the others for long. */
import { breathe } from "../../../lib/base/slices/breathe.ts";

/** Items that are asked for at once. */
const partSize = 128;

/**
 * Asks for the items of a list part by part, since even to queue them takes time, and waits for all answers.
 *
 * @param items - what to ask for
 * @param ask - one answer per item
 * @returns the answers in order
 */
export async function inParts<Item, Answer>(
  items: readonly Item[],
  ask: (part: readonly Item[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Promise<Answer[]>[] = [];
  for (let at = 0; at < items.length; at += partSize) {
    const answer = ask(items.slice(at, at + partSize));
    // A failure is noticed below, when all are waited for.
    answer.catch(() => {});
    answers.push(answer);
    await breathe();
  }
  return (await Promise.all(answers)).flat();
}

/** A list of an answer, each of whose items becomes JSON when its turn has come. */
export interface JsonList {
  parts(): Generator<string>;
}

/** A list of which each item is written by a function. */
export function listOf<Item>(
  items: ArrayLike<Item>,
  write: (item: Item, index: number) => unknown,
): JsonList {
  return {
    *parts() {
      for (let i = 0; i < items.length; i++)
        yield `${i === 0 ? "[" : ","}${JSON.stringify(write(items[i] as Item, i))}`;
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
  const blocks: Buffer[] = [];
  let text = "";
  for (const piece of pieces) {
    for (const part of typeof piece === "string" ? [piece] : piece.parts()) {
      text += part;
      if (text.length < blockChars) continue;
      blocks.push(Buffer.from(text));
      text = "";
      await breathe();
      if (signal.aborted) throw signal.reason;
    }
  }
  blocks.push(Buffer.from(text));
  return blocks;
}
