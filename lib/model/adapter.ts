/** LoRA adapters: few trained numbers beside a model's weights, which stay as they are. */
import { join } from "node:path";
import type { NativeAdapter } from "../base/addon/models.ts";
import { native } from "../base/addon/native.ts";
import { checkArgument, checkOptions } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { writeFileAtomic } from "../base/files/files.ts";
import { pinnedModel } from "../base/files/hub-cache.ts";
import { replaceFiles } from "../base/files/replace-files.ts";
import { allProjections, projectionsOf, refuseModules } from "./adapter-targets.ts";
import { baseNote } from "./base-form.ts";
import type { DecoderConfig } from "./config/config.ts";
import { checkContext } from "./config/context.ts";
import { checkTargets, defaultRank } from "./form/adapter-size.ts";
import { type AdapterShape, type LoraOptions, loraKinds, scaleText } from "./form/lora-options.ts";
import { shortTargets, targetProjections } from "./form/target-modules.ts";
import { areModules, moduleNames, splitFusedPairs } from "./fused.ts";
import type { Model } from "./model.ts";
import {
  adapterConfigFile,
  adapterFile,
  type PeftConfig,
  peftConfigText,
  readPeftConfig,
} from "./peft-config.ts";
import { readSafetensorsHeader, safetensorsHeader } from "./safetensors.ts";

interface Parts {
  readonly handle: NativeAdapter;
  readonly model: Model;
  readonly config: PeftConfig;
  readonly targets: readonly string[] | "all-linear";
  /** Whether the numbers are those that {@link Adapter.create} draws. */
  readonly isDrawn: boolean;
}

/**
 * A LoRA adapter (arXiv 2106.09685) on a model: `y = x W' + b + scale (x A') B'` in each projection that it is put on. Any
 * number of adapters share one model; an engine runs sequences of different ones in one step, and a trainer changes the
 * adapter's numbers alone. Everything that takes a model as a policy takes an adapter.
 *
 * @example
 * await using adapter = await Adapter.create(model, { rank: 8, targets: ["q_proj", "v_proj"] });
 * await using trainer = await Trainer.open(adapter);
 * await using engine = await Engine.open(adapter, { tokenizer });
 * const tuned = engine.open(tokenizer.encode("2 + 2 ="));
 * const plain = engine.open(tokenizer.encode("2 + 2 ="), { adapter: false });
 * await adapter.save("runs/adapter");
 */
export class Adapter {
  /** The model that it is put on; the caller's to close. */
  readonly model: Model;
  /** Rank, scale and targets. */
  readonly shape: AdapterShape;
  /** What Engine and Trainer take; nothing else should. @internal */
  readonly handle: NativeAdapter;
  readonly #config: PeftConfig;
  readonly #isDrawn: boolean;

  private constructor({ handle, model, config, targets, isDrawn }: Parts) {
    this.handle = handle;
    this.model = model;
    this.#config = config;
    this.#isDrawn = isDrawn;
    const { rank, alpha, rankStabilised } = config;
    const names = targets === "all-linear" ? projectionsOf(handle) : targets;
    this.shape = { rank, alpha, rankStabilised, targets: [...new Set(names)].sort() };
  }

  /**
   * Makes an adapter that changes nothing yet: A is uniform in `+-1/sqrt(width)`, as peft draws it, and B is zero.
   *
   * @param model - what it is put on
   * @param options - see {@link LoraOptions}
   * @returns the adapter, to be closed; the same seed gives the same numbers
   * @throws ERR_ARGUMENT for an unknown key or a target that the model has not; ERR_RANGE for a number that cannot be one
   *   and a rank above the widest projection; ERR_STATE when the model is closed
   */
  static async create(model: Model, options: LoraOptions = {}): Promise<Adapter> {
    checkOptions("Adapter.create", options, loraKinds);
    const {
      rank = defaultRank,
      alpha = 2 * rank,
      targets = "all-linear",
      rankStabilised = false,
      seed = 0,
    } = options;
    const config = { rank, alpha, rankStabilised, dropout: 0, base: undefined };
    return Adapter.#make(model, config, { targets, seed });
  }

