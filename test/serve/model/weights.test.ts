/** Weights that are pushed to a model server: who may, when they are whole, and what replies tell of them. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, truncate } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Adapter } from "../../../lib/model/adapter.ts";
import type { Model } from "../../../lib/model/model.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { get, post } from "../doubles.ts";
import { servedWorld, until } from "./served.ts";

/** An adapter that changes what is sampled, in a folder. */
async function writtenAdapter(t: TestContext, model: Model, seed: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-adapter-"));
  t.after(() => rm(folder, { recursive: true }));
  await using adapter = await Adapter.create(model, { rank: 4, seed });
  await using trainer = await Trainer.open(adapter);
  const rows = Int32Array.of(0, 1, 2);
  await trainer.accumulate([
    { tokens: Int32Array.of(3, 5, 7, 9 + seed), rows, weights: Float32Array.of(1, 1, 1) },
  ]);
  await trainer.step({ learningRate: 0.05 });
  await adapter.save(folder);
  return folder;
}

const files = ["adapter_config.json", "adapter_model.safetensors"];

async function sent(url: string, folder: string, upload: string): Promise<number[]> {
  const statuses: number[] = [];
  for (const file of files) {
    const body = await readFile(join(folder, file));
    statuses.push((await post({ url }, `/v1/weights/${upload}/${file}`, new Uint8Array(body))).status);
  }
  return statuses;
}

const asked = {
  model: "world",
  max_tokens: 12,
  seed: 4,
  return_token_ids: true,
  logprobs: 0,
  prompt: "who directed",
};

interface Drawn {
  readonly choices: {
    token_ids: number[];
    logprobs: { token_logprobs: number[] };
    weights_version: number;
  }[];
}

async function drawn(url: string) {
  const { json } = await post({ url }, "/v1/completions", asked);
  const [choice] = (json as Drawn).choices;
  return {
    ids: choice?.token_ids,
    logprobs: choice?.logprobs.token_logprobs,
    version: choice?.weights_version,
  };
}

test("an adapter that is sent file by file is sampled from once it is whole, and replies tell its version", async (t) => {
  const { url, engine, tokenizer, policy } = await servedWorld(t, { server: { acceptWeights: true } });
  const before = await drawn(url);
  const folder = await writtenAdapter(t, policy.model, 1);
  assert.deepEqual(await sent(url, folder, "seven"), [200, 200]);
  assert.deepEqual(await drawn(url), before);
  const loaded = await post({ url }, "/v1/weights", { version: 7, upload: "seven" });
  assert.deepEqual(loaded.json, { object: "weights", model: "world", version: 7 });
  assert.deepEqual((await get({ url }, "/v1/weights")).json, loaded.json);
  await using adapter = await Adapter.load(policy.model, folder);
  using sequence = engine.open(tokenizer.encode("who directed", { beginsText: true }), { adapter, seed: 4 });
  const span = await sequence.generate({ maxTokens: 12 });
  const after = await drawn(url);
  assert.deepEqual(after, { ids: [...span.ids], logprobs: [...span.logprobs], version: 7 });
  assert.notDeepEqual(after.ids, before.ids);
  // What was read is not kept.
  const again = await post({ url }, "/v1/weights", { version: 7, upload: "seven" });
  assert.equal(again.status, 400);
  assert.match(again.text, /upload: expected one that was sent, got seven/);
});

test("log-probabilities beside ids are those of all ids, the end too, in one answer and in a stream", async (t) => {
  const { client, tokenizer } = await servedWorld(t);
  const prompt = [...tokenizer.encode("Question: who directed Nightwinter?")];
  const body = { ...asked, prompt, max_tokens: 200, stop: ["e"] };
  const whole = (await client.completions.create(body)) as unknown as Drawn;
  const [choice] = whole.choices;
  assert.ok(choice && choice.token_ids.length > 0);
  assert.equal(choice.logprobs.token_logprobs.length, choice.token_ids.length);
  const [ids, logprobs, versions]: [number[], number[], unknown[]] = [[], [], []];
  for await (const chunk of await client.completions.create({ ...body, stream: true })) {
    const [piece] = (chunk as unknown as Drawn).choices;
    ids.push(...(piece?.token_ids ?? []));
    logprobs.push(...(piece?.logprobs?.token_logprobs ?? []));
    versions.push(piece?.weights_version);
  }
  assert.deepEqual([ids, logprobs], [choice.token_ids, choice.logprobs.token_logprobs]);
  assert.equal(versions.at(-1), choice.weights_version);
});

