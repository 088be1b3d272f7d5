/** Finds out which kind of server stands at an address, and speaks to it. */
import { SeekError } from "../../../lib/base/errors.ts";
import { Endpoint, httpUrl } from "../../remote/endpoint.ts";
import { Fault } from "../../remote/fault.ts";
import type { TransportOptions } from "../../remote/guard.ts";
import { bearer, type KeyOptions, optionalKey } from "../../remote/secret.ts";
import { firstModel } from "./models.ts";
import { SeekrlServer } from "./seekrl.ts";
import { SglangServer } from "./sglang.ts";
import type { ServerParts, TokenServer } from "./token-server.ts";
import { VllmServer } from "./vllm.ts";

/** Where a server stands, and how it is asked. */
interface ServerChoice extends KeyOptions {
  readonly url: string;
  /** Requests under way at once. */
  readonly maxConcurrent: number;
  readonly transport?: Omit<TransportOptions, "maxConcurrent"> | undefined;
  readonly eosIds: readonly number[];
  readonly vocabSize: number;
}

const kinds: Readonly<Record<string, new (parts: ServerParts) => TokenServer>> = {
  seekrl: SeekrlServer,
  vllm: VllmServer,
  sglang: SglangServer,
};

/** A turn may take minutes; whoever fails thrice is left for another. */
const patience = { timeoutMs: 300_000, deadlineMs: 900_000, retries: 2 };

/** Whether it is there shows soon. */
const hastyPatience = { timeoutMs: 10_000, deadlineMs: 25_000, retries: 1, maxConcurrent: 4 };

/** Weights of a large model take long to send and to load. */
const weightsPatience = { timeoutMs: 900_000, deadlineMs: 1_800_000, retries: 1, maxConcurrent: 4 };

/**
 * Opens a server.
 *
 * @param choice - where it stands, with or without `/v1`
 * @throws ERR_ARGUMENT for what is no address, for a server of another kind and for a key's variable that is not set; ERR_REMOTE
 *   when it does not answer; ERR_RANGE
 */
export async function openServer(choice: ServerChoice, signal?: AbortSignal): Promise<TokenServer> {
  const { url, maxConcurrent, transport, eosIds, vocabSize, ...key } = choice;
  const root = httpUrl(url);
  root.pathname = root.pathname.replace(/\/(v1\/?)?$/, "");
  const secrets = bearer(optionalKey(key));
  const sampling = new Endpoint(root, secrets, { ...patience, ...transport, maxConcurrent });
  const admin = new Endpoint(root, secrets, weightsPatience);
  const hasty = new Endpoint(root, secrets, hastyPatience);
  const name = root.host;
  const { id: model, owned_by, max_model_len } = await listed(hasty, name, signal);
  const Kind = kinds[owned_by ?? ""];
  if (Kind === undefined) {
    const expected = `a server of ${Object.keys(kinds).join(", ")} (owned_by in /v1/models)`;
    const remedy = "Remedy: vLLM, SGLang or seekrl serve, which tell the ids that they sample";
    throw new SeekError("ERR_ARGUMENT", `worker ${name}: expected ${expected}, got ${owned_by}. ${remedy}`);
  }
  const maxTokens = max_model_len ?? undefined;
  return new Kind({ name, sampling, admin, hasty, model, eosIds, vocabSize, maxTokens });
}

async function listed(endpoint: Endpoint, name: string, signal: AbortSignal | undefined) {
  try {
    return await firstModel(endpoint, signal);
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause;
    const remedy = "Remedy: its address, without a path, and its key";
    throw new SeekError("ERR_REMOTE", `worker ${name}: ${cause.message}. ${remedy}`, { cause });
  }
}
