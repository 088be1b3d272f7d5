/** Rewards of single tokens of Agentic-RAG-R1: which tokens earned the parts of a reward. */
import type { TextCodec } from "../../rollout/seams.ts";
import type { Spoken } from "../reading.ts";
import type { Reward, TokenReward } from "../reward.ts";
import { type AgenticTurnForm, agenticForm, agenticPoints } from "./agentic-rag.ts";

/**
 * Points for form that were lost, those of each turn spread evenly over its tokens: with 1 for the trajectory they add up
 * to the reward for form. Losses and not gains, so that a group in which all is sound has nothing to compare: a gain that
 * everybody has would be set against the group's deviation, which is nearly 0 there, and drown every other signal.
 *
 * @param options - `selfSearch` lets the policy write observations, `@default` false
 * @returns for each policy token 0 or its share of the loss, below 0
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1, 2), text: "Rome" } as const;
 * assert.deepEqual([...agenticFormTokens()({ ...trajectory, segments: [said] })], [-0.5, -0.5]);
 */
export function agenticFormTokens(
  options: { readonly selfSearch?: boolean } = {},
): (trajectory: Spoken) => Float64Array {
  return (trajectory) => spreadTurns(trajectory, agenticForm(trajectory, options));
}

function spreadTurns({ segments }: Spoken, turns: readonly AgenticTurnForm[]): Float64Array {
  const lostBy = new Map(turns.map(({ segment, lost }) => [segment, lost]));
  return Float64Array.from(
    segments.flatMap(({ kind, tokens }, i) => {
      if (kind !== "policy") return [];
      return new Array<number>(tokens.length).fill(-(lostBy.get(i) ?? 0) / tokens.length);
    }),
  );
}

/** How the original's points fall on tokens. */
interface PointTokensOptions {
  /** Finds out where a token's text begins and ends. */
  readonly tokenizer: Pick<TextCodec, "decode">;
  /** A score of the searches, such as RAGAS's relevance, for the tokens inside of search tags. @default none */
  readonly relevance?: Reward | undefined;
  /**
   * The accuracy, of which the original gives every token the whole. @default none: it falls on the trajectory
   */
  readonly accuracy?: Reward | undefined;
  /** Each token gets the whole score of a part, not its share. @default false */
  readonly faithful?: boolean;
}

/**
 * The original's rewards by token: the points of a tag on the tokens of that tag, those of searches on search tags, those
 * of the answer on answer tags, the relevance on what stands inside of searches. By default a part's tokens share its
 * score, so that all tokens add up to the parts' sum.
 *
 * @param options - tokenizer, further parts, faithfulness
 * @returns for each policy token its reward
 */
export function agenticPointTokens({
  tokenizer,
  relevance,
  accuracy,
  faithful = false,
}: PointTokensOptions): (...args: Parameters<TokenReward>) => Promise<Float64Array> {
  return async (trajectory, question, how) => {
    const ends = policyTokens(trajectory, tokenizer);
    const rewards = new Float64Array(ends.length);
    const give = (score: number, isMeant: (token: PolicyToken) => boolean): void => {
      const meant = ends.flatMap((token, i) => (isMeant(token) ? [i] : []));
      for (const i of meant) rewards[i]! += faithful ? score : score / meant.length;
    };
    for (const { points, tags } of agenticPoints(trajectory, { faithful })) {
      const spans = spansOf(trajectory, (text) => tags.flatMap((tag) => occurrences(text, tag)));
      give(points, (token) => touches(token, spans));
    }
    const insides = spansOf(trajectory, (text) =>
      [...text.matchAll(/<search>[\s\S]*?<\/search>/g)].map(({ 0: all, index }) => [
        index,
        index + all.length,
      ]),
    );
    give((await relevance?.(trajectory, question, how)) ?? 0, (token) => touches(token, insides));
    give((await accuracy?.(trajectory, question, how)) ?? 0, () => true);
    return rewards;
  };
}

/** A policy token, and where its text stands in its segment's text. */
interface PolicyToken {
  readonly segment: number;
  readonly start: number;
  readonly end: number;
}

type Range = readonly [start: number, end: number];

function policyTokens({ segments }: Spoken, tokenizer: Pick<TextCodec, "decode">): PolicyToken[] {
  return segments.flatMap(({ kind, tokens, text }, segment) => {
    if (kind !== "policy") return [];
    let start = 0;
    return tokenEnds(tokens, text, tokenizer).map((end) => {
      const token = { segment, start, end };
      start = end;
      return token;
    });
  });
}

/** Where the text of each token ends. A character of several tokens belongs to the last of them. */
function tokenEnds(tokens: Int32Array, text: string, tokenizer: Pick<TextCodec, "decode">): number[] {
  let end = 0;
  const alone = Array.from(tokens, (_, i) => {
    end += tokenizer.decode(tokens.subarray(i, i + 1)).length;
    return end;
  });
  if (end === text.length && !text.includes("\uFFFD")) return alone;
  return Array.from(tokens, (_, i) => {
    // Bytes that are no character yet are marked at the end.
    return tokenizer.decode(tokens.subarray(0, i + 1)).replace(/\uFFFD+$/, "").length;
  });
}

function spansOf(
  { segments }: Spoken,
  find: (text: string) => readonly Range[],
): ReadonlyMap<number, readonly Range[]> {
  return new Map(segments.map(({ kind, text }, i) => [i, kind === "policy" ? find(text) : []]));
}

function occurrences(text: string, tag: string): Range[] {
  const ranges: Range[] = [];
  for (let at = text.indexOf(tag); at >= 0; at = text.indexOf(tag, at + tag.length)) {
    ranges.push([at, at + tag.length]);
  }
  return ranges;
}

function touches(
  { segment, start, end }: PolicyToken,
  spans: ReadonlyMap<number, readonly Range[]>,
): boolean {
  return (spans.get(segment) ?? []).some(([from, to]) => start < to && end > from);
}
