/** Trajectories as the studio shows them: the list, a group, one of them token by token. */

/** A column that a list of trajectories can be sorted by. `row` is the order of the log. */
export type TrajectorySort = "row" | "step" | "reward" | "em" | "searches" | "turns" | "tokens";

/** Which trajectories. All optional, in the query string; all of them must hold. */
export interface TrajectoryQuery {
  readonly minReward?: number;
  readonly maxReward?: number;
  /** `1` right, `0` wrong, by exact match. */
  readonly em?: 0 | 1;
  /** Names, separated by commas; any of them. */
  readonly stop?: string;
  readonly minSearches?: number;
  readonly maxSearches?: number;
  /** Part of the question's text, whatever its case. */
  readonly text?: string;
  readonly fromStep?: number;
  readonly toStep?: number;
  /** @default "row" */
  readonly sort?: TrajectorySort;
  /** @default "asc" */
  readonly order?: "asc" | "desc";
  /** @default 0 */
  readonly offset?: number;
  /** 1 to 500. @default 100 */
  readonly limit?: number;
}

/** `GET /runs/:run/trajectories`. */
export interface TrajectoryPage {
  /** Changes when the log was cut back: rows mean others then. */
  readonly revision: number;
  /** Trajectories in the log. */
  readonly total: number;
  /** Those that the filters let through: what a virtual list is long. */
  readonly matching: number;
  readonly offset: number;
  readonly rows: readonly TrajectoryRow[];
  /** What filters can be set to, over the whole log. */
  readonly ranges: TrajectoryRanges;
  /** Bytes of the log that were read so far, and all of them: a long log is read in the background. */
  readonly indexedBytes: number;
  readonly totalBytes: number;
}

/** Over a whole log. Rewards are null before the first. */
export interface TrajectoryRanges {
  readonly minReward: number | null;
  readonly maxReward: number | null;
  readonly maxSearches: number;
  readonly firstStep: number;
  readonly lastStep: number;
  readonly stops: readonly { readonly stop: string; readonly count: number }[];
}

/** A line of the list. */
export interface TrajectoryRow {
  /** Its place in the log, from 0. */
  readonly row: number;
  readonly step: number;
  /** `<question>#<sample>`. */
  readonly id: string;
  readonly question: string;
  /** Null without one. */
  readonly answer: string | null;
  /** Null when the reward failed, or there was nothing to compare the rollout with. */
  readonly reward: number | null;
  readonly em: 0 | 1;
  readonly stop: string;
  readonly turns: number;
  readonly searches: number;
  /** Tokens that the policy wrote. */
  readonly tokens: number;
}

/** `GET /runs/:run/trajectories/:row/group`. */
export interface TrajectoryGroup {
  readonly step: number;
  readonly question: string;
  readonly answers: readonly string[];
  /** Of the samples with a reward; null without any. */
  readonly meanReward: number | null;
  readonly samples: readonly TrajectoryDetail[];
}

/** `GET /runs/:run/trajectories/:row`. What a log of an earlier version lacks is absent. */
export interface TrajectoryDetail extends TrajectoryRow {
  readonly revision: number;
  readonly answers: readonly string[];
  /** Why the reward gave none. */
  readonly rewardFailure?: string;
  /** What searches that failed said. */
  readonly failures: readonly string[];
  /** Optimiser steps before it was sampled. */
  readonly weightsVersion: number;
  /** Whether it was learnt from; absent in logs that do not say. */
  readonly isTrained?: boolean;
  /** The mean of its tokens' advantages; absent unless trained. */
  readonly advantage?: number;
  readonly segments: readonly TrajectorySegment[];
  readonly searchRounds: readonly SearchRound[];
  readonly memory?: MemoryView;
  /** Whether segments have tokens, and whether those have pieces (they need the run's tokenizer). */
  readonly hasTokens: boolean;
  readonly hasPieces: boolean;
}

/** Who wrote a segment. */
export type SegmentKind = "prompt" | "policy" | "observation";

/** A run of tokens with one author. */
export interface TrajectorySegment {
  readonly kind: SegmentKind;
  readonly text: string;
  readonly numTokens: number;
  /** Segments that were the context when this one was sampled, by their place; absent: all earlier ones. */
  readonly visible?: readonly number[];
  readonly tokens?: SegmentTokens;
}

/** Arrays of one length, one entry per token. An absent array was not measured. */
export interface SegmentTokens {
  readonly ids: readonly number[];
  /** Texts that join to the segment's; a character of several tokens stands at its last one. */
  readonly pieces?: readonly string[];
  /** Natural log-probability when it was sampled. Policy only. */
  readonly logprobs?: readonly (number | null)[];
  /** The trainer's log-probability less that, before the update; 0 is law 4 at its best. Policy only. */
  readonly gaps?: readonly (number | null)[];
  /** Of the distribution that it was drawn from, nats, by the trainer. Policy only. */
  readonly entropies?: readonly (number | null)[];
  /** Null for a token that is not trained. */
  readonly advantages?: readonly (number | null)[];
  /** Whether the loss sees the token. Absent in logs that do not say. */
  readonly trained?: readonly boolean[];
}

/** One round of searches, or of calls. */
export interface SearchRound {
  readonly queries: readonly {
    readonly text: string;
    /** Best first; absent in logs that do not say, and of a search that failed. */
    readonly hits?: readonly SearchHit[];
  }[];
}

/** What a query found; the text stands in the observation. */
export interface SearchHit {
  /** From 1. */
  readonly rank: number;
  /** Absent for a tool's document. */
  readonly id?: string;
  readonly title: string;
  readonly score?: number;
}

/** What an agent with a memory stack did; see lib/rollout/memory.ts. */
export interface MemoryView {
  readonly actions: readonly {
    readonly kind: string;
    /** Its policy segment. */
    readonly segment: number;
    /** Frames that it removed. */
    readonly popped: number;
    readonly value?: number;
    readonly isDemoted?: true;
    /** Tokens that stood in the context as its turn began. */
    readonly visibleTokens: number;
  }[];
  readonly peakTokens: number;
  readonly finalTokens: number;
  readonly totalTokens: number;
}
