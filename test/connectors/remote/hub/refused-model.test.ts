/** Models that the hub refuses, has under another name, or cannot be asked for: each with what to do. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fetchDataset } from "../../../../connectors/remote/hub/fetch-dataset.ts";
import { fetchModel } from "../../../../connectors/remote/hub/fetch-model.ts";
import type { FetchModelOptions } from "../../../../connectors/remote/hub/fetch-place.ts";
import { hubDataset, hubModel } from "../../../../connectors/remote/hub/hub-place.ts";
import { pinnedAddress, pinnedModel } from "../../../../lib/base/files/hub-cache.ts";
import { type ModelHub, startModelHub } from "./model-hub.ts";

const id = "acme/tiny";
const files = { "config.json": Buffer.from("{}"), "model.safetensors": Buffer.from("weights") };

let cache = "";
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), "seekrl-hub-"));
});
afterEach(() => rm(cache, { recursive: true }));

const fetch = (hub: ModelHub, text = id, options: FetchModelOptions = {}) =>
  fetchModel(text, { endpoint: hub.url, token: "", cache, offline: false, ...options });

/** Answers paths of a kind with a status. */
const refusing =
  (pattern: RegExp, status: number, headers: (path: string) => Record<string, string> = () => ({})) =>
  (request: IncomingMessage, response: ServerResponse): Promise<void> | undefined => {
    const path = request.url ?? "";
    if (!pattern.test(path)) return undefined;
    response.writeHead(status, headers(path)).end("no");
    return Promise.resolve();
  };

test("a gated model, which is listed and whose files are refused, is told with the page of its terms", async () => {
  for (const [status, token] of [
    [401, ""],
    [403, "hf_other"],
  ] as const) {
    await using hub = await startModelHub(id, files, refusing(/resolve/, status));
    const message = `expected status 200, got ${status}. Remedy: accept its terms at ${hub.url}/${id}, with HF_TOKEN of that user`;
    await assert.rejects(fetch(hub, id, { token }), (error: Error) => error.message.endsWith(message));
  }
});

test("a name that the hub refuses is to be checked before a token is thought of", async () => {
  await using hub = await startModelHub(id, files, refusing(/api/, 401));
  const message =
    /acme\/tyni@main: .*got 401.*Remedy: check the name; HF_TOKEN opens what is private or gated$/;
  await assert.rejects(fetch(hub, "acme/tyni"), { code: "ERR_REMOTE", message });
});

test("a model with another name now is fetched where the hub leads, and from no other host", async () => {
  const moved = (path: string) => ({ location: path.replace("acme/old", id).split("?")[0] ?? "" });
  await using hub = await startModelHub(id, files, refusing(/acme\/old/, 307, moved));
  const { path } = await fetch(hub, "acme/old", { token: "hf_secret" });
  assert.deepEqual(await readFile(join(path, "model.safetensors")), files["model.safetensors"]);
  const elsewhere = (asked: string) => ({ location: `${hub.url}${asked}` });
  await using other = await startModelHub(id, files, refusing(/./, 307, elsewhere));
  hub.asked.length = 0;
  await assert.rejects(fetch(other), { code: "ERR_REMOTE", message: /got 307/ });
  assert.deepEqual(hub.asked, []);
});

test("a redirect that leaves the revision out leads to the same revision", async () => {
  const moved = (path: string) => ({
    location: path.startsWith("/api/") ? `/api/models/${id}` : path.replace("acme/old", id),
  });
  await using hub = await startModelHub(id, files, refusing(/acme\/old/, 307, moved));
  await fetch(hub, "acme/old@v2");
  const asked = hub.asked.map(({ path }) => path)[0];
  assert.equal(asked, `/api/models/${id}/revision/v2?blobs=true`);
});

test("redirects without an end are given up", async () => {
  await using hub = await startModelHub(
    id,
    files,
    refusing(/api/, 307, (path) => ({ location: path })),
  );
  await assert.rejects(fetch(hub), { code: "ERR_REMOTE", message: /got 307/ });
});

