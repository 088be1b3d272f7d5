/** Hugging Face's tokenizer.json: text -> normaliser -> pieces -> model -> ids, with added tokens and a template. */
import type { z } from "zod";
import { SeekError } from "../../../base/errors.ts";
import { lazySchema } from "../../../base/on-first-use.ts";
import { type AddedToken, AddedTokenSplitter, addedTokenSchema } from "../added-tokens.ts";
import type { Codec, EncodeParts } from "../codec.ts";
import type { DeclaredToken } from "../declared-tokens.ts";
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

/**
 * Adds the tokens of tokenizer.json, then those that are declared beside it. The reference numbers them by itself, so that an
 * id written otherwise would mean another token there.
 *
 * @returns all, each once
 */
function addTokens(
  vocabulary: Vocabulary,
  own: readonly AddedToken[],
  declared: readonly DeclaredToken[],
): AddedToken[] {
  const tokens = new Map<string, AddedToken>();
  let next = vocabulary.ids.size;
  const listed = own.map((token) => ({ ...token, from: "added_tokens" }));
  for (const { from, id, ...token } of [...listed, ...declared]) {
    const { content } = token;
    const expected = vocabulary.idOf(content) ?? next;
    if (id !== undefined && id !== expected)
      throw new SeekError("ERR_FORMAT", `${from}: ${content}: expected id ${expected}, got ${id}`);
    next = Math.max(next, expected + 1);
    vocabulary.add(content, expected);
    const known = tokens.get(content);
    // Named again without an id it stays as it is; what was special once stays so.
    if (known === undefined) tokens.set(content, { ...token, id: expected });
    else if (id !== undefined)
      tokens.set(content, { ...token, id: expected, special: known.special || token.special });
  }
  return [...tokens.values()];
}

function codec(json: TokenizerJson, declared: readonly DeclaredToken[]): Codec {
  const parts = build(json);
  const { vocabulary } = parts.model;
  const added = addTokens(vocabulary, json.added_tokens, declared);
  const specials = added.filter((token) => token.special);
  const encoder = new JsonEncoder(parts, added);
  const plain = new JsonEncoder(
    parts,
    added.filter((token) => !token.special),
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
 * @param declared tokens of the files beside it
 * @throws ERR_FORMAT when a part is unknown or malformed, or a token has an id that it does not get
 */
export function codecFromJson(
  path: string,
  json: TokenizerJson,
  declared: readonly DeclaredToken[] = [],
): Codec {
  try {
    return codec(json, declared);
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: ${(cause as Error).message}`, { cause });
  }
}
