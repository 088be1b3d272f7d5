/** SGLang as a worker: its own generation by ids, and weights or adapters loaded from a folder that it reads too. */
import { randomBytes } from "node:crypto";
import { SeekError } from "../../../lib/base/errors.ts";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { Fault } from "../../remote/fault.ts";
import { firstModel } from "./models.ts";
import { checkFinish } from "./openai-tokens.ts";
import {
  checkedTokens,
  PushedVersions,
  type SampledTokens,
  type ServerParts,
  type TokenRequest,
  type TokenServer,
  unloadMs,
  type WrittenWeights,
} from "./token-server.ts";

const answer = lazySchema((z) =>
  z.looseObject({
    meta_info: z.looseObject({
      finish_reason: z.looseObject({
        type: z.string(),
        matched: z.union([z.string(), z.number()]).nullish(),
      }),
      prompt_tokens: z.int(),
      weight_version: z.string().nullish(),
      // Log-probability, id, text.
      output_token_logprobs: z.array(z.tuple([z.number().nullable(), z.int()]).rest(z.unknown())).nullish(),
    }),
  }),
);

const done = lazySchema((z) => z.looseObject({ success: z.boolean() }));

/** Speaks to it. */
export class SglangServer implements TokenServer {
  readonly name: string;
  readonly maxTokens: number | undefined;
  readonly #parts: ServerParts;
  readonly #tag = randomBytes(4).toString("hex");
  /** Of whole models. */
  readonly #pushed = new PushedVersions();
  #loaded: { readonly adapter: string | undefined; readonly version: number } | undefined;

  constructor(parts: ServerParts) {
    this.name = parts.name;
    this.maxTokens = parts.maxTokens;
    this.#parts = parts;
  }

  async sample(request: TokenRequest): Promise<SampledTokens> {
    const { sampling, vocabSize } = this.#parts;
    const loaded = this.#loaded;
    const versionOf = this.#pushed.begin("weight_version");
    const asked = sampling.call({
      ...{ url: sampling.at("generate"), body: this.#body(request, loaded?.adapter) },
      ...{ expect: answer(), signal: request.signal },
      judge: (told) => checkFinish(told.meta_info.finish_reason.type),
    });
    const answered = await asked.catch((error: unknown) => {
      // The adapter that it names may have given way to the next one on the way.
      if (this.#loaded !== loaded && error instanceof Fault && error.status === 400) return undefined;
      throw error;
    });
    if (answered === undefined) return this.sample(request);
    const { meta_info } = answered;
    const { finish_reason, prompt_tokens, weight_version, output_token_logprobs } = meta_info;
    if (output_token_logprobs == null)
      throw new SeekError("ERR_REMOTE", "expected output_token_logprobs in meta_info, got none");
    if (prompt_tokens !== request.ids.length) {
      const expected = `the ${request.ids.length} ids of the prompt to be read`;
      throw new SeekError("ERR_REMOTE", `expected ${expected}, got ${prompt_tokens} of them`);
    }
    const isModel = loaded !== undefined && loaded.adapter === undefined && weight_version != null;
    const version = isModel && versionOf ? versionOf(weight_version) : loaded?.version;
    const ids = output_token_logprobs.map(([, id]) => id);
    const logprobs = output_token_logprobs.map(([logprob]) => logprob);
    const { type, matched } = finish_reason;
    return {
      ...checkedTokens({ ids, logprobs }, vocabSize),
      isApproximate: false,
      finish: type === "length" ? "length" : "stop",
      stopText: typeof matched === "string" ? matched : undefined,
      version,
    };
  }

  async load({ folder, isAdapter, version }: WrittenWeights, signal?: AbortSignal): Promise<void> {
    const before = this.#loaded;
    if (before?.version === version) return;
    await firstModel(this.#parts.hasty, signal);
    if (!isAdapter) {
      this.#pushed.add(version);
      const body = { model_path: folder, weight_version: String(version), flush_cache: true };
      await this.#post("update_weights_from_disk", body, signal);
      this.#loaded = { adapter: undefined, version };
      return;
    }
    const adapter = `seekrl-${this.#tag}-${version}`;
    await this.#post("load_lora_adapter", { lora_name: adapter, lora_path: folder }, signal);
    this.#loaded = { adapter, version };
    if (before !== undefined) await this.#unload(before.adapter);
  }

  async close(): Promise<void> {
    await this.#unload(this.#loaded?.adapter);
    this.#loaded = undefined;
  }

  #body({ ids, maxTokens, stop, temperature, topP }: TokenRequest, adapter: string | undefined): object {
    return {
      input_ids: [...ids],
      sampling_params: {
        ...{ max_new_tokens: maxTokens, temperature, top_p: topP, top_k: -1, min_p: 0 },
        ...{ repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
        ...{ stop: stop.length === 0 ? undefined : stop, stop_token_ids: this.#parts.eosIds },
        ...{ skip_special_tokens: false, spaces_between_special_tokens: false, no_stop_trim: true },
      },
      ...{ return_logprob: true, logprob_start_len: -1, lora_path: adapter },
    };
  }

  /** One that stays behind costs the server memory until it sets it aside. */
  async #unload(adapter: string | undefined): Promise<void> {
    if (adapter === undefined) return;
    const signal = AbortSignal.timeout(unloadMs);
    await this.#post("unload_lora_adapter", { lora_name: adapter }, signal).catch(() => {});
  }

  async #post(route: string, body: object, signal?: AbortSignal): Promise<void> {
    const { admin } = this.#parts;
    const said = await admin.call({ url: admin.at(route), body, expect: done(), signal });
    if (said.success) return;
    const remedy =
      "Remedy: a folder that it reads too; for adapters start it with --enable-lora and --max-lora-rank";
    throw new SeekError("ERR_REMOTE", `${route}: ${JSON.stringify(said).slice(0, 300)}. ${remedy}`);
  }
}