test("a model that is one GGUF file is pinned by its address", () => {
  const commit = "c".repeat(40);
  const snapshot = join(cache, "models--acme--tiny", "snapshots", commit);
  const file = join(snapshot, "small", "a-q4.gguf");
  assert.equal(pinnedAddress(file, cache), `hf://acme/tiny@${commit}/small/a-q4.gguf`);
  assert.equal(hubModel(pinnedAddress(file, cache) ?? "")?.file, "small/a-q4.gguf");
  assert.equal(pinnedModel(file, cache), undefined);
  assert.equal(pinnedAddress(join(snapshot, "config.json"), cache), undefined);
});

test("an endpoint that is no address is refused by the name of what says it", async () => {
  const before = process.env.HF_ENDPOINT;
  process.env.HF_ENDPOINT = "hf-mirror.com";
  try {
    const message = /^HF_ENDPOINT: expected https:\/\/HOST or http:\/\/HOST, got "hf-mirror.com"$/;
    await assert.rejects(fetchModel(id, { cache, offline: false }), { code: "ERR_ARGUMENT", message });
  } finally {
    if (before === undefined) delete process.env.HF_ENDPOINT;
    else process.env.HF_ENDPOINT = before;
  }
  const endpoint = "hf-mirror.com:443";
  await assert.rejects(fetchModel(id, { cache, endpoint, offline: false }), {
    message: /^endpoint: expected/,
  });
});

test("a revision that is none is refused with the address that has it", async () => {
  for (const text of ["a/b@%zz", "hf://a/b@%zz/c.gguf", "a/b@..%2F..%2Fx", "a/b@%2Fx"])
    await assert.rejects(fetchModel(text, { cache, offline: true }), {
      code: "ERR_ARGUMENT",
      message: new RegExp(`^${text}: expected a branch, tag or commit behind @`),
    });
  assert.throws(() => hubDataset("hf://datasets/a/b@%zz/c"), {
    code: "ERR_ARGUMENT",
    message: /behind @, got %zz/,
  });
});

test("the revision of a pull request or a conversion is not taken for a branch and a file", async () => {
  for (const [text, revision, file] of [
    ["a/b@refs/pr/1", "refs/pr/1", undefined],
    ["hf://a/b@refs/pr/12/c/d.gguf", "refs/pr/12", "c/d.gguf"],
    ["hf://a/b@refs/convert/parquet/c.gguf", "refs/convert/parquet", "c.gguf"],
    ["hf://a/b@refs/pr", "refs", "pr"],
  ] as const)
    assert.deepEqual(hubModel(text), { kind: "model", id: "a/b", revision, file }, text);
  const address = "hf://datasets/a/b@refs/convert/parquet/c/d.parquet";
  const { revision, file } = hubDataset(address);
  assert.deepEqual([revision, file], ["refs/convert/parquet", "c/d.parquet"]);
  await using hub = await startModelHub("a/b", { "c/d.parquet": Buffer.from("rows") });
  await fetchDataset(address, { endpoint: hub.url, token: "", cache, offline: false });
  assert.deepEqual(
    hub.asked.map(({ path }) => path),
    [
      "/api/datasets/a/b/revision/refs%2Fconvert%2Fparquet?blobs=true",
      `/datasets/a/b/resolve/${hub.commit}/c/d.parquet`,
    ],
  );
});

test("a mirror that tells neither size nor checksum is refused by the file that could not be checked", async () => {
  await using hub = await startModelHub("a/b", { "model.safetensors": Buffer.from("weights") });
  hub.hasChecksums = false;
  await assert.rejects(fetch(hub, "a/b"), {
    code: "ERR_REMOTE",
    message:
      /revision\/main\?blobs=true: expected size and checksum of each file, got none of model\.safetensors\. Remedy: .*HF_ENDPOINT/,
  });
});