  /**
   * Loads a folder of Hugging Face's peft, or of {@link Adapter.save}. A fused module's pair (Phi-3's `qkv_proj` and
   * `gate_up_proj`) becomes one of each part.
   *
   * @param model - what it is put on
   * @param folder - holds adapter_config.json and adapter_model.safetensors
   * @returns the adapter, to be closed
   * @throws ERR_IO when a file cannot be read; ERR_FORMAT when one is malformed, belongs to another model, or asks for
   *   something other than plain LoRA, which is named; ERR_ARGUMENT for a target that the model has not; ERR_RANGE when a
   *   number is not finite, and for a rank above the widest projection
   */
  static async load(model: Model, folder: string): Promise<Adapter> {
    checkArgument("Adapter.load: folder", folder, "string");
    const { rules, ...config } = await readPeftConfig(folder);
    const projections = await allProjections(model.handle);
    const modules = new Map(projections.map((name) => [name, moduleNames(name, model.config)]));
    const found = targetProjections(rules, modules, join(folder, adapterConfigFile));
    const targets = shortTargets(found, projections, rules);
    const adapter = await Adapter.#make(model, config, { targets, seed: 0 });
    try {
      await adapter.read(folder);
    } catch (error) {
      adapter.close();
      throw error;
    }
    return adapter;
  }

