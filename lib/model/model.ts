/** A language model's weights in memory, shared by the engine that generates and the trainer that learns. */

import { resolve } from "node:path";
import type { NativeModel } from "../base/addon/models.ts";
import { native } from "../base/addon/native.ts";
import { checkArgument, checkOptions, countKind } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { type ProcessGroup, processGroupKind } from "../comm/process-group.ts";
import { type DecoderConfig, type DecoderShape, decoderConfig } from "./config/config.ts";
import { configFileOf } from "./config/config-file.ts";
import { checkContext } from "./config/context.ts";
import { readForm, usualDtype } from "./form/model-form.ts";
import { joinFused, splitFused } from "./fused.ts";
import { type SaveOptions, saveKinds, saveModel, type WriteWeights } from "./save.ts";
import { type QuantisedWeights, weightsForms } from "./weights-form.ts";

/** Where weights live and in which form. */
export interface ModelOptions {
  /** On a GPU `bfloat16` alone. @default "float32" on the CPU, "bfloat16" on a GPU */
  readonly dtype?: "float32" | "bfloat16";
  /**
   * Quantises the projections, which are frozen then, and the output head to int8; embeddings, norms and biases stay in `dtype`.
   * CPU only; `plain` leaves them. @default as the folder holds them
   */
  readonly weights?: QuantisedWeights | "plain" | undefined;
  /** `cpu` or `cuda`. @default "cpu" */
  readonly device?: string;
  /**
   * Shares the weights out over the ranks of this group, 2, 4 or 8 that divide the key heads, on GPUs one each. Rank 0 generates, scores and trains,
   * the others call {@link Model.follow}. @default one process holds all
   */
  readonly tensorParallel?: ProcessGroup | undefined;
}

/** How a model's folder is read. */
export interface LoadOptions extends ModelOptions {
  /**
   * Longest sequence that is run, in tokens; a longer one is refused by engine, scores and trainers. It decides how rotary positions of kind `dynamic` and `longrope` are
   * stretched, for sequences of every length alike, so that generation and training agree; with `yarn` it may go beyond
   * the context of config.json, up to the stretched one.
   * @default the context of config.json; with `longrope` the original one
   */
  readonly contextTokens?: number | undefined;
  /**
   * Leaves the numbers in their files until they are needed: a trainer at `zero: 3`, and a critic of the model, read their rank's share
   * alone; whatever else needs them reads all, and throws what loading would. Quantised weights and slices (`tensorParallel`) are read at once.
   * @default false
   */
  readonly isDeferred?: boolean | undefined;
}

/** How a new model's weights are drawn. */
export interface CreateOptions extends ModelOptions {
  /** @default 0 */
  readonly seed?: number;
  /** Standard deviation of the weights. @default 0.02 */
  readonly std?: number;
}

const modelKinds = {
  dtype: ["float32", "bfloat16"],
  weights: weightsForms,
  device: "string",
  tensorParallel: processGroupKind,
} as const;
const loadKinds = { ...modelKinds, contextTokens: countKind, isDeferred: "boolean" } as const;
const createKinds = { ...modelKinds, seed: "number", std: "number" } as const;

interface Parts {
  readonly handle: NativeModel;
  readonly config: DecoderConfig;
  readonly file: Record<string, unknown>;
  readonly dtype: "float32" | "bfloat16";
  readonly device: string;
  readonly weights: QuantisedWeights | undefined;
  readonly folder: string | undefined;
  readonly tensorParallel: ProcessGroup | undefined;
}

/**
 * A decoder-only transformer of the families in docs/models.md.
 *
 * @example
 * await using model = await Model.load("models/qwen2.5-0.5b", { dtype: "float32" });
 * const logprobs = await model.scoreLogprobs(Int32Array.of(40, 29, 31));
 * await using small = await Model.load("models/qwen2.5-0.5b", { weights: "int4" });
 */
export class Model {
  /** The shape. */
  readonly config: DecoderConfig;
  /** The form of the weights in memory. */
  readonly dtype: "float32" | "bfloat16";
  /** Where the weights are: `cpu` or `cuda`. */
  readonly device: string;
  /** How projections and head are quantised; undefined where they are in `dtype`. */
  readonly weights: QuantisedWeights | undefined;
  /** The ranks that share the weights; undefined where this process has all of them. */
  readonly tensorParallel: ProcessGroup | undefined;
  /** What Engine and Trainer take; nothing else should. @internal */
  readonly handle: NativeModel;
  /** config.json as it was read or made, with the keys SeekRL does not use. */
  readonly #file: Record<string, unknown>;
  readonly #origin: { readonly folder: string | undefined; readonly version: number };

