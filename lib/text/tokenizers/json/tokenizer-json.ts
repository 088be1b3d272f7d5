/** Hugging Face's tokenizer.json: text -> normaliser -> pieces -> model -> ids, with added tokens and a template. */
import { Tokenizer as Library } from "@huggingface/tokenizers";
import { z } from "zod";
import { SeekError } from "../../../base/errors.ts";
import { type AddedToken, AddedTokenSplitter, addedTokenSchema } from "../added-tokens.ts";
import type { Codec, EncodeParts } from "../codec.ts";
import { type Component, pieceTable } from "./json-decoder.ts";
import { exactPreTokenizer } from "./json-pretokenizer.ts";
import { pairTemplateIds, templateIds } from "./json-template.ts";

const component = z.custom<Component | null>(
  (value) => value === null || (typeof value === "object" && typeof (value as Component).type === "string"),
  "expected null or an object with a type",
);

const model = z.looseObject({
  type: z.enum(["BPE", "WordPiece", "Unigram", "WordLevel"]).optional(),
  unk_token: z.string().nullish(),
  vocab: z.custom<object>((value) => typeof value === "object" && value !== null, "expected a vocabulary"),
});

/** What a tokenizer.json must have; the parts of a component are checked by who builds it. */
export const tokenizerJsonSchema = z.looseObject({
  added_tokens: z.array(addedTokenSchema).default([]),
  normalizer: component.default(null),
  pre_tokenizer: component.default(null),
  model,
  post_processor: component.default(null),
  decoder: component.default(null),
});

type TokenizerJson = z.infer<typeof tokenizerJsonSchema>;

/** The parts of the library's tokenizer that are used: what stands between an added token and the next. */
interface Parts {
  readonly normalizer: ((text: string) => string) | null;
  readonly preTokenizer: ((text: string, options: { section_index: number }) => string[]) | null;
  readonly model: {
    (pieces: string[]): string[];
    readonly tokens_to_ids: ReadonlyMap<string, number>;
    readonly vocab: readonly (string | undefined)[];
    readonly unk_token_id?: number | undefined;
  };
}

function build(json: TokenizerJson): Parts {
  const exact = { ...json, pre_tokenizer: exactPreTokenizer(json.pre_tokenizer) };
  const library = new Library(exact, { unk_token: json.model.unk_token ?? null });
  return {
    normalizer: library.normalizer as Parts["normalizer"],
    preTokenizer: library.pre_tokenizer as Parts["preTokenizer"],
    model: library.model as unknown as Parts["model"],
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
      (content) => this.#normalize(content),
    );
  }

  encode(text: string): number[] {
    const ids: number[] = [];
    let isFirst = true;
    for (const outer of this.#raw.split(text)) {
      const sections = typeof outer === "string" ? this.#normalized.split(this.#normalize(outer)) : [outer];
      for (const section of sections) {
        if (typeof section !== "string") ids.push(section.id);
        else this.#encodeSection(section, isFirst, ids);
        isFirst = false;
      }
    }
    return ids;
  }

  #normalize(text: string): string {
    return this.#parts.normalizer?.(text) ?? text;
  }

  #encodeSection(text: string, isFirst: boolean, ids: number[]): void {
    const { preTokenizer, model } = this.#parts;
    const pieces = preTokenizer?.(text, { section_index: isFirst ? 0 : 1 }) ?? [text];
    for (const token of model(pieces)) ids.push(this.#idOf(token));
  }

  #idOf(token: string): number {
    const id = this.#parts.model.tokens_to_ids.get(token) ?? this.#parts.model.unk_token_id;
    if (id !== undefined) return id;
    throw new SeekError(
      "ERR_ARGUMENT",
      `text: "${token}" is not in the vocabulary, which has no token for unknown`,
    );
  }
}

function codec(json: TokenizerJson): Codec {
  const parts = build(json);
  const specials = json.added_tokens.filter((token) => token.special);
  const encoder = new JsonEncoder(parts, json.added_tokens);
  const plain = new JsonEncoder(
    parts,
    json.added_tokens.filter((token) => !token.special),
  );
  return {
    pieces: pieceTable(json.decoder, parts.model.vocab),
    tokens: parts.model.vocab,
    ids: parts.model.tokens_to_ids,
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
