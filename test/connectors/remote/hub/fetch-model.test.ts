/** Models and data of a hub: fetched once into the cache that Python's huggingface_hub reads, whole, checked, pinned by commit. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { lstat, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fetchDataset } from "../../../../connectors/remote/hub/fetch-dataset.ts";
import { fetchModel } from "../../../../connectors/remote/hub/fetch-model.ts";
import type { FetchModelOptions } from "../../../../connectors/remote/hub/fetch-place.ts";
import { hubModel } from "../../../../connectors/remote/hub/hub-place.ts";
import { pinnedAddress, pinnedModel } from "../../../../lib/base/files/hub-cache.ts";
import { gitHash, type ModelHub, startModelHub } from "./model-hub.ts";

const id = "acme/tiny";
const weights = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7 + (i >> 8)) % 253));
const config = Buffer.from('{"model_type":"llama"}');
const files = {
  "config.json": config,
  "tokenizer.json": Buffer.from("{}"),
  "model.safetensors": weights,
  "pytorch_model.bin": Buffer.from("a second time"),
  "onnx/model.onnx": Buffer.from("a third time"),
  "consolidated.safetensors": Buffer.from("a fourth time"),
  "README.md": Buffer.from("words"),
};
const digest = createHash("sha256").update(weights).digest("hex");

let cache = "";
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), "seekrl-hub-"));
});
afterEach(() => rm(cache, { recursive: true }));

const fetch = (hub: ModelHub, text = id, options: FetchModelOptions = {}) =>
  fetchModel(text, { endpoint: hub.url, token: "", cache, offline: false, ...options });

const root = () => join(cache, "models--acme--tiny");

test("a model's folder is laid out as Python's cache is, without what no model is read from", async () => {
  await using hub = await startModelHub(id, files);
  const { path, commit, numBytes } = await fetch(hub);
  assert.equal(commit, hub.commit);
  assert.equal(path, join(root(), "snapshots", hub.commit));
  assert.deepEqual((await readdir(path)).sort(), ["config.json", "model.safetensors", "tokenizer.json"]);
  assert.deepEqual(await readFile(join(path, "model.safetensors")), weights);
  assert.equal(await readlink(join(path, "model.safetensors")), `../../blobs/${digest}`);
  assert.equal(await readlink(join(path, "config.json")), `../../blobs/${gitHash(config)}`);
  assert.equal(await readFile(join(root(), "refs", "main"), "utf8"), hub.commit);
  assert.equal(numBytes, weights.length + config.length + 2);
  assert.deepEqual(pinnedModel(path, cache), { id, commit: hub.commit });
  assert.equal(pinnedModel(join(cache, "elsewhere"), cache), undefined);
});

test("what is there is not fetched again, another commit fetches what it changes", async () => {
  await using hub = await startModelHub(id, files);
  await fetch(hub);
  hub.asked.length = 0;
  assert.equal((await fetch(hub)).numBytes, 0);
  assert.deepEqual(
    hub.asked.map(({ path }) => path),
    [`/api/models/${id}/revision/main?blobs=true`],
  );
  hub.commit = "d".repeat(40);
  hub.files.set("config.json", Buffer.from("{}"));
  const { path, numBytes } = await fetch(hub);
  assert.equal(numBytes, 0, "content {} is there already, as the tokenizer");
  assert.equal(await readFile(join(path, "config.json"), "utf8"), "{}");
  assert.deepEqual((await readdir(join(root(), "snapshots"))).sort(), ["c".repeat(40), "d".repeat(40)]);
});

test("what breaks off is gone on with, and what is not what it should be is refused and not kept", async () => {
  await using hub = await startModelHub(id, files);
  hub.breaks.push(2, 2, 100_000);
  assert.deepEqual(await readFile(join((await fetch(hub)).path, "model.safetensors")), weights);
  assert.ok(hub.asked.some(({ range }) => range !== undefined));
  await rm(root(), { recursive: true });
  hub.spoilt.push(Buffer.from('{"model_type":"other"}'));
  await assert.rejects(fetch(hub), {
    code: "ERR_REMOTE",
    message: /config.json: expected content with git-sha1/,
  });
  await assert.rejects(stat(join(root(), "snapshots")), { code: "ENOENT" });
  assert.equal(await lstat(join(root(), "blobs")).catch(() => "none"), "none");
});

test("offline what was fetched is used and nobody asked; what was not is said with a remedy", async () => {
  await using hub = await startModelHub(id, files);
  const { path } = await fetch(hub);
  hub.asked.length = 0;
  assert.deepEqual(await fetch(hub, id, { offline: true }), { path, commit: hub.commit, numBytes: 0 });
  const pinned = await fetch(hub, `hf://${id}@${hub.commit}/config.json`, { offline: true });
  assert.deepEqual(await readFile(pinned.path), config);
  const message = /acme\/tiny@v2: not in the cache .*HF_HUB_OFFLINE/;
  await assert.rejects(fetch(hub, `${id}@v2`, { offline: true }), { code: "ERR_IO", message });
  assert.equal(hub.asked.length, 0);
});

test("the token goes along; what the hub refuses is said with what may help", async () => {
  await using hub = await startModelHub(id, files);
  await fetch(hub, id, { token: "hf_secret" });
  assert.ok(hub.asked.every(({ token }) => token === "Bearer hf_secret"));
  for (const [status, remedy] of [
    [401, /acme\/tiny@main: .*401.*HF_TOKEN opens/],
    [404, /404.*the path of a folder/],
  ] as const) {
    hub.statuses.push(status);
    await assert.rejects(fetch(hub), { code: "ERR_REMOTE", message: remedy });
  }
  const gone = await startModelHub(id, files);
  await gone[Symbol.asyncDispose]();
  await assert.rejects(fetch(gone), {
    code: "ERR_REMOTE",
    message: /HF_HUB_OFFLINE=1 takes what was fetched/,
  });
});

test("a repository of GGUF files needs the name of one, and it alone is fetched", async () => {
  await using hub = await startModelHub(id, { "a-q4.gguf": weights, "a-q8.gguf": config });
  const message =
    /expected weights in safetensors, got none. Remedy: hf:\/\/acme\/tiny\/FILE with one of a-q4.gguf, a-q8.gguf/;
  await assert.rejects(fetch(hub), { code: "ERR_ARGUMENT", message });
  const { path } = await fetch(hub, `hf://${id}/a-q4.gguf`);
  assert.deepEqual(await readFile(path), weights);
  await assert.rejects(fetch(hub, `hf://${id}/b.gguf`), {
    code: "ERR_ARGUMENT",
    message: /the file b.gguf, got a-q4/,
  });
});

test("calls at once fetch each file once", async () => {
  await using hub = await startModelHub(id, files);
  const waits: string[] = [];
  const found = await Promise.all([1, 2, 3].map(() => fetch(hub, id, { onWait: (why) => waits.push(why) })));
  assert.equal(new Set(found.map(({ path }) => path)).size, 1);
  assert.equal(hub.asked.filter(({ path }) => path.endsWith("model.safetensors")).length, 1);
  assert.equal(waits.length, 2);
});

test("an aborted call leaves nothing that looks whole, and the next one goes on", async () => {
  await using hub = await startModelHub(id, files);
  const stop = new AbortController();
  const onBytes = (numBytes: number): void => void (numBytes > 1000 && stop.abort());
  await assert.rejects(fetch(hub, id, { signal: stop.signal, onBytes }), { code: "ERR_ABORTED" });
  await assert.rejects(stat(join(root(), "snapshots")), { code: "ENOENT" });
  assert.deepEqual(await readFile(join((await fetch(hub)).path, "model.safetensors")), weights);
});

test("a file of the cache that is cut short is fetched again", async () => {
  await using hub = await startModelHub(id, files);
  const { path } = await fetch(hub);
  await writeFile(join(root(), "blobs", digest), "short");
  await fetch(hub);
  assert.deepEqual(await readFile(join(path, "model.safetensors")), weights);
});

test("names of models are told from paths", () => {
  assert.deepEqual(hubModel("Qwen/Qwen2.5-0.5B"), {
    id: "Qwen/Qwen2.5-0.5B",
    kind: "model",
    revision: "main",
    file: undefined,
  });
  assert.deepEqual(hubModel("hf://a/b@refs%2Fpr%2F1/c/d.gguf"), {
    kind: "model",
    id: "a/b",
    revision: "refs/pr/1",
    file: "c/d.gguf",
  });
  for (const path of ["model", "./a/b", "/a/b", "a/b/c", "../a", "a/b@", "C:\\a"])
    assert.equal(hubModel(path), undefined, path);
  for (const wrong of ["hf://a", "hf://datasets/a/b/c", "hf://a/b/../../c"])
    assert.throws(() => hubModel(wrong), { code: "ERR_ARGUMENT" }, wrong);
});

test("a file of a data set lies where Python's cache has it, resumed and pinned", async () => {
  await using hub = await startModelHub("acme/qa", {
    "nq/test.parquet": weights,
    "nq/train.parquet": config,
  });
  hub.breaks.push(100_000);
  const options = { endpoint: hub.url, token: "", cache, offline: false };
  const address = "hf://datasets/acme/qa/nq/test.parquet";
  const { path, commit } = await fetchDataset(address, options);
  assert.equal(path, join(cache, "datasets--acme--qa", "snapshots", hub.commit, "nq", "test.parquet"));
  assert.deepEqual(await readFile(path), weights);
  assert.equal(pinnedAddress(path, cache), `hf://datasets/acme/qa@${commit}/nq/test.parquet`);
  assert.ok(!hub.asked.some((each) => each.path.endsWith("train.parquet")), "only what was named");
  hub.asked.length = 0;
  const pinned = `hf://datasets/acme/qa@${commit}/nq/test.parquet`;
  assert.equal((await fetchDataset(pinned, { ...options, offline: true })).path, path);
  assert.equal(hub.asked.length, 0);
});

test("a data set's file with another content than the address says is refused", async () => {
  await using hub = await startModelHub("acme/qa", { "test.jsonl": config });
  const options = { endpoint: hub.url, token: "", cache, offline: false };
  const address = "hf://datasets/acme/qa/test.jsonl";
  const right = createHash("sha256").update(config).digest("hex");
  assert.deepEqual(await readFile((await fetchDataset(`${address}#sha256=${right}`, options)).path), config);
  await assert.rejects(fetchDataset(`${address}#sha256=${digest}`, options), {
    code: "ERR_REMOTE",
    message: /expected content with sha256/,
  });
  const places = [
    "hf://datasets/acme/qa",
    "hf://datasets/acme/qa/../x",
    "hf://models/acme/qa/x",
    "hf://acme/qa/x",
  ];
  for (const wrong of [...places, `${address}#sha256=12`])
    await assert.rejects(fetchDataset(wrong, options), { code: "ERR_ARGUMENT" }, wrong);
});