  private constructor({ handle, config, file, dtype, device, weights, folder, tensorParallel }: Parts) {
    this.handle = handle;
    this.#origin = { folder, version: handle.weightsVersion() };
    this.config = config;
    this.dtype = dtype;
    this.device = device;
    this.weights = weights;
    this.tensorParallel = tensorParallel;
    this.#file = file;
  }

  /**
   * Loads a Hugging Face model folder, or a GGUF file, whose quantised weights are widened to `dtype`.
   *
   * @param folder holds config.json and model.safetensors, or shards with their index; or the path of a GGUF file
   * @param options dtype, form of the weights, device, longest sequence. Weights stored in f16 are widened exactly, or rounded where `dtype` says
   *   `bfloat16`
   * @returns the model
   * @throws ERR_ARGUMENT for an unknown key or a value of another type; ERR_RANGE for a context beyond the model's and for weights that are not
   *   finite in `dtype`; ERR_IO when a file cannot be read; ERR_FORMAT when one is malformed, names something unsupported, or does
   *   not hold exactly the tensors of config.json; ERR_DEVICE when the device is not there
   */
  static async load(folder: string, options: LoadOptions = {}): Promise<Model> {
    checkArgument("Model.load: folder", folder, "string");
    checkOptions("Model.load", options, loadKinds);
    const { config, dtype, device, weights, json, stored } = await readForm(folder, options);
    const handle = new (native().ModelHandle)();
    const isWhole = weights === undefined && options.tensorParallel === undefined;
    const deferred = options.isDeferred === true && isWhole;
    const form = { dtype, device, weights: weights ?? "plain", deferred };
    await handle.load(config, form, splitFused(stored, config), options.tensorParallel?.handle);
    return new Model({
      ...{ handle, config, dtype, device, weights, tensorParallel: options.tensorParallel },
      file: json as Record<string, unknown>,
      folder: resolve(folder),
    });
  }

  /**
   * Makes a model with random weights: normal matrices, norms at one, biases at zero.
   *
   * @param shape the sizes; see {@link decoderConfig} for what may be left out
   * @param options seed, standard deviation, dtype, form of the weights, device
   * @returns the model; the same seed gives the same weights, which are then quantised
   * @throws ERR_ARGUMENT for sizes that do not fit together, ERR_RANGE for a seed that is not a whole number
   */
  static async create(shape: DecoderShape, options: CreateOptions = {}): Promise<Model> {
    checkOptions("Model.create", options, createKinds);
    const { device = "cpu", dtype = usualDtype(device), seed = 0, std = 0.02 } = options;
    const weights = options.weights === "plain" ? undefined : options.weights;
    if (!Number.isSafeInteger(seed) || seed < 0) {
      throw new SeekError("ERR_RANGE", `seed: expected a whole number, got ${seed}`);
    }
    const config = decoderConfig(shape);
    const handle = new (native().ModelHandle)();
    const drawn = { dtype, device, weights: weights ?? "plain", seed, std };
    await handle.create(config, drawn, options.tensorParallel?.handle);
    const { tensorParallel } = options;
    const form = { config, dtype, device, weights, tensorParallel };
    return new Model({ ...form, handle, file: {}, folder: undefined });
  }

