/** Gigabytes of a model that are in the cache already. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, statfs, truncate } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fetchModel } from "../../../../connectors/remote/hub/fetch-model.ts";
import type { FetchModelOptions } from "../../../../connectors/remote/hub/fetch-place.ts";
import { type ModelHub, startModelHub } from "./model-hub.ts";

const id = "acme/tiny";
const weights = Buffer.from("weights".repeat(10_000));

let cache = "";
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), "seekrl-hub-"));
});
afterEach(() => rm(cache, { recursive: true }));

const fetch = (hub: ModelHub, text = id, options: FetchModelOptions = {}) =>
  fetchModel(text, { endpoint: hub.url, token: "", cache, offline: false, ...options });

test("bytes that are there already need no room", async () => {
  const GiB = 2 ** 30;
  const hex = createHash("sha256").update(weights).digest("hex");
  let size = weights.length;
  const listing = (request: IncomingMessage, response: ServerResponse): Promise<void> | undefined => {
    if (!request.url?.startsWith("/api/")) return undefined;
    const siblings = [{ rfilename: "model.safetensors", size, lfs: { sha256: hex, size } }];
    response.end(JSON.stringify({ sha: "c".repeat(40), siblings }));
    return Promise.resolve();
  };
  await using hub = await startModelHub(id, { "model.safetensors": weights }, listing);
  const stop = new AbortController();
  const stopped = fetch(hub, id, { signal: stop.signal, onBytes: () => stop.abort() });
  await assert.rejects(stopped, { code: "ERR_ABORTED" });
  const entries = await readdir(cache, { recursive: true });
  const part = join(cache, entries.find((name) => name.endsWith(".part")) ?? "none");
  const { bavail, bsize } = await statfs(cache);
  size = bavail * bsize + GiB;
  const message = /expected room for .*, got .*\. Remedy: make room, or /;
  await assert.rejects(fetch(hub), { code: "ERR_IO", message });
  // A file of holes takes no room of the disk. The hub then has fewer bytes than the listing says.
  await truncate(part, Math.min(size - 1, 2 * GiB));
  assert.deepEqual(await readFile(join((await fetch(hub)).path, "model.safetensors")), weights);
});
