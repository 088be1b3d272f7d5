/** A trajectory laid out for training: every trained token once, in the context that was visible when it was sampled. */
import { type Segment, trajectoryTokens } from "../../rollout/trajectory.ts";

/** What training reads of a segment. */
export type TrainSegment = Pick<Segment, "kind" | "tokens" | "logprobs" | "versionRuns" | "visible">;

/** Tokens, and which of them are trained. */
interface Layout {
  /** Ids `[T]` of one or several spans, end to end. */
  readonly tokens: Int32Array;
  /** Where each span begins, when there are several. */
  readonly starts?: Int32Array;
  /** Positions `[R]`; row `r` predicts the token behind it. */
  readonly rows: Int32Array;
  /** The segment of each row's predicted token, and its place there, `[R]`. */
  readonly segments: Int32Array;
  readonly places: Int32Array;
}

/**
 * Lays out segments in spans that know nothing of each other. While the context only grows there is one span; behind a
 * pop the next turn begins another, with the context that was left. What was sampled before and is read again there is
 * context: it was trained where it was sampled.
 *
 * @param segments - in the order in which they were said
 * @param isTrained - which of them are rows; a token that opens a span follows nothing and is none
 * @returns rows in the order in which their tokens were said
 */
export function layOut(
  segments: readonly TrainSegment[],
  isTrained: (segment: TrainSegment) => boolean,
): Layout {
  const spans = spansOf(segments);
  const starts: number[] = [];
  const rows: number[] = [];
  const named = { segments: [] as number[], places: [] as number[] };
  const trained = new Set<number>();
  let position = 0;
  for (const span of spans) {
    starts.push(position);
    for (const segment of span) {
      const { length } = segments[segment]!.tokens;
      const isNew = isTrained(segments[segment]!) && !trained.has(segment);
      for (let place = position === starts.at(-1) ? 1 : 0; isNew && place < length; place += 1) {
        rows.push(position + place - 1);
        named.segments.push(segment);
        named.places.push(place);
      }
      trained.add(segment);
      position += length;
    }
  }
  return {
    tokens: trajectoryTokens({ segments: spans.flat().map((segment) => segments[segment]!) }),
    starts: starts.length > 1 ? Int32Array.from(starts) : undefined,
    rows: Int32Array.from(rows),
    segments: Int32Array.from(named.segments),
    places: Int32Array.from(named.places),
  };
}

/** The segments of each span. */
function spansOf(segments: readonly TrainSegment[]): readonly (readonly number[])[] {
  const all = segments.map((_, i) => i);
  if (segments.every(({ visible }) => visible === undefined)) return [all];
  const spans: number[][] = [];
  for (const [i, { kind, tokens, visible }] of segments.entries()) {
    if (kind !== "policy" || tokens.length === 0) continue;
    const context = visible ?? all.slice(0, i);
    const last = spans.at(-1);
    if (last?.every((segment, place) => context[place] === segment)) {
      last.push(...context.slice(last.length), i);
    } else spans.push([...context, i]);
  }
  return spans;
}
