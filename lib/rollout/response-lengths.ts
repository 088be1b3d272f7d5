/** How much a question is expected to cost: what its rollouts wrote when it was last asked. */
import type { Question } from "../data/question.ts";
import type { Trajectory } from "./trajectory.ts";

/** Tokens of the rollouts of questions, as far as this process has seen them. */
export class ResponseLengths {
  readonly #tokens = new Map<string, number>();

  /** Remembers what rollouts came to. */
  add(sampled: readonly { readonly question: Question; readonly trajectory: Trajectory }[]): void {
    for (const { question, trajectory } of sampled) {
      const tokens = trajectory.segments.reduce((sum, segment) => sum + segment.tokens.length, 0);
      this.#tokens.set(question.id, tokens);
    }
  }

  /** Tokens of one of its rollouts; of one that was never asked the mean of those that were. */
  of(question: Question): number {
    const known = this.#tokens.get(question.id);
    if (known !== undefined) return known;
    const sum = [...this.#tokens.values()].reduce((total, tokens) => total + tokens, 0);
    return Math.max(1, sum / Math.max(1, this.#tokens.size));
  }
}
