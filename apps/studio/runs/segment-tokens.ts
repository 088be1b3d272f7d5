/** The tokens of a logged segment, one by one: ids, texts, and what each was worth. */
import { unpackFloats, unpackIds } from "../../../lib/data/logs/packed-numbers.ts";
import { newTextDecoder, PieceJoiner } from "../../../lib/text/tokenizers/pieces.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { LoggedSegment } from "../../runs/trajectories/logged-trajectory.ts";
import type { SegmentTokens, TrajectorySegment } from "../api.ts";

/** A segment as the page shows it; one of a log without tokens has its text alone. */
export function segmentView(segment: LoggedSegment, tokenizer: Tokenizer | undefined): TrajectorySegment {
  const { kind, text, tokens: numTokens, visible, ids } = segment;
  const view = { kind, text, numTokens, ...(visible && { visible }) };
  return ids === undefined ? view : { ...view, tokens: tokensOf(segment, unpackIds(ids), tokenizer) };
}

function tokensOf(segment: LoggedSegment, ids: Int32Array, tokenizer: Tokenizer | undefined): SegmentTokens {
  const column = (name: "logprobs" | "gaps" | "entropies" | "advantages") => {
    const packed = segment[name];
    return packed === undefined ? undefined : numbersOf(unpackFloats(packed, ids.length));
  };
  const advantages = column("advantages");
  const pieces = tokenizer && piecesOf(ids, tokenizer);
  const columns = {
    ...{ pieces, logprobs: column("logprobs"), gaps: column("gaps"), entropies: column("entropies") },
    advantages,
    trained: advantages?.map((value) => value !== null),
  };
  const known = Object.entries(columns).filter(([, values]) => values !== undefined);
  return { ids: [...ids], ...Object.fromEntries(known) };
}

/** JSON has no NaN: what is not there is null. */
function numbersOf(values: Float32Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isFinite(value) ? value : null));
}

/** The text of each token; bytes of a character that is not whole yet stand at its last token. */
function piecesOf(ids: Int32Array, tokenizer: Tokenizer): string[] | undefined {
  if (ids.some((id) => id < 0 || id >= tokenizer.vocabSize)) return undefined;
  const [joiner, decoder] = [new PieceJoiner(tokenizer.pieces), newTextDecoder()];
  return Array.from(ids, (id, i) => decoder.decode(joiner.next(id), { stream: i + 1 < ids.length }));
}