test("a reply under way goes on with the adapter that it began with", async (t) => {
  const { url, client, policy, engine } = await servedWorld(t, { server: { acceptWeights: true } });
  const [one, two] = [await writtenAdapter(t, policy.model, 1), await writtenAdapter(t, policy.model, 2)];
  await post({ url }, "/v1/weights", { version: 1, folder: one });
  const long = { ...asked, max_tokens: 60, logit_bias: { 0: -100 } };
  const alone = (await client.completions.create(long)) as unknown as Drawn;
  const under = client.completions.create(long);
  await until(async () => (await engine.stats()).numSequences > 0);
  const { status } = await post({ url }, "/v1/weights", { version: 2, folder: two });
  assert.equal(status, 200);
  assert.deepEqual(((await under) as unknown as Drawn).choices, alone.choices);
  assert.equal((await drawn(url)).version, 2);
});

test("a model's weights change between replies: one under way ends as it began, the next is of the new ones", async (t) => {
  const { url, client, policy, engine } = await servedWorld(t, { server: { acceptWeights: true } });
  const folder = await mkdtemp(join(tmpdir(), "seekrl-model-"));
  t.after(() => rm(folder, { recursive: true }));
  await using other = await policy.model.clone();
  await using trainer = await Trainer.open(other);
  const [rows, weights] = [Int32Array.of(0, 1, 2), Float32Array.of(1, 1, 1)];
  await trainer.accumulate([{ tokens: Int32Array.of(3, 5, 7, 9), rows, weights }]);
  await trainer.step({ learningRate: 0.01 });
  await other.save(folder);
  const long = { ...asked, max_tokens: 200, temperature: 2 };
  const create = async () => ((await client.completions.create(long)) as unknown as Drawn).choices[0];
  const alone = await create();
  const under = create();
  await until(async () => (await engine.stats()).numSequences > 0);
  const pushed = post({ url }, "/v1/weights", { version: 9, folder });
  const after = pushed.then(create);
  assert.deepEqual(await under, alone);
  assert.equal((await pushed).status, 200);
  const next = await after;
  assert.equal(next?.weights_version, 9);
  assert.notDeepEqual(next?.logprobs, alone?.logprobs);
});

test("weights are taken where the server was told to, from whoever has the key", async (t) => {
  const closed = await servedWorld(t);
  const { status, text } = await post(closed, "/v1/weights", { version: 1 });
  assert.equal(status, 404);
  assert.match(text, /--accept-weights/);
  const apiKey = "secret";
  const guarded = await servedWorld(t, { server: { acceptWeights: true, apiKey } });
  assert.equal((await post(guarded, "/v1/weights", { version: 1 })).status, 401);
  assert.equal((await post(guarded, "/v1/weights/1/adapter_config.json", "{}")).status, 401);
  await assert.rejects(servedWorld(t, { server: { acceptWeights: true, open: true } }), {
    code: "ERR_ARGUMENT",
    message: /acceptWeights: expected a key/,
  });
});

test("weights that are not whole, of another shape or under another name are refused and change nothing", async (t) => {
  const { url, policy } = await servedWorld(t, { server: { acceptWeights: true } });
  const before = await drawn(url);
  for (const file of ["..%2Fmodel.safetensors", "tokenizer.json", "model.safetensors.part"])
    assert.ok([400, 404].includes((await post({ url }, `/v1/weights/one/${file}`, "x")).status), file);
  const folder = await writtenAdapter(t, policy.model, 1);
  await new Promise<void>((resolve) => {
    const half = request(`${url}/v1/weights/half/adapter_model.safetensors`, {
      method: "POST",
      headers: { "content-length": "1000000" },
    });
    half.on("error", () => resolve());
    half.write("half", () => half.destroy());
  });
  await post(
    { url },
    "/v1/weights/half/adapter_config.json",
    await readFile(join(folder, files[0]!), "utf8"),
  );
  const broken = await post({ url }, "/v1/weights", { version: 3, upload: "half" });
  assert.equal(broken.status, 400);
  assert.match(broken.text, /adapter_model\.safetensors/);
  // What was refused is not kept: it would fill the disk, one failure after another.
  const again = await post({ url }, "/v1/weights", { version: 3, upload: "half" });
  assert.match(again.text, /upload: expected one that was sent, got half/);
  await truncate(join(folder, files[1]!), 1000);
  assert.equal((await post({ url }, "/v1/weights", { version: 4, folder })).status, 400);
  assert.deepEqual(await drawn(url), before);
});
