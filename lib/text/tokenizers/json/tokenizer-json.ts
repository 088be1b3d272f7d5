/** Hugging Face's tokenizer.json: text -> normaliser -> pieces -> model -> ids, with added tokens and a template. */
import type { z } from "zod";
import { SeekError } from "../../../base/errors.ts";
import { lazySchema } from "../../../base/on-first-use.ts";
import { type AddedToken, AddedTokenSplitter, addedTokenSchema } from "../added-tokens.ts";
import type { Codec, EncodeParts } from "../codec.ts";
import type { Component } from "./component.ts";
import { pieceTable } from "./json-decoder.ts";
import { buildModel, type JsonModel, modelSchema } from "./json-model.ts";
import { type Normalize, normalizerOf } from "./json-normalizer.ts";
import { type PreTokenize, preTokenizerOf } from "./json-pretokenizer.ts";
import { pairTemplateIds, templateIds } from "./json-template.ts";
import type { Vocabulary } from "./vocabulary.ts";

const component = lazySchema((z) =>
  z.custom<Component | null>(
    (value) => value === null || (typeof value === "object" && typeof (value as Component).type === "string"),
    "expected null or an object with a type",
  ),
);

/** What a tokenizer.json must have; the parts of a component are checked by who builds it. */
export const tokenizerJsonSchema = lazySchema((z) =>
  z.strictObject({
    version: z.literal("1.0").nullish(),
    // A batch's shape: callers cut and pad by themselves.
    truncation: z.unknown().optional(),
    padding: z.unknown().optional(),
    added_tokens: z.array(addedTokenSchema()).default([]),
    normalizer: component().default(null),
    pre_tokenizer: component().default(null),
    model: modelSchema(),
    post_processor: component().default(null),
    decoder: component().default(null),
  }),
);

type TokenizerJson = z.infer<ReturnType<typeof tokenizerJsonSchema>>;

/** What stands between an added token and the next is normalised, cut into pieces, and these into tokens. */
interface Parts {
  readonly normalize: Normalize;
  readonly preTokenize: PreTokenize;
  readonly model: JsonModel;
}

function build(json: TokenizerJson): Parts {
  return {
    normalize: json.normalizer === null ? (text) => text : normalizerOf(json.normalizer),
    preTokenize: json.pre_tokenizer === null ? (piece) => [piece] : preTokenizerOf(json.pre_tokenizer),
    model: buildModel(json.model),
  };
}

class JsonEncoder {
  readonly #parts: Parts;
  readonly #raw: AddedTokenSplitter;
  readonly #normalized: AddedTokenSplitter;

  constructor(parts: Parts, added: readonly AddedToken[]) {
    this.#parts = parts;
    this.#raw = new AddedTokenSplitter(added.filter((token) => !token.normalized));
    this.#normalized = new AddedTokenSplitter(
      added.filter((token) => token.normalized),
      (content) => parts.normalize(content),
    );
  }

  encode(text: string): number[] {
    const ids: number[] = [];
    let isFirst = true;
    for (const outer of this.#raw.split(text)) {
      const sections =
        typeof outer === "string" ? this.#normalized.split(this.#parts.normalize(outer)) : [outer];
      for (const section of sections) {
        if (typeof section !== "string") ids.push(section.id);
        else this.#encodeSection(section, isFirst, ids);
        isFirst = false;
      }
    }
    return ids;
  }

  #encodeSection(text: string, isFirst: boolean, ids: number[]): void {
    const { preTokenize, model } = this.#parts;
    for (const piece of preTokenize({ text, isFirst })) {
      for (const id of model.encode(piece.text)) ids.push(id);
    }
  }
}

/** The reference numbers added tokens by itself, so that an id written otherwise would mean another token there. */
function addTokens(vocabulary: Vocabulary, added: readonly AddedToken[]): void {
  let next = vocabulary.ids.size;
  for (const { content, id } of added) {
    const expected = vocabulary.idOf(content) ?? next;
    if (id !== expected)
      throw new SeekError("ERR_FORMAT", `added_tokens: ${content}: expected id ${expected}, got ${id}`);
    next = Math.max(next, id + 1);
    vocabulary.add(content, id);
  }
}

function codec(json: TokenizerJson): Codec {
  const parts = build(json);
  const { vocabulary } = parts.model;
  addTokens(vocabulary, json.added_tokens);
  const specials = json.added_tokens.filter((token) => token.special);
  const encoder = new JsonEncoder(parts, json.added_tokens);
  const plain = new JsonEncoder(
    parts,
    json.added_tokens.filter((token) => !token.special),
  );
  return {
    pieces: pieceTable(json.decoder, vocabulary.tokens),
    tokens: vocabulary.tokens,
    ids: vocabulary.ids,
    specials: new Map(specials.map((token) => [token.content, token.id])),
    encode: (text, { parseSpecialTokens }: EncodeParts) =>
      (parseSpecialTokens ? encoder : plain).encode(text),
    template: templateIds(json.post_processor),
    pair: pairTemplateIds(json.post_processor),
  };
}

/**
 * Builds a codec from the content of a tokenizer.json.
 *
 * @param path named in errors
 * @throws ERR_FORMAT when a part is unknown or malformed
 */
export function codecFromJson(path: string, json: TokenizerJson): Codec {
  try {
    return codec(json);
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: ${(cause as Error).message}`, { cause });
  }
}
