/** vLLM and SGLang as workers: what they are asked, and what of their answers is trained. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { WorkerOptions, WorkerPoolOptions } from "../../../connectors/workers/worker-options.ts";
import { WorkerPool } from "../../../connectors/workers/worker-pool.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { type FakeServer, fakeSglang, fakeVllm, listening } from "./fake-servers.ts";
import { localWorld, questions } from "./served-worker.ts";

type World = Awaited<ReturnType<typeof localWorld>>;

function poolOf(world: World, workers: WorkerOptions[], more: Partial<WorkerPoolOptions> = {}) {
  const { engine, tokenizer, policy } = world;
  const agent: WorkerPoolOptions["agent"] = (each) => world.agent(each);
  return WorkerPool.open({ workers, agent, engine, tokenizer, policy, localConcurrency: 0, ...more });
}

/** Its turns end where they end, and its log-probabilities are those that the engine scores, bit for bit. */
async function checkTurns(t: TestContext, world: World, { segments }: Trajectory): Promise<void> {
  const before: number[] = [];
  for (const { kind, tokens, logprobs, text } of segments) {
    if (kind === "policy") {
      using sequence = world.engine.open(before);
      assert.deepEqual(logprobs, (await sequence.score(tokens)).logprobs);
      const closings = text.match(/<\/search>|<\/answer>/g) ?? [];
      assert.ok(closings.length <= 1, text);
      if (closings.length === 1) assert.match(text, /<\/(search|answer)>$/);
    }
    before.push(...tokens);
  }
  t.diagnostic(segments.map(({ kind, tokens }) => `${kind} ${tokens.length}`).join(", "));
}

const sampled = ({ asked }: FakeServer, path: string) => asked.filter((each) => each.path === path);

/** The first rollout that searches, and what its server was asked for it. */
async function searching(pool: WorkerPool, server: FakeServer): Promise<Trajectory> {
  for (const question of questions) {
    server.asked.length = 0;
    const [trajectory] = await pool.rollouts(question, { seed: 1 });
    if (trajectory?.segments.some(({ kind }) => kind === "observation")) return trajectory;
  }
  throw new Error("expected a question that is searched for");
}

