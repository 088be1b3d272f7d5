/** A right trajectory as `seekrl sft` reads it: texts, and ids where they are the student's own. */
import { defined } from "../../base/defined.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import type { WrittenSegment } from "./samples.ts";

/**
 * Writes the segments of a trajectory. Ids are kept as they were sampled (law 1), unless it is for a student with another
 * tokenizer, who then encodes the texts.
 *
 * @param trajectory - its segments
 * @param studentPrompt - what another student reads before its first turn, in its own chat template
 * @returns segments for a line of SFT data
 */
export function writeDemonstration(
  { segments }: Pick<Trajectory, "segments">,
  studentPrompt?: string,
): WrittenSegment[] {
  return segments.map(({ kind, text, tokens, visible }) => {
    if (studentPrompt === undefined) return defined({ kind, text, tokens: [...tokens], visible });
    return defined({ kind, text: kind === "prompt" ? studentPrompt : text, visible });
  });
}
