/** vLLM as a worker: completions by ids, and adapters loaded from a folder that it reads too. */
import { randomBytes } from "node:crypto";
import { SeekError } from "../../../lib/base/errors.ts";
import { mixSeed } from "../../../lib/base/random.ts";
import { Fault } from "../../remote/fault.ts";
import { firstModel } from "./models.ts";
import { completeTokens, completionBody } from "./openai-tokens.ts";
import {
  type SampledTokens,
  type ServerParts,
  type TokenRequest,
  type TokenServer,
  unloadMs,
  type WrittenWeights,
} from "./token-server.ts";

/** Speaks to it. */
export class VllmServer implements TokenServer {
  readonly name: string;
  readonly maxTokens: number | undefined;
  readonly #parts: ServerParts;
  /** Tells the adapters of one training from those of another. */
  readonly #tag = randomBytes(4).toString("hex");
  #loaded: { readonly model: string; readonly version: number } | undefined;

  constructor(parts: ServerParts) {
    this.name = parts.name;
    this.maxTokens = parts.maxTokens;
    this.#parts = parts;
  }

  async sample(request: TokenRequest): Promise<SampledTokens> {
    const { model, eosIds } = this.#parts;
    const loaded = this.#loaded;
    const { seed, ids, temperature } = request;
    const body = {
      ...completionBody(loaded?.model ?? model, request),
      // Its draws follow from the seed alone: each turn has one of its own.
      seed: mixSeed(seed, "turn", ids.length),
      // The ends are the tokenizer's, not those that the server has found in the model's files.
      ...{ ignore_eos: true, stop_token_ids: eosIds },
      ...{ skip_special_tokens: false, spaces_between_special_tokens: false },
    };
    const completed = await completeTokens(this.#parts, body, request).catch((error: unknown) => {
      // The adapter that it names may have given way to the next one on the way.
      if (this.#loaded !== loaded && error instanceof Fault && error.status === 404) return undefined;
      throw error;
    });
    if (completed === undefined) return this.sample(request);
    const { weightsVersion: _, ...told } = completed;
    // Unless it was started with --logprobs-mode processed_logprobs, they are those of temperature 1.
    const isApproximate = temperature !== 0 && temperature !== 1;
    return { ...told, isApproximate, version: loaded?.version };
  }

  async load({ folder, isAdapter, version }: WrittenWeights, signal?: AbortSignal): Promise<void> {
    if (!isAdapter) {
      const remedy = "Remedy: train an adapter (--lora), or declare staleness";
      throw new SeekError("ERR_ARGUMENT", `weights: vLLM takes adapters, got a whole model. ${remedy}`);
    }
    const before = this.#loaded;
    const model = `seekrl-${this.#tag}-${version}`;
    if (before?.model === model) return;
    await firstModel(this.#parts.hasty, signal);
    await this.#post("load_lora_adapter", { lora_name: model, lora_path: folder }, signal);
    this.#loaded = { model, version };
    if (before !== undefined) await this.#unload(before.model);
  }

  async close(): Promise<void> {
    if (this.#loaded !== undefined) await this.#unload(this.#loaded.model);
    this.#loaded = undefined;
  }

  /** One that stays behind costs the server a slot that it takes for the next. */
  async #unload(model: string): Promise<void> {
    const signal = AbortSignal.timeout(unloadMs);
    await this.#post("unload_lora_adapter", { lora_name: model }, signal).catch(() => {});
  }

  async #post(route: string, body: object, signal?: AbortSignal): Promise<void> {
    const { admin } = this.#parts;
    try {
      await admin.text({ url: admin.at("v1", route), body, signal });
    } catch (cause) {
      if (!(cause instanceof Fault) || cause.status !== 404) throw cause;
      const remedy =
        "Remedy: start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1, on a machine that sees the folder";
      throw new SeekError("ERR_REMOTE", `${cause.message}. ${remedy}`, { cause });
    }
  }
}