  static async #make(
    model: Model,
    config: PeftConfig,
    { targets, seed }: Pick<Parts, "targets"> & { readonly seed: number },
  ): Promise<Adapter> {
    const { rank, alpha, rankStabilised } = config;
    const handle = new (native().AdapterHandle)();
    if (targets !== "all-linear") checkTargets(model.config, targets);
    const names = targets === "all-linear" ? [targets] : [...targets];
    await handle.create(model.handle, { rank, alpha, rankStabilised, targets: names, seed });
    return new Adapter({ handle, model, config, targets, isDrawn: true });
  }

  /** The model's shape. */
  get config(): DecoderConfig {
    return this.model.config;
  }

  /** The form of the model's weights; the adapter's numbers are f32. */
  get dtype(): Model["dtype"] {
    return this.model.dtype;
  }

  /** Number of its numbers, which is what a trainer of it changes. @throws ERR_STATE once closed */
  get numParameters(): number {
    const sizes = this.handle.tensors().map(({ shape: [rows = 0, columns = 0] }) => rows * columns);
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Whether nothing was trained or read into it yet, so that it changes nothing. @throws ERR_STATE once closed @internal */
  get isNew(): boolean {
    return this.#isDrawn && this.handle.version() === 0;
  }

  /** Moves by one with each change of the adapter or of the model's weights, between steps of the engine only (law 6). @throws ERR_STATE once closed */
  get weightsVersion(): number {
    return this.model.weightsVersion + this.handle.version();
  }

  /**
   * Reads one tensor.
   *
   * @param name - peft's name, for example `base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight`
   * @returns a copy, row-major
   * @throws ERR_ARGUMENT when no tensor has that name; ERR_STATE once closed
   */
  async parameter(name: string): Promise<Float32Array> {
    return await this.handle.parameter(name);
  }

  /**
   * Natural logarithm of the probability of each id given those before it, with the adapter on.
   *
   * @param ids - token ids
   * @returns as many numbers as ids; null for the first, which follows nothing
   * @throws ERR_RANGE for an id outside the vocabulary, and for more ids than `contextTokens`; ERR_STATE once closed
   */
  async scoreLogprobs(ids: Int32Array): Promise<(number | null)[]> {
    checkContext(this.config, ids.length, "ids");
    if (ids.length === 0) return [];
    return [null, ...(await this.model.handle.scoreLogprobs(ids, this.handle))];
  }

  /**
   * Copies the adapter's numbers, for a frozen reference or a critic; the model is shared.
   *
   * @returns an adapter of its own
   * @throws ERR_STATE once closed
   */
  async clone(): Promise<Adapter> {
    const handle = new (native().AdapterHandle)();
    await handle.copyFrom(this.model.handle, this.handle);
    const { model, isNew: isDrawn } = this;
    return new Adapter({ handle, model, config: this.#config, targets: this.shape.targets, isDrawn });
  }

  /**
   * Replaces the numbers by those of a folder, in place: sequences that use the adapter go on with them.
   *
   * @param folder - an adapter of the same shape
   * @throws ERR_IO when a file cannot be read; ERR_FORMAT when the shape is another one; ERR_RANGE when a number is not
   *   finite; ERR_STATE once closed. What is refused changes nothing
   */
  async read(folder: string): Promise<void> {
    const path = join(folder, adapterFile);
    const { rank, alpha, rankStabilised } = await readPeftConfig(folder);
    const { shape } = this;
    if (rank !== shape.rank || alpha !== shape.alpha || rankStabilised !== shape.rankStabilised) {
      const [own, other] = [shape, { rank, alpha, rankStabilised }].map(scaleText);
      throw new SeekError("ERR_FORMAT", `${folder}: expected an adapter of ${own}, got ${other}`);
    }
    const stored = splitFusedPairs(await readSafetensorsHeader(path), this.config);
    refuseModules(stored, this.handle, path);
    await this.handle.read(stored);
  }

  /**
   * Writes a folder that Hugging Face's peft and SeekRL both read, all of it or nothing. Where projections of
   * the adapter are no modules of transformers' model (Phi-3's fused ones, experts), peft refuses the folder by its
   * `peft_type`: {@link Adapter.merge} and save the model for other programs. The form of the model (`dtype`, `weights`)
   * is noted beside the tensors, and the commands load it so again.
   *
   * @param folder - made when missing
   * @throws ERR_IO when the file system refuses; ERR_RANGE when a number is not finite; ERR_STATE once closed
   */
  async save(folder: string): Promise<void> {
    checkArgument("adapter.save: folder", folder, "string");
    const header = safetensorsHeader(this.handle.tensors(), "F32", await baseNote(this.model));
    const config = { ...this.#config, targets: this.shape.targets, ...this.#base() };
    const names = this.handle.tensors().map(({ name }) => name);
    const text = peftConfigText(config, { isForPeft: areModules(names, this.config) });
    await replaceFiles(folder, {
      opener: adapterConfigFile,
      write: async (staging) => {
        await this.handle.write(join(staging, adapterFile), header);
        await writeFileAtomic(join(staging, adapterConfigFile), text);
      },
      isOld: (name) => /^adapter_model\.(safetensors|bin)$/.test(name),
    });
  }

  /** A model of the hub by its name there, which holds on every machine. */
  #base(): Partial<Pick<PeftConfig, "base" | "revision">> {
    const { folder } = this.model;
    if (folder === undefined) return {};
    const pinned = pinnedModel(folder);
    return pinned === undefined
      ? { base: folder, revision: undefined }
      : { base: pinned.id, revision: pinned.commit };
  }

  /**
   * Adds the adapter to the model's weights, for good: the model alone then computes what it did with the adapter on, to
   * rounding. Close the adapter then, or it counts twice.
   *
   * @throws ERR_STATE once closed, and while the model is trained
   */
  async merge(): Promise<void> {
    await this.handle.mergeInto(this.model.handle);
  }

  /** @throws ERR_ARGUMENT for an adapter that asks to be trained in a way that SeekRL does not. @internal */
  checkTrainable(): void {
    const { dropout } = this.#config;
    if (dropout === 0) return;
    const remedy = `set lora_dropout to 0 in its ${adapterConfigFile}`;
    throw new SeekError("ERR_ARGUMENT", `adapter: lora_dropout ${dropout} is not supported: ${remedy}`);
  }

  /** Releases its numbers once the work under way is done; sequences that use it keep them. Idempotent. */
  close(): void {
    this.handle.close();
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
