/** vLLM and SGLang in the forms in which they answer, over the engine of a test's model. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { Span } from "../../../lib/engine/span.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { readWeights } from "../../../lib/model/read-weights.ts";
import type { localWorld } from "./served-worker.ts";

type World = Awaited<ReturnType<typeof localWorld>>;
type Body = Readonly<Record<string, unknown>>;

/** A request as it came. */
interface Asked {
  readonly path: string;
  readonly body: Body;
}

/** What is served at a path; a status in place of an answer. */
type Reply = object | string | { readonly status: number; readonly said: object };

/** A fake on a port of its own. */
export interface FakeServer {
  readonly url: string;
  readonly name: string;
  readonly asked: Asked[];
  /** In place of what it would answer, while it is set. */
  broken: ((asked: Asked) => Reply | undefined) | undefined;
  /** Answers wait for it. */
  hold: Promise<void> | undefined;
}

interface FakeOptions {
  /** Tokens that are sampled behind a stop string, as several tokens a step are. @default 0 */
  readonly extraTokens?: number;
  /** @default the model's */
  readonly maxModelLen?: number;
  /** Whether adapters are loaded at run time. @default true */
  readonly takesAdapters?: boolean;
}

/** Listens until the test ends. */
export async function listening(
  t: TestContext,
  answer: (asked: Asked) => Reply | Promise<Reply>,
): Promise<FakeServer> {
  const asked: Asked[] = [];
  const fake = { asked, broken: undefined as FakeServer["broken"], hold: undefined as FakeServer["hold"] };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString();
    const one = { path: request.url ?? "", body: text === "" ? {} : JSON.parse(text) };
    asked.push(one);
    await fake.hold;
    const reply = fake.broken?.(one) ?? (await answer(one));
    const isFailure = typeof reply === "object" && "status" in reply && "said" in reply;
    const said = isFailure ? reply.said : reply;
    response.writeHead(isFailure ? Number(reply.status) : 200);
    response.end(typeof said === "string" ? said : JSON.stringify(said));
  };
  const server: Server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const name = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(fake, { name, url: `http://${name}` });
}

const missing: Reply = { status: 404, said: { detail: "Not Found" } };

function card({ model }: World, owner: string, { maxModelLen }: FakeOptions): object {
  const card = {
    id: "base",
    object: "model",
    created: 1,
    owned_by: owner,
    root: "/models/base",
    parent: null,
  };
  return { object: "list", data: [{ ...card, max_model_len: maxModelLen ?? model.config.contextTokens }] };
}

interface Draw {
  readonly ids: readonly number[];
  readonly seed: number;
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly stopIds: readonly number[];
  readonly temperature: number;
  readonly topP: number;
  readonly adapter: Adapter | undefined;
}

/** Samples as the servers do, with what they may sample behind the stop. */
async function draw({ engine }: World, { ids, seed, adapter, ...how }: Draw, extraTokens: number) {
  using sequence = engine.open(ids, { seed, adapter: adapter ?? false });
  const span = await sequence.generate(how);
  const more = span.stopText !== undefined && extraTokens > 0;
  const rest: Pick<Span, "ids" | "logprobs"> = more
    ? await sequence.generate({ ...how, maxTokens: extraTokens, stop: [] })
    : { ids: new Int32Array(), logprobs: new Float32Array() };
  return { span, ids: [...span.ids, ...rest.ids], logprobs: [...span.logprobs, ...rest.logprobs] };
}

