/** An encoder's shape and the names of its weights, read from Hugging Face's config.json. */
import type { NativeStoredTensor } from "../../base/addon/models.ts";
import { expectFormat } from "../../base/errors.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import { parsed } from "../../base/parsed.ts";
import type { DecoderConfig } from "../../model/config/config.ts";
import { checkKeys } from "../../model/config/config-keys.ts";
import { parseConfig, sizeKeys } from "../../model/config/parse-config.ts";

/** The shape of a BERT or XLM-RoBERTa (native/model/encoders/encoder.h). */
interface EncoderConfig {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  /** Rows of the position table. */
  readonly numPositions: number;
  /** Position of a text's first token. */
  readonly positionOffset: number;
  /** Segments. */
  readonly numTypes: number;
  readonly layerNormEps: number;
  readonly hasClassifier: boolean;
}

/** What config.json describes: an encoder, or a decoder that embeds. */
export type EncoderKind =
  | { readonly family: "bert" | "roberta"; readonly config: EncoderConfig; readonly maxTokens: number }
  | { readonly family: "decoder"; readonly config: DecoderConfig; readonly maxTokens: number };

const encoderFile = lazySchema((z) =>
  z.object({
    ...sizeKeys(),
    type_vocab_size: z
      .number()
      .int()
      .positive()
      .max(2 ** 16),
    layer_norm_eps: z.number().positive(),
    hidden_act: z.string(),
    pad_token_id: z.number().int().nonnegative().nullish(),
    position_embedding_type: z.string().nullish(),
    id2label: z.record(z.string(), z.string()).nullish(),
    quantization_config: z.unknown().optional(),
  }),
);
const anyFile = lazySchema((z) =>
  z.looseObject({
    model_type: z.string(),
    architectures: z.array(z.string()).nullish(),
    is_causal: z.boolean().nullish(),
  }),
);

const families: Readonly<Record<string, "bert" | "roberta" | "decoder">> = {
  bert: "bert",
  roberta: "roberta",
  "xlm-roberta": "roberta",
  llama: "decoder",
  qwen2: "decoder",
  qwen3: "decoder",
};
const decoderNames: Readonly<Record<string, string>> = {
  llama: "LlamaForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
};

function parseEncoder(
  json: unknown,
  from: string,
  family: "bert" | "roberta",
  hasClassifier: boolean,
): EncoderConfig {
  const file = parsed(encoderFile(), json, from);
  expectFormat(file.hidden_act === "gelu", from, `hidden_act: expected gelu, got ${file.hidden_act}`);
  const position = file.position_embedding_type ?? "absolute";
  expectFormat(position === "absolute", from, `position_embedding_type: expected absolute, got ${position}`);
  expectFormat(
    file.quantization_config == null,
    from,
    "quantization_config: quantised weights are not supported",
  );
  checkKeys("encoder", json as object, from);
  const positionOffset = family === "roberta" ? (file.pad_token_id ?? 1) + 1 : 0;
  expectFormat(
    positionOffset < file.max_position_embeddings,
    from,
    `max_position_embeddings: expected more than pad_token_id + 1 (${positionOffset})`,
  );
  const labels = Object.keys(file.id2label ?? { 0: "", 1: "" }).length;
  expectFormat(!hasClassifier || labels === 1, from, `id2label: expected one score, got ${labels} labels`);
  return {
    vocabSize: file.vocab_size,
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    numLayers: file.num_hidden_layers,
    numHeads: file.num_attention_heads,
    numPositions: file.max_position_embeddings,
    positionOffset,
    numTypes: file.type_vocab_size,
    layerNormEps: file.layer_norm_eps,
    hasClassifier,
  };
}

/**
 * Reads the config.json of an encoder or of a decoder that embeds.
 *
 * @param json the parsed file
 * @param from named in error messages
 * @param options `hasClassifier`: read it as a sequence classifier with one output, which re-ranks
 * @returns family, shape and the most tokens of a text
 * @throws ERR_FORMAT for an unknown family, a missing or wrong value, or an option that is not supported
 */
export function parseEncoderConfig(
  json: unknown,
  from: string,
  { hasClassifier = false }: { readonly hasClassifier?: boolean } = {},
): EncoderKind {
  const { model_type, architectures, is_causal } = parsed(anyFile(), json, from);
  const family = Object.hasOwn(families, model_type) ? families[model_type] : undefined;
  expectFormat(
    family !== undefined,
    from,
    `model_type: expected ${Object.keys(families).join(", ")}, got ${model_type}`,
  );
  if (hasClassifier) {
    const name = architectures?.[0] ?? "";
    const isClassifier = family !== "decoder" && name.endsWith("ForSequenceClassification");
    expectFormat(isClassifier, from, `architectures: expected a ForSequenceClassification, got ${name}`);
  }
  if (family === "decoder") {
    expectFormat(
      is_causal !== false,
      from,
      "is_causal: attention to later tokens is not supported in decoders",
    );
    const whole = {
      ...(json as object),
      architectures: [decoderNames[model_type]],
      tie_word_embeddings: true,
    };
    const config = parseConfig(whole, from);
    return { family, config, maxTokens: config.contextTokens };
  }
  const config = parseEncoder(json, from, family, hasClassifier);
  return { family, config, maxTokens: config.numPositions - config.positionOffset };
}

/** Heads of other tasks and buffers, which embeddings do not use. */
const unused = /^(cls\.|lm_head\.|pooler\.|classifier\.|embeddings\.(position_ids|token_type_ids)$)/;

/** The classifier's tensors, by family, in our names. */
const classifierNames: Readonly<Record<"bert" | "roberta", readonly (readonly [RegExp, string])[]>> = {
  bert: [
    [/^pooler\.dense\./, "classifier.dense."],
    [/^classifier\./, "classifier.out."],
  ],
  roberta: [
    [/^classifier\.dense\./, "classifier.dense."],
    [/^classifier\.out_proj\./, "classifier.out."],
  ],
};

function classifierName(name: string, family: "bert" | "roberta"): string | undefined {
  const found = classifierNames[family].find(([pattern]) => pattern.test(name));
  return found && name.replace(found[0], found[1]);
}

/** A tensor's name in BertModel; undefined for one that is not used. */
function encoderName(name: string, kind: EncoderKind & { family: "bert" | "roberta" }): string | undefined {
  const bare = name
    .replace(/^(bert|roberta)\./, "")
    .replace(/LayerNorm\.gamma$/, "LayerNorm.weight")
    .replace(/LayerNorm\.beta$/, "LayerNorm.bias");
  const head = kind.config.hasClassifier ? classifierName(bare, kind.family) : undefined;
  return head ?? (unused.test(bare) ? undefined : bare);
}

/** Embedders are often stored without the `model.` of generators. */
function decoderName(name: string): string {
  return name.startsWith("model.") || name.startsWith("lm_head.") ? name : `model.${name}`;
}

/**
 * Names a folder's tensors as the native side expects them; those of heads that are not used are left out.
 *
 * @param kind what config.json describes
 * @param tensors the folder's
 * @returns the tensors under their canonical names
 */
export function namedWeights(
  kind: EncoderKind,
  tensors: readonly NativeStoredTensor[],
): NativeStoredTensor[] {
  const nameOf = (name: string): string | undefined =>
    kind.family === "decoder" ? decoderName(name) : encoderName(name, kind);
  return tensors.flatMap((tensor) => {
    const name = nameOf(tensor.name);
    return name === undefined ? [] : [{ ...tensor, name }];
  });
}
