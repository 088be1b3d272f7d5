/** Text to vectors by a neural encoder from a Hugging Face folder. */
import { checkArgument, checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import type { Embedder, EmbedOptions } from "./embedder.ts";
import { NativeEncoder } from "./native-encoder.ts";
import { type Pooling, readSentenceFolder, type SentenceSettings } from "./sentence-folder.ts";
import { type TokenRow, textRow } from "./token-batch.ts";

/** What may be said of an encoder beside its folder. */
export interface EncoderOptions {
  /** Form of weights and products; sums stay f32. @default "float32" */
  readonly dtype?: "float32" | "bfloat16";
  /**
   * `int8`: the layers' weights with one scale an output, multiplied with activations in int8; about half the time and
   * memory of bf16. `dtype` is then that of the rest.
   */
  readonly weights?: "int8" | undefined;
  /**
   * `cpu` or `cuda`. On a GPU BERT and RoBERTa have `dtype: "bfloat16"` and heads of width 32, 64, 80,
   * 96, 128 or 256. @default "cpu"
   */
  readonly device?: string;
  /** @default what the folder says; needed when it says nothing */
  readonly pooling?: Pooling;
  /** Vectors of length one. @default what modules.json says; false without it */
  readonly normalise?: boolean;
  /** Put before each query. @default the folder's prompt for queries, or nothing */
  readonly queryPrefix?: string;
  /** Put before each passage. @default the folder's prompt for documents, or nothing */
  readonly passagePrefix?: string;
  /** Tokens of a text, marks included; its end is cut off beyond. @default what the folder says */
  readonly maxTokens?: number;
}

/** What `Encoder.open` takes. */
export const encoderKinds: OptionKinds<EncoderOptions> = {
  dtype: ["float32", "bfloat16"],
  weights: ["int8"],
  device: "string",
  pooling: ["cls", "mean", "last"],
  normalise: "boolean",
  queryPrefix: "string",
  passagePrefix: "string",
  maxTokens: "number",
};

/** What decides an encoder's vectors, beside its folder and the form of its weights. */
export interface EncoderSettings {
  readonly pooling: Pooling;
  readonly normalise: boolean;
  readonly queryPrefix: string;
  readonly passagePrefix: string;
  readonly maxTokens: number;
  readonly lowerCase: boolean;
}

function poolingOf(folder: string, options: EncoderOptions, found: SentenceSettings): Pooling {
  const pooling = options.pooling ?? found.pooling;
  if (pooling !== undefined) return pooling;
  throw new SeekError(
    "ERR_ARGUMENT",
    `${folder}: holds no modules.json that says how to pool; expected the option pooling: cls, mean or last`,
  );
}

/**
 * An encoder: BERT (BGE, E5, MiniLM, Contriever), XLM-RoBERTa, or a decoder that embeds (Qwen3-Embedding). Texts are
 * packed without padding; a text's vector does not depend on the others of its batch.
 *
 * @example
 * await using encoder = await Encoder.open("models/bge-small-en-v1.5", { dtype: "bfloat16" });
 * const vectors = await encoder.embedPassages(["Citibank was founded in 1812."]); // f32 [1, encoder.dim]
 */
export class Encoder implements Embedder {
  /** Width of a vector. */
  readonly dim: number;
  /** What was read from the folder and the options. */
  readonly settings: EncoderSettings;
  readonly #native: NativeEncoder;

  private constructor(encoder: NativeEncoder, settings: EncoderSettings) {
    this.#native = encoder;
    this.dim = encoder.dim;
    this.settings = settings;
  }

  /**
   * Opens a Hugging Face folder, with or without the files of sentence-transformers.
   *
   * @param folder holds config.json, a tokenizer, safetensors, and perhaps modules.json with what it names
   * @param options override what the folder says
   * @returns the encoder, to be closed
   * @throws ERR_ARGUMENT when nothing says how to pool; ERR_FORMAT for a malformed file, an unsupported family or
   *   module, missing or unexpected tensors; ERR_RANGE for `maxTokens`; ERR_IO; ERR_DEVICE, ERR_DTYPE
   *   for a GPU that is not there or a dtype that it has not
   */
  static async open(folder: string, options: EncoderOptions = {}): Promise<Encoder> {
    checkArgument("Encoder.open: folder", folder, "string");
    checkOptions("Encoder.open", options, encoderKinds);
    const { dtype = "float32", weights, device = "cpu" } = options;
    const found = await readSentenceFolder(folder);
    const pooling = poolingOf(folder, options, found);
    const normalise = options.normalise ?? found.isNormalised;
    const encoder = await NativeEncoder.open(
      found.modelFolder,
      { dtype, weights, device, pooling, isNormalised: normalise },
      (most) => options.maxTokens ?? Math.min(most, found.maxTokens ?? most),
    );
    return new Encoder(encoder, {
      pooling,
      normalise,
      queryPrefix: options.queryPrefix ?? found.queryPrefix ?? "",
      passagePrefix: options.passagePrefix ?? found.passagePrefix ?? "",
      maxTokens: encoder.maxTokens,
      lowerCase: found.lowerCase,
    });
  }

  /**
   * Vectors of passages, with the passages' prefix.
   *
   * @param texts passages
   * @param options `signal`: heeded between batches
   * @returns f32 [N, dim], row-major
   * @throws ERR_STATE after close, ERR_ABORTED
   */
  async embedPassages(texts: readonly string[], options: EmbedOptions = {}): Promise<Float32Array> {
    const { signal } = checkOptions("encoder.embedPassages", options, { signal: "signal" });
    return this.#embed(texts, this.settings.passagePrefix, signal);
  }

  /**
   * Vectors of queries, with the queries' prefix.
   *
   * @param texts queries
   * @param options `signal`: heeded between batches
   * @returns f32 [Q, dim], row-major
   * @throws ERR_STATE after close, ERR_ABORTED
   */
  async embedQueries(texts: readonly string[], options: EmbedOptions = {}): Promise<Float32Array> {
    const { signal } = checkOptions("encoder.embedQueries", options, { signal: "signal" });
    return this.#embed(texts, this.settings.queryPrefix, signal);
  }

  /**
   * Vectors of texts that are ids already: nothing is put before or around them.
   *
   * @param texts i32 [T] each, at least one id and at most `settings.maxTokens`
   * @param options `signal`: heeded between batches
   * @returns f32 [N, dim], row-major
   * @throws ERR_RANGE for an id outside of the vocabulary, for no ids and for too many; ERR_STATE after close, ERR_ABORTED
   */
  async embedIds(texts: readonly Int32Array[], options: EmbedOptions = {}): Promise<Float32Array> {
    const { signal } = checkOptions("encoder.embedIds", options, { signal: "signal" });
    for (const [i, ids] of texts.entries()) this.#checkIds(ids, `texts[${i}]`);
    return this.#native.encode(texts, (ids) => ({ ids }), signal);
  }

  /**
   * How much it reads of a text: prefix and marks included, what is cut off not.
   *
   * @param text a passage or a query
   * @param role which of the two
   * @returns number of tokens
   */
  countTokens(text: string, role: "passage" | "query"): number {
    const { passagePrefix, queryPrefix } = this.settings;
    return this.#rowOf(text, role === "query" ? queryPrefix : passagePrefix).ids.length;
  }

  #checkIds(ids: Int32Array, name: string): void {
    const { maxTokens } = this.settings;
    if (ids.length < 1 || ids.length > maxTokens)
      throw new SeekError("ERR_RANGE", `${name}: expected 1 to ${maxTokens} ids, got ${ids.length}`);
    const { vocabSize } = this.#native.tokenizer;
    const wrong = ids.find((id) => id < 0 || id >= vocabSize);
    if (wrong !== undefined)
      throw new SeekError("ERR_RANGE", `${name}: expected ids from 0 to ${vocabSize - 1}, got ${wrong}`);
  }

  #rowOf(text: string, prefix: string): TokenRow {
    const { lowerCase, maxTokens } = this.settings;
    const whole = prefix + text;
    return textRow(this.#native.tokenizer, lowerCase ? whole.toLowerCase() : whole, maxTokens);
  }

  #embed(texts: readonly string[], prefix: string, signal: AbortSignal | undefined): Promise<Float32Array> {
    return this.#native.encode(texts, (text) => this.#rowOf(text, prefix), signal);
  }

  /**
   * Names the encoder by its content: equal for folders that give equal vectors, so that an index can refuse the vectors
   * of another. The form of the weights does not count.
   *
   * @returns 64 hexadecimal digits, from all bytes of the weights
   * @throws ERR_IO when the folder is gone
   */
  fingerprint(): Promise<string> {
    return this.#native.fingerprint(this.settings);
  }

  /** Frees the weights once running work has ended; later calls reject with ERR_STATE. */
  close(): void {
    this.#native.close();
  }

  /** Closes it at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