/** Answers as vLLM 0.11 does. */
export async function fakeVllm(t: TestContext, world: World, options: FakeOptions = {}): Promise<FakeServer> {
  const { extraTokens = 0, takesAdapters = true } = options;
  const adapters = new Map<string, Adapter>();
  t.after(() => {
    for (const adapter of adapters.values()) adapter.close();
  });
  const complete = async (body: Body): Promise<Reply> => {
    const model = String(body.model);
    if (model !== "base" && !adapters.has(model)) {
      const message = `The model \`${model}\` does not exist.`;
      return { status: 404, said: { error: { message, type: "NotFoundError", param: "model", code: 404 } } };
    }
    const asked = {
      ...{ ids: body.prompt as number[], seed: Number(body.seed), maxTokens: Number(body.max_tokens) },
      ...{ stop: (body.stop as string[] | undefined) ?? [], stopIds: body.stop_token_ids as number[] },
      ...{ temperature: Number(body.temperature), topP: Number(body.top_p) },
    };
    const { span, ids, logprobs } = await draw(
      world,
      { ...asked, adapter: adapters.get(model) },
      extraTokens,
    );
    const tokens = ids.map((id) => world.tokenizer.decode(Int32Array.of(id)));
    return {
      ...{ id: "cmpl-1", object: "text_completion", created: 1, model },
      choices: [
        {
          index: 0,
          text: tokens.join(""),
          logprobs: { text_offset: [], token_logprobs: logprobs, tokens, top_logprobs: ids.map(() => null) },
          finish_reason: span.stop === "length" ? "length" : "stop",
          stop_reason: span.stopText ?? (span.stop === "eos" ? ids.at(-1) : null),
          ...{ token_ids: ids, prompt_logprobs: null, prompt_token_ids: body.prompt },
        },
      ],
      ...{ service_tier: null, system_fingerprint: null, kv_transfer_params: null },
      usage: { prompt_tokens: asked.ids.length, total_tokens: asked.ids.length + ids.length },
    };
  };
  return listening(t, async ({ path, body }) => {
    const name = String(body.lora_name);
    if (path === "/v1/models") return card(world, "vllm", options);
    if (path === "/v1/completions") return complete(body);
    if (path === "/v1/load_lora_adapter" && takesAdapters) {
      adapters.set(name, await Adapter.load(world.model, String(body.lora_path)));
      return `Success: LoRA adapter '${name}' added successfully.`;
    }
    if (path === "/v1/unload_lora_adapter" && adapters.has(name)) {
      adapters.get(name)?.close();
      adapters.delete(name);
      return `Success: LoRA adapter '${name}' removed successfully.`;
    }
    return missing;
  });
}

/** Answers as SGLang 0.5 does. */
export async function fakeSglang(
  t: TestContext,
  world: World,
  options: FakeOptions = {},
): Promise<FakeServer> {
  const { extraTokens = 0 } = options;
  const adapters = new Map<string, Adapter>();
  let weightVersion = "default";
  t.after(() => {
    for (const adapter of adapters.values()) adapter.close();
  });
  const generate = async (body: Body): Promise<Reply> => {
    const sampling = body.sampling_params as Body;
    const adapter = adapters.get(String(body.lora_path));
    if (body.lora_path !== undefined && adapter === undefined) {
      const message = `Got LoRA adapter that has never been loaded: ${body.lora_path}`;
      return { status: 400, said: { error: { message } } };
    }
    const asked = {
      // It draws as it likes.
      ...{ ids: body.input_ids as number[], seed: 11, maxTokens: Number(sampling.max_new_tokens), adapter },
      ...{
        stop: (sampling.stop as string[] | undefined) ?? [],
        stopIds: sampling.stop_token_ids as number[],
      },
      ...{ temperature: Number(sampling.temperature), topP: Number(sampling.top_p) },
    };
    const { span, ids, logprobs } = await draw(world, asked, extraTokens);
    const end =
      span.stop === "length"
        ? { type: "length", length: ids.length }
        : { type: "stop", matched: span.stopText ?? ids.at(-1) };
    return {
      text: world.tokenizer.decode(Int32Array.from(ids)),
      output_ids: ids,
      meta_info: {
        ...{ id: "1", finish_reason: end, prompt_tokens: asked.ids.length, weight_version: weightVersion },
        ...{ total_retractions: 0, completion_tokens: ids.length, cached_tokens: 0, e2e_latency: 0.1 },
        ...{ input_token_logprobs: [], output_token_logprobs_length: ids.length },
        output_token_logprobs: ids.map((id, i) => [logprobs[i], id, null]),
      },
    };
  };
  return listening(t, async ({ path, body }) => {
    const name = String(body.lora_name);
    if (path === "/v1/models") return card(world, "sglang", options);
    if (path === "/generate") return generate(body);
    if (path === "/load_lora_adapter") {
      adapters.set(name, await Adapter.load(world.model, String(body.lora_path)));
      return {
        success: true,
        loaded_adapters: Object.fromEntries([...adapters].map(([each]) => [each, each])),
      };
    }
    if (path === "/unload_lora_adapter") {
      adapters.get(name)?.close();
      return { success: adapters.delete(name), loaded_adapters: {} };
    }
    if (path === "/update_weights_from_disk") {
      await readWeights(world.model, String(body.model_path));
      weightVersion = String(body.weight_version);
      return { success: true, message: "Succeeded to update model weights.", num_paused_requests: 0 };
    }
    return missing;
  });
}
