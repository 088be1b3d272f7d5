/** A vocabulary beside the rows of a model's embedding: there may be more rows than tokens, and tokens without a row. */
import { SeekError } from "../../base/errors.ts";
import type { Codec } from "./codec.ts";
import type { DeclaredToken } from "./declared-tokens.ts";

const remedy = "expected an id that the model has a row for";

/** Refuses the ids of a text that the model has no row for, by the token's name. */
function checked(ids: readonly number[], { tokens }: Codec, numRows: number): number[] {
  const beyond = ids.find((id) => id >= numRows);
  if (beyond === undefined) return [...ids];
  throw new SeekError("ERR_RANGE", `text: ${tokens[beyond]}: ${remedy} (0 to ${numRows - 1}), got ${beyond}`);
}

/**
 * A codec for a model: padded rows are ids without a token, and a token without a row is refused where a text has it
 * (Gemma 3 ships one for images with every size).
 *
 * @param codec - of the tokenizer
 * @param declared - tokens that stand beside the tokenizer file alone; of these none may be without a row
 * @param numRows - config.json's `vocab_size`; undefined where there is none
 * @throws ERR_FORMAT naming a declared token without a row
 */
export function withRows(
  codec: Codec,
  declared: readonly DeclaredToken[],
  numRows: number | undefined,
): Codec {
  if (numRows === undefined) return codec;
  for (const { content, from } of declared) {
    const id = codec.ids.get(content) ?? 0;
    if (id < numRows) continue;
    const message = `${from}: ${content}: ${remedy} (0 to ${numRows - 1}), got ${id}`;
    throw new SeekError("ERR_FORMAT", message);
  }
  const pieces = codec.pieces.withRows(numRows);
  if (codec.tokens.length <= numRows) return { ...codec, pieces };
  return { ...codec, pieces, encode: (text, parts) => checked(codec.encode(text, parts), codec, numRows) };
}
