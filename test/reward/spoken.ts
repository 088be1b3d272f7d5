/** Trajectories made of texts. */
import type { Segment, Trajectory } from "../../lib/rollout/trajectory.ts";

/** A segment with one token per character. */
export function segment(kind: Segment["kind"], text: string): Segment {
  return { kind, text, tokens: Int32Array.from(text, (unit) => unit.charCodeAt(0)) };
}

/** A trajectory that ended with an answer; each observation was a search. */
export function trajectory(...segments: Segment[]): Trajectory {
  const rounds = segments.filter(({ kind }) => kind === "observation").length;
  return {
    id: "q#0",
    questionId: "q",
    segments,
    turns: 1,
    stop: "answer",
    rounds,
    queries: [],
    invalidActions: 0,
    failures: 0,
    timings: { generateMs: 0, searchMs: 0, totalMs: 0 },
    weightsVersion: 0,
  };
}

/** What the policy and the environment said in turn, the policy first. */
export function spoken(...texts: string[]): Trajectory {
  return trajectory(...texts.map((text, i) => segment(i % 2 === 0 ? "policy" : "observation", text)));
}

/** A question with its answers. */
export function asks(...answers: string[]) {
  return { id: "q", question: "what?", answers };
}
