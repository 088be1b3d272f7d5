/** The memory stack in words: its rules, what a turn of it can be, and the record of what it did. */

/** What one turn of a memory-stack agent was: its action, or none that could be read. */
export type MemoryActionKind =
  | "plan"
  | "reasoning"
  | "search"
  | "backtrack"
  | "summary"
  | "answer"
  | "invalid";

/** Rules of a memory stack; `Limits.maxTurns` is its greatest number of actions. */
export interface Memory {
  /**
   * How uncertain a thought or an answer is, its state value: the mean entropy of its tokens in nats, or their
   * perplexity after the prompt alone (conditional perplexity, TC-RAG, arXiv 2408.09199). With `none` it is not measured,
   * and no answer is too uncertain: servers of texts give neither.
   */
  readonly stateValue: "entropy" | "cppl" | "none";
  /** An answer whose state value is not below this becomes a thought. */
  readonly sigma: number;
  /** Actions that must come before an answer counts; an earlier one becomes a thought. */
  readonly minActions: number;
  /** What a summary replaces: the frame before it, or every frame down to the last summary or the plan. */
  readonly condenses: "previous" | "all";
  /** What the policy reads after an answer that became a thought; empty for silence. */
  readonly demoted: string;
}

/**
 * Rules to start from: an answer is believed unless its tokens were drawn from very flat distributions.
 *
 * @example
 * const strict = { ...defaultMemory, sigma: 0.4, minActions: 2 };
 * assert.equal(strict.stateValue, "entropy");
 */
export const defaultMemory: Memory = {
  stateValue: "entropy",
  sigma: 1.2,
  minActions: 0,
  condenses: "all",
  demoted: `
That answer does not count yet: it came too early, or is too uncertain. Go on, and answer again later.
`,
};

/** One turn of a memory-stack agent. */
export interface MemoryAction {
  readonly kind: MemoryActionKind;
  /** Its policy segment, counted among all segments of the trajectory. */
  readonly segment: number;
  /** Frames that it removed from the stack. */
  readonly popped: number;
  /** The state value of a thought or an answer. */
  readonly value?: number | undefined;
  /** Set on an answer that became a thought. */
  readonly isDemoted?: true | undefined;
}

/** What a memory-stack agent did, and how many tokens stood in its context. */
export interface MemoryRecord {
  /** One for each turn, in order. */
  readonly actions: readonly MemoryAction[];
  /** The most tokens that were visible at once, prompt included. */
  readonly peakTokens: number;
  /** Tokens visible at the end. */
  readonly finalTokens: number;
  /** Tokens of all segments: what would be visible had nothing been removed. */
  readonly totalTokens: number;
}