  /** Number of weights; a tied head counts once. @throws ERR_STATE once closed */
  get numParameters(): number {
    const isOwn = ({ name }: { name: string }): boolean =>
      !(this.config.tieEmbeddings && name === "lm_head.weight");
    const sizes = [...this.handle.tensors(), ...this.handle.quantised().filter(isOwn)].map(({ shape }) =>
      shape.reduce((product, size) => product * size, 1),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Bytes of the weights as they are kept, quantised ones in their codes and scales. @throws ERR_STATE once closed */
  get numBytes(): number {
    const plain = this.handle.tensors().map(({ shape }) => numBytesOf(shape, this.dtype));
    const parts = this.handle.quantised().flatMap((each) => each.parts);
    const coded = parts.map(({ shape, dtype }) => numBytesOf(shape, dtype));
    return [...plain, ...coded].reduce((sum, size) => sum + size, 0);
  }

  /** Where the weights stand on the disk, from the root on; undefined where they were changed since, or made. @throws ERR_STATE once closed */
  get folder(): string | undefined {
    const { folder, version } = this.#origin;
    return version === this.weightsVersion ? folder : undefined;
  }

  /** Moves by one with each change of the weights, between steps of the engine only (law 6). @throws ERR_STATE once closed */
  get weightsVersion(): number {
    return this.handle.weightsVersion();
  }

  /**
   * Reads one weight.
   *
   * @param name Hugging Face's name, for example `model.embed_tokens.weight`
   * @returns a copy, row-major; of a quantised weight the numbers that its codes mean
   * @throws ERR_ARGUMENT when no weight has that name; ERR_STATE once closed, and on a rank other than 0
   */
  parameter(name: string): Promise<Float32Array> {
    return this.handle.parameter(name);
  }

  /**
   * Natural logarithm of the probability of each id given those before it.
   *
   * @param ids token ids
   * @returns as many numbers as ids; null for the first, which follows nothing
   * @throws ERR_RANGE for an id outside the vocabulary, for more ids than `contextTokens`, and where a result is not
   *   finite; ERR_STATE once closed, and on a rank other than 0
   */
  async scoreLogprobs(ids: Int32Array): Promise<(number | null)[]> {
    checkContext(this.config, ids.length, "ids");
    if (ids.length === 0) return [];
    return [null, ...(await this.handle.scoreLogprobs(ids, undefined))];
  }

  /**
   * Copies the weights, for a frozen reference or a critic; of a shared model on all ranks, whose `follow` serves the copy too.
   *
   * @returns a model of its own; of a shared one it works as long as the one that it was copied from
   * @throws ERR_STATE once closed
   */
  async clone(): Promise<Model> {
    const { config, dtype, device, weights, folder, tensorParallel } = this;
    const handle = new (native().ModelHandle)();
    await handle.copyFrom(this.handle);
    const form = { config, dtype, device, weights, tensorParallel };
    return new Model({ ...form, handle, file: this.#file, folder });
  }

  /**
   * Writes a Hugging Face model folder: config.json and the weights, each file whole or not at all. What is loaded from
   * it has the same bits when `dtype` is the model's own. The tokenizer is not the model's: copy its files
   * (`tokenizer*`, `special_tokens_map.json`, `generation_config.json`, `chat_template.jinja`) from the folder it was
   * loaded from, or let `seekrl merge` and `seekrl quantize` write the folder, which copy them.
   *
   * @param folder made when missing
   * @param options stored dtype and shard size
   * @throws ERR_IO when the file system refuses; ERR_STATE once closed; ERR_ARGUMENT for a `dtype` other than the model's
   *   own where its weights are quantised, and for a shape that config.json cannot say
   */
  async save(folder: string, options: SaveOptions = {}): Promise<void> {
    checkArgument("model.save: folder", folder, "string");
    checkOptions("model.save", options, saveKinds);
    const { handle } = this;
    // This rank has the folder, so that each file has a path.
    await this.saveBy((path = "", ...file) => handle.write(path, ...file), folder, options);
  }

  /**
   * As `save`, of weights that somebody else has and writes.
   *
   * @param write writes a file
   * @param folder undefined where another rank has it
   * @param options as of `save`
   * @internal
   */
  async saveBy(write: WriteWeights, folder: string | undefined, options: SaveOptions = {}): Promise<void> {
    const { dtype = this.dtype, maxShardBytes = 5e9 } = options;
    if (this.weights !== undefined && dtype !== this.dtype) {
      throw new SeekError(
        "ERR_ARGUMENT",
        `model.save: dtype: expected ${this.dtype}, the model's own: its weights are ${this.weights} and are written so; load the original folder to write another form`,
      );
    }
    // configFileOf writes base and scaling as rope_theta and rope_scaling.
    const { rope_parameters: _, original_max_position_embeddings: __, ...rest } = this.#file;
    const quantization =
      this.weights === undefined
        ? {}
        : { quantization_config: { quant_method: "seekrl", weights: this.weights } };
    const config = { ...rest, ...configFileOf(this.config), ...quantization };
    const quantised = this.handle.quantised().flatMap(({ parts }) => parts);
    const tensors = joinFused([...this.handle.tensors(), ...quantised], this.config);
    await saveModel(write, folder, { config, tensors, dtype, maxShardBytes });
  }

  /**
   * Does this rank's part of whatever rank 0 does with the model, its copies and adapters on it, engines and trainers included, until it
   * closes it there. Nothing else of this process that computes on the device runs meanwhile.
   *
   * @throws ERR_STATE on rank 0, without `tensorParallel` and once closed; ERR_REMOTE naming the rank that is gone
   */
  follow(): Promise<void> {
    return this.handle.follow();
  }

  /** Releases the weights once the work under way is done; on rank 0 the others follow no longer. Idempotent. */
  close(): void {
    this.handle.close();
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

const dtypeBytes = { float32: 4, bfloat16: 2, U8: 1, F16: 2, F32: 4 } as const;

function numBytesOf(shape: readonly number[], dtype: keyof typeof dtypeBytes): number {
  return shape.reduce((product, size) => product * size, dtypeBytes[dtype]);
}
