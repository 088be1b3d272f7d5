/** The frames of a memory stack, and what each action does to them. Plain data and pure functions. */
import type { Memory } from "../memory.ts";

/** What a frame came from; an answer that did not count is a thought. */
export type FrameKind = "plan" | "reasoning" | "search" | "backtrack" | "summary" | "invalid";

/** One composed action: what the policy wrote, and what it read in reply. */
export interface Frame {
  readonly kind: FrameKind;
  /** Its segments, counted among all of the trajectory, in order. */
  readonly segments: readonly number[];
}

/**
 * The stack after an action. The frames lie above the prompt, the first one at the bottom.
 *
 * - a plan becomes the first frame, and takes the place of an earlier plan
 * - a backtrack takes the place of the frame before it, but never of the plan
 * - a summary takes the place of the frame before it, or of every frame down to the last summary or the plan; when no
 *   frame stands between, of that summary
 * - everything else is pushed
 *
 * @param frames - the stack before
 * @param frame - the action
 * @param condenses - see {@link Memory}
 * @returns the stack after; it ends with the action's frame unless that is a plan
 * @example
 * const thought = { kind: "reasoning", segments: [1] } as const;
 * const feedback = { kind: "backtrack", segments: [2] } as const;
 * assert.deepEqual(afterAction([thought], feedback, "all"), [feedback]);
 */
export function afterAction(
  frames: readonly Frame[],
  frame: Frame,
  condenses: Memory["condenses"],
): readonly Frame[] {
  if (frame.kind === "plan") return [frame, ...frames.filter(({ kind }) => kind !== "plan")];
  if (frame.kind === "summary" && condenses === "all")
    return [...frames.slice(0, keptBySummary(frames)), frame];
  if (frame.kind !== "backtrack" && frame.kind !== "summary") return [...frames, frame];
  const kept = frames.at(-1)?.kind === "plan" ? frames : frames.slice(0, -1);
  return [...kept, frame];
}

function keptBySummary(frames: readonly Frame[]): number {
  const last = frames.findLastIndex(({ kind }) => kind === "plan" || kind === "summary");
  return last === frames.length - 1 && frames[last]?.kind === "summary" ? last : last + 1;
}

/**
 * The segments that stand in the context.
 *
 * @param frames - a stack
 * @returns their numbers in order, after 0, the prompt
 */
export function visibleSegments(frames: readonly Frame[]): number[] {
  return [0, ...frames.flatMap(({ segments }) => segments)];
}
