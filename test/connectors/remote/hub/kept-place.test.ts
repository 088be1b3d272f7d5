/** What the cache holds of a model: taken when it is whole, and told with what it lacks when it is not. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fetchDataset } from "../../../../connectors/remote/hub/fetch-dataset.ts";
import { fetchModel } from "../../../../connectors/remote/hub/fetch-model.ts";
import type { FetchModelOptions } from "../../../../connectors/remote/hub/fetch-place.ts";
import { type ModelHub, startModelHub } from "./model-hub.ts";

const id = "acme/tiny";
const config = Buffer.from('{"model_type":"llama"}');
const weights = Buffer.from("weights".repeat(10_000));
const shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] as const;
const index = Buffer.from(JSON.stringify({ weight_map: { "a.weight": shards[0], "b.weight": shards[1] } }));
const sharded = {
  "config.json": config,
  "model.safetensors.index.json": index,
  [shards[0]]: Buffer.from("one"),
  [shards[1]]: Buffer.from("two"),
};

let cache = "";
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), "seekrl-hub-"));
});
afterEach(() => rm(cache, { recursive: true }));

const fetch = (hub: ModelHub, text = id, options: FetchModelOptions = {}) =>
  fetchModel(text, { endpoint: hub.url, token: "", cache, offline: false, ...options });

test("offline a model of which single files were fetched is refused with what it lacks", async () => {
  await using hub = await startModelHub(id, sharded);
  const lacks = async (what: string): Promise<void> => {
    const message = new RegExp(
      `acme/tiny@main: expected a whole model in .*, got one without ${what}\\. Remedy: `,
    );
    await assert.rejects(fetch(hub, id, { offline: true }), { code: "ERR_IO", message });
  };
  await fetch(hub, `hf://${id}/config.json`);
  await lacks("weights in safetensors");
  await fetch(hub, `hf://${id}/model.safetensors.index.json`);
  await lacks(shards.join(", "));
  await fetch(hub, `hf://${id}/${shards[0]}`);
  await lacks(shards[1]);
  await fetch(hub, `hf://${id}/${shards[1]}`);
  const { path } = await fetch(hub, id, { offline: true });
  assert.deepEqual((await readdir(path)).sort(), Object.keys(sharded).sort());
  await rm(join(path, "config.json"));
  await lacks("config.json");
});

test("offline a link whose content is gone counts as missing, and a GGUF file is to be named", async () => {
  await using hub = await startModelHub(id, { ...sharded, "a-q4.gguf": weights });
  const { path } = await fetch(hub);
  const digest = createHash("sha256").update("two").digest("hex");
  await rm(join(path, "..", "..", "blobs", digest));
  await assert.rejects(fetch(hub, id, { offline: true }), {
    message: new RegExp(`without ${shards[1]}\\. `),
  });
  await fetch(hub, `hf://${id}/a-q4.gguf`);
  await assert.rejects(fetch(hub, id, { offline: true }), {
    message: /hf:\/\/acme\/tiny@main\/FILE names one of a-q4.gguf$/,
  });
});

test("a full commit that is whole in the cache is asked of nobody, and one that is not is made whole", async () => {
  await using hub = await startModelHub(id, sharded);
  const pinned = `${id}@${hub.commit}`;
  await fetch(hub, `hf://${pinned}/config.json`);
  hub.asked.length = 0;
  const one = await fetch(hub, `hf://${pinned}/config.json`);
  assert.deepEqual([await readFile(one.path), hub.asked], [config, []]);
  const { path } = await fetch(hub, pinned);
  assert.equal(hub.asked.length, 4, "the listing and the three files that were missing");
  hub.asked.length = 0;
  assert.deepEqual(await fetch(hub, pinned), { path, commit: hub.commit, numBytes: 0 });
  assert.deepEqual(hub.asked, []);
});

test("a data set's file at a full commit is asked of nobody once it is there", async () => {
  await using hub = await startModelHub("acme/qa", { "test.jsonl": config });
  const options = { endpoint: hub.url, token: "", cache, offline: false };
  const address = `hf://datasets/acme/qa@${hub.commit}/test.jsonl`;
  await fetchDataset(address, options);
  hub.asked.length = 0;
  assert.equal((await fetchDataset(address, options)).numBytes, 0);
  assert.deepEqual(hub.asked, []);
});
