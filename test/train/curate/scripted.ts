/** Agents that are right at a known attempt, and count what they are asked. */

import type { Question } from "../../../lib/data/question.ts";
import type { Agent } from "../../../lib/rollout/agents/agent.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";

/** Questions named after a number. */
export function numbered(count: number): Question[] {
  return Array.from({ length: count }, (_, i) => ({ id: `q${i}`, question: `who ${i}?`, answers: ["yes"] }));
}

/** A trajectory that answers. */
export function answering(id: string, answer: string): Trajectory {
  return {
    ...{ id: `${id}#0`, questionId: id, turns: 1, stop: "answer", answer, rounds: 0, queries: [] },
    ...{ invalidActions: 0, failures: 0, weightsVersion: 0 },
    segments: [
      { kind: "prompt", tokens: Int32Array.of(1), text: `${id}?` },
      { kind: "policy", tokens: Int32Array.of(2, 3), text: `<answer> ${answer} </answer>` },
    ],
    timings: { generateMs: 0, searchMs: 0, totalMs: 0 },
  };
}

/** Right for the first time at the attempt that `firstRight` gives for the question's number. */
export function scriptedAgent(firstRight: (number: number) => number, asked: string[] = []): Agent {
  const attempts = new Map<string, number>();
  return async ({ id }) => {
    asked.push(id);
    const attempt = (attempts.get(id) ?? 0) + 1;
    attempts.set(id, attempt);
    return answering(id, attempt >= firstRight(Number(id.slice(1))) ? "yes" : "no");
  };
}

/** The rule of exact match. */
export const isYes = ({ answer }: Trajectory): boolean => answer === "yes";
