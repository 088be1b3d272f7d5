/** Trajectories cut into RAG-R1's four kinds of SFT sample (arXiv 2507.02962, section 3.1). */
import { mixSeed } from "../../base/random.ts";
import type { Format } from "../../rollout/formats/format.ts";

/** A piece of a written conversation. */
export interface WrittenSegment {
  readonly kind: "prompt" | "policy" | "observation";
  readonly text: string;
  /** The ids as they were sampled or read, where they are known. */
  readonly tokens?: readonly number[];
  /** Of agents that forget: the segments that were the context of this turn. @default all earlier ones */
  readonly visible?: readonly number[];
}

/** RAG-R1's categories, by number. */
export type SftCategory = 1 | 2 | 3 | 4;

/** What each category teaches. */
export const sftCategories: Readonly<Record<SftCategory, string>> = {
  1: "answer at once",
  2: "search at once",
  3: "answer after search",
  4: "search after search",
};

/** One training sample: what the model reads, and last what it is to write, the only `policy` segment. */
export interface SftSample {
  readonly category: SftCategory;
  readonly segments: readonly WrittenSegment[];
}

/** The samples of one conversation. */
export interface CutConversation {
  readonly samples: readonly SftSample[];
  /** Turns that hold no action: nothing to learn from. They stay in what is read before later turns. */
  readonly numInvalid: number;
}

/**
 * Cuts a conversation at every point where the model must act. Earlier turns become part of what is read, so every turn
 * is trained on once.
 *
 * @param segments - of one trajectory or demonstration
 * @param format - reads the action of a turn
 * @returns one sample per turn with an action
 * @example
 * const said = { kind: "policy", text: "<answer> Oslo </answer>" } as const;
 * const { samples } = sftSamples([{ kind: "prompt", text: "capital of Norway?" }, said], ragFormat("single"));
 * assert.equal(samples[0].category, 1);
 */
export function sftSamples(
  segments: readonly WrittenSegment[],
  format: Pick<Format, "parse" | "mode" | "maxQueries">,
): CutConversation {
  const samples: SftSample[] = [];
  let [hasSearched, numInvalid] = [false, 0];
  for (const [i, segment] of segments.entries()) {
    if (segment.kind !== "policy") continue;
    const { kind } = format.parse(segment.text, format);
    if (kind === "invalid" || kind === "end") numInvalid += 1;
    else samples.push({ category: categoryOf(kind, hasSearched), segments: sampleOf(segments, i) });
    hasSearched ||= kind === "search";
  }
  return { samples, numInvalid };
}

// The paper's agents do nothing but search and answer; what else an agent does stands with its searches.
function categoryOf(kind: string, hasSearched: boolean): SftCategory {
  if (kind === "answer") return hasSearched ? 3 : 1;
  return hasSearched ? 4 : 2;
}

function sampleOf(segments: readonly WrittenSegment[], turn: number): WrittenSegment[] {
  const { visible, ...said } = segments[turn]!;
  const context = visible?.map((place) => segments[place]!) ?? segments.slice(0, turn);
  return [...context.map(asRead), said];
}

function asRead({ visible: _, ...segment }: WrittenSegment): WrittenSegment {
  return segment.kind === "policy" ? { ...segment, kind: "prompt" } : segment;
}

/**
 * At most so many samples of each category, drawn by the seed; their order stays.
 *
 * @param samples - of all categories
 * @param options - `perCategory`: how many, or as many as the rarest category that occurs has; `seed`, `@default` 0
 * @returns some of the samples
 */
export function balancedSamples<Sample extends Pick<SftSample, "category">>(
  samples: readonly Sample[],
  { perCategory, seed = 0 }: { readonly perCategory: number | "rarest"; readonly seed?: number },
): Sample[] {
  const places = samples.map(({ category }, index) => ({ category, index }));
  const groups = ([1, 2, 3, 4] as const)
    .map((category) => places.filter((place) => place.category === category))
    .filter(({ length }) => length > 0);
  const most = perCategory === "rarest" ? Math.min(...groups.map(({ length }) => length)) : perCategory;
  const chosen = new Set(groups.flatMap((group) => drawn(group, most, seed)));
  return samples.filter((_, index) => chosen.has(index));
}

type Place = { readonly category: SftCategory; readonly index: number };

function drawn(places: readonly Place[], count: number, seed: number): number[] {
  const keys = places.map(({ category, index }) => ({ index, key: mixSeed(seed, `${category}`, index) }));
  return keys
    .sort((a, b) => a.key - b.key || a.index - b.index)
    .slice(0, count)
    .map(({ index }) => index);
}
