/** A model on the native side with its tokenizer: what encoders and re-rankers share. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Handle } from "../../base/addon/handle.ts";
import { native } from "../../base/addon/native.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { streamOf } from "../../base/files/regular-file.ts";
import { findWeights, readJson } from "../../model/model-folder.ts";
import { Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import { type EncoderKind, namedWeights, parseEncoderConfig } from "./encoder-config.ts";
import { type TokenBatch, type TokenRow, tokenBatches } from "./token-batch.ts";

/** How a model is loaded. */
interface LoadOptions {
  readonly dtype: "float32" | "bfloat16";
  readonly weights: "int8" | undefined;
  readonly device: string;
  readonly pooling: "cls" | "mean" | "last" | "score";
  readonly isNormalised: boolean;
}

/** Tokens handed over at once: several parts for each core, so that all are busy until the end. */
const batchTokens = 4096 * availableParallelism();
/** Batches under way: while one is encoded, the next is tokenized. */
const maxUnderWay = 2;

async function openHandle(folder: string, kind: EncoderKind, given: LoadOptions): Promise<Handle<"encoder">> {
  const options = { ...given, weights: given.weights ?? "plain" };
  const tensors = namedWeights(kind, await findWeights(folder));
  const open = kind.family === "decoder" ? native().encoderOpenDecoder : native().encoderOpen;
  return open(kind.config, options, tensors);
}

/** A loaded model. */
export class NativeEncoder {
  readonly tokenizer: Tokenizer;
  readonly maxTokens: number;
  readonly dim: number;
  readonly #folder: string;
  readonly #handle: Handle<"encoder">;

  private constructor(folder: string, handle: Handle<"encoder">, tokenizer: Tokenizer, maxTokens: number) {
    this.#folder = folder;
    this.#handle = handle;
    this.tokenizer = tokenizer;
    this.maxTokens = maxTokens;
    this.dim = native().encoderDim(handle);
  }

  /**
   * Reads config.json, the tokenizer and the weights of a folder.
   *
   * @throws ERR_RANGE when `maxTokens` is more than the model has positions for; ERR_FORMAT, ERR_IO, ERR_DEVICE
   */
  static async open(
    folder: string,
    options: LoadOptions,
    maxTokensOf: (most: number) => number,
  ): Promise<NativeEncoder> {
    const path = join(folder, "config.json");
    const hasClassifier = options.pooling === "score";
    const kind = parseEncoderConfig(await readJson(path), path, { hasClassifier });
    const maxTokens = maxTokensOf(kind.maxTokens);
    if (!Number.isInteger(maxTokens) || maxTokens < 8 || maxTokens > kind.maxTokens)
      throw new SeekError("ERR_RANGE", `maxTokens: expected 8 to ${kind.maxTokens}, got ${maxTokens}`);
    // RoBERTa's ids are not those of its SentencePiece file, so that file alone would give wrong ones.
    const tokenizer = await Tokenizer.load(
      kind.family === "decoder" ? folder : join(folder, "tokenizer.json"),
    );
    const handle = await openHandle(folder, kind, options);
    return new NativeEncoder(folder, handle, tokenizer, maxTokens);
  }

  /**
   * Encodes items in order.
   *
   * @returns f32 [N, dim]
   * @throws ERR_STATE after close, ERR_ABORTED
   */
  async encode<Item>(
    items: readonly Item[],
    rowOf: (item: Item) => TokenRow,
    signal: AbortSignal | undefined,
  ): Promise<Float32Array> {
    throwIfAborted(signal, "encoder");
    const vectors = new Float32Array(items.length * this.dim);
    const underWay: Promise<void>[] = [];
    let at = 0;
    for await (const batch of tokenBatches(items, rowOf, { maxTokens: batchTokens, signal })) {
      const encoded = this.#encodeInto(vectors, at, batch);
      // Awaited below, or given up when an earlier batch fails or the signal fires.
      encoded.catch(() => undefined);
      underWay.push(encoded);
      at += (batch.starts.length - 1) * this.dim;
      if (underWay.length === maxUnderWay) await underWay.shift();
      throwIfAborted(signal, "encoder");
    }
    await Promise.all(underWay);
    throwIfAborted(signal, "encoder");
    return vectors;
  }

  async #encodeInto(vectors: Float32Array, at: number, batch: TokenBatch): Promise<void> {
    vectors.set(await native().encoderEncode(this.#handle, batch.ids, batch.starts, batch.types), at);
  }

  /** SHA-256 over the folder's config.json, tokenizer and weights, and `settings`. @throws ERR_IO */
  async fingerprint(settings: object): Promise<string> {
    const hash = createHash("sha256").update(JSON.stringify(settings));
    const weights = (await findWeights(this.#folder)).map(({ path }) => path);
    const tokenizers = ["tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"]
      .map((name) => join(this.#folder, name))
      .filter((path) => existsSync(path));
    for (const path of [join(this.#folder, "config.json"), ...tokenizers, ...new Set(weights)]) {
      await pipeline(await streamOf(path, { highWaterMark: 1 << 20 }), hash, { end: false });
    }
    return hash.digest("hex");
  }

  close(): void {
    native().encoderClose(this.#handle);
  }
}
