/** A GGUF file as a model folder: its metadata in the keys of config.json, its tensors under Hugging Face's names. */
import type { NativeStoredTensor } from "../../base/addon/models.ts";
import { expectFormat, formatError } from "../../base/errors.ts";
import { openRegular } from "../../base/files/regular-file.ts";
import { type GgufFile, type GgufTensor, ggufTypes, readGguf } from "../../base/gguf/gguf.ts";
import { GgufMetadata } from "../../base/gguf/gguf-metadata.ts";

/** What {@link readGgufModel} finds. */
interface GgufModel {
  /** As in a config.json. */
  readonly config: Record<string, unknown>;
  readonly tensors: readonly NativeStoredTensor[];
}

interface Kind {
  readonly architecture: string;
  /** Whether rows that rotary positions turn together lie side by side. */
  readonly isPaired: boolean;
}

/** By `general.architecture`. */
const kinds: Readonly<Record<string, Kind>> = {
  llama: { architecture: "LlamaForCausalLM", isPaired: true },
  qwen2: { architecture: "Qwen2ForCausalLM", isPaired: false },
  qwen3: { architecture: "Qwen3ForCausalLM", isPaired: false },
};

const layerNames: Readonly<Record<string, string>> = {
  attn_norm: "input_layernorm",
  attn_q: "self_attn.q_proj",
  attn_k: "self_attn.k_proj",
  attn_v: "self_attn.v_proj",
  attn_output: "self_attn.o_proj",
  attn_q_norm: "self_attn.q_norm",
  attn_k_norm: "self_attn.k_norm",
  ffn_norm: "post_attention_layernorm",
  ffn_gate: "mlp.gate_proj",
  ffn_up: "mlp.up_proj",
  ffn_down: "mlp.down_proj",
};
const outerNames: Readonly<Record<string, string>> = {
  "token_embd.weight": "model.embed_tokens.weight",
  "output_norm.weight": "model.norm.weight",
  "output.weight": "lm_head.weight",
};
/** Divisors of the rotary frequencies, which are no weight. */
const frequencyFactors = "rope_freqs.weight";

/** Keys below the architecture's name that are read, or change nothing. */
const knownKeys = new Set([
  ...["context_length", "embedding_length", "block_count", "feed_forward_length", "vocab_size"],
  ...["attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"],
  ...["attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.dimension_count", "rope.scaling.type"],
  ...["rope.scaling.factor", "rope.scaling.original_context_length", "rope.scaling.finetuned"],
  // Zero where there are none, and refused otherwise.
  ...["expert_count", "expert_used_count"],
]);

/** Files that say in so many words that they are no whole model. */
function checkWhole({ metadata, path }: GgufFile): void {
  const type = metadata.get("general.type") ?? "model";
  if (type !== "model") throw formatError(path, `general.type: expected model, got ${type}`);
  const numFiles = metadata.get("split.count") ?? 0;
  if (typeof numFiles !== "number" || numFiles > 1)
    throw formatError(path, `split.count: expected a whole model, got one of ${numFiles} files; merge them`);
}

function kindOf({ metadata, path }: GgufFile): { name: string; kind: Kind } {
  const name = String(metadata.get("general.architecture"));
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind !== undefined) return { name, kind };
  throw formatError(path, `general.architecture: expected ${Object.keys(kinds).join(", ")}, got ${name}`);
}

/** Before any weight is read: a file of many gigabytes may have one such tensor. */
function checkTypes({ tensors, path }: GgufFile): void {
  const other = tensors.find(({ type }) => !ggufTypes.includes(type));
  if (other === undefined) return;
  throw formatError(
    path,
    `${other.name}: type: expected ${ggufTypes.join(", ")}, got ${other.type}; take a file of this model in one of these, ` +
      "or make one with llama-quantize",
  );
}

/** The architecture's own numbers and texts. @throws ERR_FORMAT for one that could change the computation and is not known here */
function valuesOf(file: GgufFile, name: string): GgufMetadata {
  const prefix = `${name}.`;
  const unknown = [...file.metadata.keys()].find(
    (key) => key.startsWith(prefix) && !knownKeys.has(key.slice(prefix.length)),
  );
  if (unknown === undefined) return new GgufMetadata(file, prefix);
  throw formatError(file.path, `${unknown}: is unknown and could change what the model computes`);
}

