/** SeekRL's own server as a worker: completions by ids, and weights that are sent to it file by file. */
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import { zod } from "../../../lib/base/on-first-use.ts";
import { Fault } from "../../remote/fault.ts";
import { firstModel } from "./models.ts";
import { completeTokens, completionBody } from "./openai-tokens.ts";
import {
  PushedVersions,
  type SampledTokens,
  type ServerParts,
  type TokenRequest,
  type TokenServer,
  type WrittenWeights,
} from "./token-server.ts";

/** Speaks to it. */
export class SeekrlServer implements TokenServer {
  readonly name: string;
  readonly maxTokens: number | undefined;
  readonly #parts: ServerParts;
  readonly #pushed = new PushedVersions();
  #loaded: number | undefined;

  constructor(parts: ServerParts) {
    this.name = parts.name;
    this.maxTokens = parts.maxTokens;
    this.#parts = parts;
  }

  async sample(request: TokenRequest): Promise<SampledTokens> {
    const versionOf = this.#pushed.begin("weights_version");
    // Its draws follow from seed and position, as the engine's do: one seed serves all turns.
    const body = { ...completionBody(this.#parts.model, request), seed: request.seed };
    const { weightsVersion, ...told } = await completeTokens(this.#parts, body, request);
    try {
      return { ...told, isApproximate: false, version: versionOf?.(weightsVersion) };
    } catch (error) {
      // It is given the weights once more where it is tried again.
      this.#loaded = undefined;
      throw error;
    }
  }

  async load({ folder, version }: WrittenWeights, signal?: AbortSignal): Promise<void> {
    const { admin } = this.#parts;
    if (this.#loaded === version) return;
    await firstModel(this.#parts.hasty, signal);
    this.#pushed.add(version);
    const upload = `${version}-${randomBytes(6).toString("hex")}`;
    try {
      for (const file of (await readdir(folder)).filter(isWeights)) {
        const url = admin.at("v1", "weights", upload, file);
        await admin.upload({ url, path: join(folder, file), signal });
      }
      const expect = zod().looseObject({ version: zod().literal(version) });
      await admin.call({ url: admin.at("v1", "weights"), body: { version, upload }, expect, signal });
    } catch (cause) {
      if (!(cause instanceof Fault) || cause.status !== 404) throw cause;
      const remedy = "Remedy: start it with seekrl serve --accept-weights";
      throw new SeekError("ERR_REMOTE", `${cause.message}. ${remedy}`, { cause });
    }
    this.#loaded = version;
  }

  async close(): Promise<void> {}
}

/** What a folder of a model or an adapter holds besides tokenizers and the state of a training. */
function isWeights(file: string): boolean {
  return /^(adapter_)?(config\.json|model(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?)$/.test(file);
}
