/** Cross-encoder re-ranking: query and passage are read together and give one score. */
import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { NativeEncoder } from "./native-encoder.ts";
import { readSentenceFolder } from "./sentence-folder.ts";
import { pairRow } from "./token-batch.ts";

/** What may be said of a re-ranker beside its folder. */
export interface RerankerOptions {
  /** Form of weights and products; sums stay f32. @default "float32" */
  readonly dtype?: "float32" | "bfloat16";
  /**
   * `int8`: the layers' weights with one scale an output, multiplied with activations in int8; about half the time and
   * memory of bf16. `dtype` is then that of the rest.
   */
  readonly weights?: "int8" | undefined;
  /** `cpu` or `cuda`, as for encoders. @default "cpu" */
  readonly device?: string | undefined;
  /** Tokens of query and passage together, marks included; the longer loses its end. @default what the folder says */
  readonly maxTokens?: number;
}

/**
 * A cross-encoder of the BERT or XLM-RoBERTa family with one output (BGE-reranker, MS MARCO MiniLM).
 *
 * @example
 * await using reranker = await Reranker.open("models/bge-reranker-base");
 * const [first, second] = await reranker.score("who founded Citibank?", ["Citibank was founded in 1812.", "A river."]);
 */
export class Reranker {
  readonly #native: NativeEncoder;

  private constructor(encoder: NativeEncoder) {
    this.#native = encoder;
  }

  /**
   * Opens the folder of a ForSequenceClassification with one output.
   *
   * @param folder holds config.json, a tokenizer and safetensors
   * @param options dtype, form of the weights, device, longest pair
   * @returns the re-ranker, to be closed
   * @throws ERR_FORMAT for another architecture, a malformed file, missing or unexpected tensors; ERR_RANGE; ERR_IO
   */
  static async open(folder: string, options: RerankerOptions = {}): Promise<Reranker> {
    checkArgument("Reranker.open: folder", folder, "string");
    checkOptions("Reranker.open", options, {
      dtype: ["float32", "bfloat16"],
      weights: ["int8"],
      device: "string",
      maxTokens: "number",
    });
    const { dtype = "float32", weights, device = "cpu", maxTokens } = options;
    const found = await readSentenceFolder(folder);
    const encoder = await NativeEncoder.open(
      found.modelFolder,
      { dtype, weights, device, pooling: "score", isNormalised: false },
      (most) => maxTokens ?? Math.min(most, found.maxTokens ?? most),
    );
    return new Reranker(encoder);
  }

  /**
   * Scores passages against a query.
   *
   * @param query the question
   * @param passages texts
   * @param options `signal`: heeded between batches
   * @returns f32 [N]: the model's raw outputs, without a sigmoid; higher is better
   * @throws ERR_STATE after close, ERR_ABORTED; ERR_FORMAT when the tokenizer has no form for two texts
   */
  score(
    query: string,
    passages: readonly string[],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Float32Array> {
    return this.scorePairs(
      passages.map((passage) => [query, passage] as const),
      options,
    );
  }

  /**
   * Scores pairs of query and passage, of many queries at once.
   *
   * @param pairs query and passage
   * @param options `signal`: heeded between batches
   * @returns f32 [N], as {@link Reranker.score}
   * @throws ERR_STATE after close, ERR_ABORTED
   */
  async scorePairs(
    pairs: readonly (readonly [string, string])[],
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Float32Array> {
    const { signal } = checkOptions("reranker.scorePairs", options, { signal: "signal" });
    const { tokenizer, maxTokens } = this.#native;
    return this.#native.encode(pairs, (pair) => pairRow(tokenizer, pair, maxTokens), signal);
  }

  /**
   * How much it reads of a query and a passage: marks included, what is cut off not.
   *
   * @param query the question
   * @param passage a text
   * @returns number of tokens
   * @throws ERR_FORMAT when the tokenizer has no form for two texts
   */
  countTokens(query: string, passage: string): number {
    const { tokenizer, maxTokens } = this.#native;
    return pairRow(tokenizer, [query, passage], maxTokens).ids.length;
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