test("vLLM is asked with ids for ids, for draws of the policy alone, and what it samples behind a stop is dropped", async (t) => {
  const [world, there] = [await localWorld(t, { lora: { rank: 4 } }), await localWorld(t)];
  const server = await fakeVllm(t, there, { extraTokens: 3 });
  await using pool = await poolOf(world, [{ url: `${server.url}/v1` }]);
  assert.equal(sampled(server, "/v1/completions")[0]?.body.model, "base");
  const trajectory = await searching(pool, server);
  await checkTurns(t, world, trajectory);
  const [first, second] = sampled(server, "/v1/completions").map(({ body }) => body);
  const version = world.policy.weightsVersion;
  assert.match(String(first?.model), new RegExp(`^seekrl-[0-9a-f]{8}-${version}$`));
  assert.ok(second);
  assert.notEqual(first?.seed, second.seed);
  const { seed: _, model: __, stop, ...rest } = first ?? {};
  assert.ok(Array.isArray(stop) && stop.length > 0);
  assert.deepEqual(rest, {
    ...{ prompt: [...trajectory.segments[0]!.tokens], max_tokens: 96, n: 1, temperature: 1, top_p: 1 },
    ...{ top_k: -1, min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
    ...{ logprobs: 0, return_token_ids: true },
    ...{ ignore_eos: true, stop_token_ids: world.tokenizer.eosIds },
    ...{ skip_special_tokens: false, spaces_between_special_tokens: false },
  });
  // Observations reach it as ids too: the second prompt is all that was said and read before.
  const said = trajectory.segments.slice(0, 3).flatMap(({ tokens }) => [...tokens]);
  assert.deepEqual(second?.prompt, said);
  assert.equal(trajectory.weightsVersion, version);
});

test("SGLang is asked at /generate, and the ids beside its log-probabilities are those that are trained", async (t) => {
  const [world, there] = [await localWorld(t), await localWorld(t)];
  const server = await fakeSglang(t, there, { extraTokens: 3 });
  await using pool = await poolOf(world, [{ url: server.url }]);
  const [pushed] = sampled(server, "/update_weights_from_disk");
  assert.equal(pushed?.body.weight_version, String(world.policy.weightsVersion));
  const trajectory = await searching(pool, server);
  await checkTurns(t, world, trajectory);
  const body = sampled(server, "/generate")[0]?.body ?? {};
  const { stop, ...sampling } = body.sampling_params as Readonly<Record<string, unknown>>;
  assert.ok(Array.isArray(stop) && stop.length > 0);
  assert.deepEqual(sampling, {
    ...{ max_new_tokens: 96, temperature: 1, top_p: 1, top_k: -1, min_p: 0 },
    ...{ repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
    stop_token_ids: world.tokenizer.eosIds,
    ...{ skip_special_tokens: false, spaces_between_special_tokens: false, no_stop_trim: true },
  });
  assert.deepEqual(body.input_ids, [...trajectory.segments[0]!.tokens]);
  const { return_logprob, logprob_start_len } = body;
  assert.deepEqual([return_logprob, logprob_start_len], [true, -1]);
});

test("log-probabilities that vLLM tells of temperature 1 are not those of another temperature's draws", async (t) => {
  const [world, there] = [await localWorld(t), await localWorld(t)];
  const server = await fakeVllm(t, there);
  await using pool = await poolOf(world, [{ url: server.url, staleness: 0 }]);
  const [trajectory] = await pool.rollouts(questions[0]!, { sampling: { temperature: 0.5 } });
  const turns = trajectory?.segments.filter(({ kind }) => kind === "policy") ?? [];
  assert.ok(turns.length > 0);
  assert.ok(turns.every(({ logprobs }) => logprobs === undefined));
});

test("servers that cannot take part are refused with a remedy before anything is trained", async (t) => {
  const [world, there] = [await localWorld(t), await localWorld(t)];
  const adapter = await localWorld(t, { lora: { rank: 4 } });
  const refused = async (what: Promise<unknown>, code: string, message: RegExp): Promise<void> => {
    await assert.rejects(what, { code, message });
  };
  const vllm = await fakeVllm(t, there);
  const { url } = vllm;
  await refused(
    poolOf(world, [{ url }]),
    "ERR_ARGUMENT",
    /takes adapters, got a whole model.*--lora.*staleness/,
  );
  const plain = await fakeVllm(t, there, { takesAdapters: false });
  await refused(
    poolOf(adapter, [{ url: plain.url }]),
    "ERR_REMOTE",
    /VLLM_ALLOW_RUNTIME_LORA_UPDATING=1.*staleness/,
  );
  const short = await fakeVllm(t, there, { maxModelLen: 100 });
  await refused(
    poolOf(world, [{ url: short.url }]),
    "ERR_ARGUMENT",
    /room for \d+ tokens, got 100.*--max-model-len/,
  );
  vllm.broken = ({ path }) =>
    path === "/v1/completions" ? { choices: [{ text: "a", finish_reason: "stop" }] } : undefined;
  await refused(
    poolOf(world, [{ url }]),
    "ERR_REMOTE",
    /expected token_ids in a completion, got none.*0\.10\.2/,
  );
  const llama = await listening(t, () => ({ object: "list", data: [{ id: "m", owned_by: "llamacpp" }] }));
  await refused(poolOf(world, [{ url: llama.url }]), "ERR_ARGUMENT", /owned_by.*got llamacpp.*Remedy/);
  const gone = poolOf(world, [{ url: "http://127.0.0.1:9", transport: { retries: 0 } }]);
  await refused(gone, "ERR_REMOTE", /worker 127\.0\.0\.1:9: .*ECONNREFUSED.*Remedy/);
});

test("a server that ends turns at ids which are no ends here is told apart by its tokenizer", async (t) => {
  const [world, there] = [await localWorld(t), await localWorld(t)];
  const server = await fakeVllm(t, there);
  const warnings: string[] = [];
  await using pool = await poolOf(world, [{ url: server.url, staleness: 0 }], {
    onWarning: (message) => warnings.push(message),
  });
  const logprobs = { token_logprobs: [-1] };
  server.broken = ({ path }) =>
    path === "/v1/completions"
      ? { choices: [{ finish_reason: "stop", token_ids: [7], logprobs }] }
      : undefined;
  await assert.rejects(pool.rollouts(questions[0]!), {
    code: "ERR_REMOTE",
    message: /expected one that answers/,
  });
  assert.match(warnings.join(), /leaves the pool: .*the turn's end.*same tokenizer/);
});