async function readFactors(file: GgufFile, tensor: GgufTensor): Promise<number[]> {
  if (tensor.type !== "F32" || tensor.shape.length !== 1)
    throw formatError(
      file.path,
      `${tensor.name}: expected a vector of F32, got ${tensor.type} [${tensor.shape}]`,
    );
  const numBytes = (tensor.shape[0] ?? 0) * 4;
  const handle = await openRegular(file.path);
  try {
    const { size } = await handle.stat();
    expectFormat(
      tensor.offset + numBytes <= size,
      file.path,
      `${tensor.name} ends beyond the file's ${size} bytes`,
    );
    const bytes = Buffer.alloc(numBytes);
    await handle.read(bytes, 0, numBytes, tensor.offset);
    return Array.from({ length: numBytes / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  } finally {
    await handle.close();
  }
}

/** The content of `rope_scaling`. Llama 3's stretching is stored as a divisor of each frequency. */
async function ropeScaling(file: GgufFile, values: GgufMetadata): Promise<Record<string, unknown> | null> {
  // llama.cpp takes a factor without a type for linear (llama-model.cpp), and 0 for none.
  const isScaled = ![0, 1].includes(values.number("rope.scaling.factor") ?? 0);
  const kind = values.text("rope.scaling.type") ?? (isScaled ? "linear" : "none");
  const original_max_position_embeddings = values.number("rope.scaling.original_context_length");
  const factors = file.tensors.find(({ name }) => name === frequencyFactors);
  if (factors !== undefined) {
    if (kind !== "none")
      throw formatError(file.path, `${frequencyFactors}: stands beside rope.scaling.type ${kind}`);
    const divisors = await readFactors(file, factors);
    return {
      rope_type: "longrope",
      ...{ short_factor: divisors, long_factor: divisors, attention_factor: 1 },
      original_max_position_embeddings: values.requireNumber("context_length"),
    };
  }
  if (kind === "none") return null;
  const factor = values.requireNumber("rope.scaling.factor");
  if (kind === "linear") return { rope_type: kind, factor };
  if (kind === "yarn") return { rope_type: kind, factor, original_max_position_embeddings };
  throw formatError(file.path, `rope.scaling.type: expected none, linear or yarn, got ${kind}`);
}

async function configOf(file: GgufFile, name: string, kind: Kind): Promise<Record<string, unknown>> {
  const values = valuesOf(file, name);
  const has = (tensor: string): boolean => file.tensors.some((each) => each.name === tensor);
  const numHeads = values.requireNumber("attention.head_count");
  const headDim =
    values.number("attention.key_length") ?? values.requireNumber("embedding_length") / numHeads;
  for (const key of ["attention.value_length", "rope.dimension_count"]) {
    const size = values.number(key) ?? headDim;
    if (size !== headDim) throw formatError(file.path, `${name}.${key}: expected ${headDim}, got ${size}`);
  }
  if ((values.number("expert_count") ?? 0) > 0)
    throw formatError(file.path, `${name}.expert_count: experts are not supported in GGUF files`);
  const rows = file.tensors.find((tensor) => tensor.name === "token_embd.weight")?.shape[0];
  const vocabSize = values.number("vocab_size") ?? rows;
  if (vocabSize === undefined) throw formatError(file.path, `${name}.vocab_size: is missing`);
  if (vocabSize !== (rows ?? vocabSize))
    throw formatError(
      file.path,
      `${name}.vocab_size: expected ${rows}, the rows of token_embd, got ${vocabSize}`,
    );
  return {
    architectures: [kind.architecture],
    vocab_size: vocabSize,
    hidden_size: values.requireNumber("embedding_length"),
    intermediate_size: values.requireNumber("feed_forward_length"),
    num_hidden_layers: values.requireNumber("block_count"),
    num_attention_heads: numHeads,
    num_key_value_heads: values.number("attention.head_count_kv") ?? numHeads,
    head_dim: headDim,
    max_position_embeddings: values.requireNumber("context_length"),
    rms_norm_eps: values.requireNumber("attention.layer_norm_rms_epsilon"),
    rope_theta: values.number("rope.freq_base") ?? 10_000,
    rope_scaling: await ropeScaling(file, values),
    tie_word_embeddings: !has("output.weight"),
    ...(name !== "qwen2" && { attention_bias: has("blk.0.attn_output.bias") }),
    ...(name === "llama" && { mlp_bias: has("blk.0.ffn_down.bias") }),
  };
}

function hubName(name: string): string {
  const [, layer, part = "", end] = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name) ?? [];
  if (layer === undefined) return outerNames[name] ?? name;
  return Object.hasOwn(layerNames, part) ? `model.layers.${layer}.${layerNames[part]}.${end}` : name;
}

/**
 * Reads what a GGUF file says of its model, as a model folder would.
 *
 * @param path the file
 * @returns config.json's content and the tensors
 * @throws ERR_IO when it cannot be read; ERR_FORMAT when it is malformed, of another architecture, or says something that
 *   could change what the model computes and is not known here
 */
export async function readGgufModel(path: string): Promise<GgufModel> {
  const file = await readGguf(path);
  checkWhole(file);
  const { name, kind } = kindOf(file);
  checkTypes(file);
  const config = await configOf(file, name, kind);
  const pairedHeads = (tensor: string): number | undefined => {
    if (!kind.isPaired) return undefined;
    if (/\.attn_q\./.test(tensor)) return Number(config.num_attention_heads);
    return /\.attn_k\./.test(tensor) ? Number(config.num_key_value_heads) : undefined;
  };
  const tensors = file.tensors
    .filter((tensor) => tensor.name !== frequencyFactors)
    .map(({ name: ggufName, type: dtype, shape, offset }) => {
      return { name: hubName(ggufName), dtype, shape, path, offset, pairedHeads: pairedHeads(ggufName) };
    });
  return { config, tensors };
}
