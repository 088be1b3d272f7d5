/** Where a request's tokens stand among the sequences that are trained. */
import type { TrainSequence } from "../../../../lib/train/batch/packing.ts";
import type { Call } from "../../recording.ts";

/** A request's tokens in a sequence: they begin behind what was read. */
export interface Placement {
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Finds the sequence that begins with all that the engine held when it sampled, and goes on with what it sampled.
 *
 * @param call - a request and its tokens
 * @param sequences - what is trained
 * @returns undefined when no sequence does
 */
export function placeOf({ context, ids }: Call, sequences: readonly TrainSequence[]): Placement | undefined {
  const from = context.length;
  const to = from + ids.length;
  const sequence = sequences.findIndex(({ tokens }) => {
    const isContext = context.every((id, i) => tokens[i] === id);
    return isContext && ids.every((id, i) => tokens[from + i] === id);
  });
  return sequence < 0 ? undefined : { sequence, from, to };
}
