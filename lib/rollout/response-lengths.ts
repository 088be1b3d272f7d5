/** How much a question is expected to cost: what its rollouts wrote when it was last asked. */
import type { Question } from "../data/question.ts";
import type { Trajectory } from "./trajectory.ts";

/** A rollout and the question that it answers. */
interface Answered {
  readonly question: Question;
  readonly trajectory: Trajectory;
}

const written = ({ segments }: Trajectory): number =>
  segments.reduce((sum, { kind, tokens }) => sum + (kind === "policy" ? tokens.length : 0), 0);

/** Tokens that the policy wrote in the rollouts of questions, as far as this process has seen them. */
export class ResponseLengths {
  readonly #tokens = new Map<string, number>();
  readonly #ofSteps = new Map<number, (readonly Answered[])[]>();

  /** Remembers a question's rollouts in a step. */
  add(step: number, group: readonly Answered[]): void {
    this.#ofSteps.set(step, [...(this.#ofSteps.get(step) ?? []), group]);
  }

  /**
   * What questions are expected to cost by the rollouts of the steps before one. Ranks that share questions out by it must have
   * those of the same steps: when later ones come is a matter of time.
   *
   * @param step - no earlier than any that was asked for before
   * @returns tokens of one rollout of a question; of one that was never asked the mean of those that were
   */
  before(step: number): (question: Question) => number {
    const past = [...this.#ofSteps].filter(([number]) => number < step).sort(([a], [b]) => a - b);
    for (const [number, groups] of past) {
      this.#ofSteps.delete(number);
      for (const group of groups) this.#take(group);
    }
    const known = new Map(this.#tokens);
    const mean = [...known.values()].reduce((sum, tokens) => sum + tokens, 0) / Math.max(1, known.size);
    return ({ id }) => Math.max(1, known.get(id) ?? mean);
  }

  #take(group: readonly Answered[]): void {
    const tokens = group.reduce((sum, { trajectory }) => sum + written(trajectory), 0);
    if (group[0] !== undefined) this.#tokens.set(group[0].question.id, tokens / group.length);
  }
}
