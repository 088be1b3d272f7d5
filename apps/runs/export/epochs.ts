/** Counts the attempts at each question, which tells them apart. */
import type { ExportedTrajectory } from "./exported.ts";

/** How often each question came so far. */
export class Epochs {
  readonly #counts = new Map<string, number>();

  /** The next attempt at a question, from 1. */
  next(questionId: string): Pick<ExportedTrajectory, "questionId" | "epoch"> {
    const epoch = (this.#counts.get(questionId) ?? 0) + 1;
    this.#counts.set(questionId, epoch);
    return { questionId, epoch };
  }
}
