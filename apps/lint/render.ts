/** A conversation as text in which the trained tokens are marked. */
import type { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";

/** A stretch of tokens that are all trained, or none of them. */
export interface TrainedSpan {
  readonly from: number;
  /** Behind the last one. */
  readonly to: number;
  readonly isTrained: boolean;
  readonly text: string;
}

/**
 * Cuts a sequence where the loss begins and ends to look.
 *
 * @param sequence - tokens and rows
 * @param tokenizer - of its ids
 * @returns stretches in order
 */
export function lossSpans(
  { tokens, rows }: Pick<TrainSequence, "tokens" | "rows">,
  tokenizer: Pick<Tokenizer, "decode">,
): TrainedSpan[] {
  const trained = new Set(Array.from(rows, (row) => row + 1));
  const spans: TrainedSpan[] = [];
  let from = 0;
  for (let to = 1; to <= tokens.length; to += 1) {
    if (to < tokens.length && trained.has(to) === trained.has(from)) continue;
    const text = tokenizer.decode(tokens.subarray(from, to));
    spans.push({ from, to, isTrained: trained.has(from), text });
    from = to;
  }
  return spans;
}

const colours = { trained: "\u001b[1;32m", masked: "\u001b[2m", end: "\u001b[0m" };

/**
 * The stretches as one text.
 *
 * @param spans - of a sequence
 * @param options - `colour` for a terminal; else what is trained stands in ⟦brackets⟧
 * @returns text
 * @example
 * const span = { from: 0, to: 1, isTrained: true, text: "Paris" };
 * assert.equal(spansText([span], { colour: false }), "⟦Paris⟧");
 */
export function spansText(spans: readonly TrainedSpan[], { colour }: { readonly colour: boolean }): string {
  return spans
    .map(({ isTrained, text }) => {
      if (!colour) return isTrained ? `⟦${text}⟧` : text;
      return `${isTrained ? colours.trained : colours.masked}${text}${colours.end}`;
    })
    .join("");
}
