/** Files of a hub: fetched once, resumed where they broke off, and never taken for whole when they are not. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { downloadFile } from "../../../connectors/remote/files/download-file.ts";
import { remoteFile } from "../../../connectors/remote/files/file-address.ts";
import type { HubOptions } from "../../../connectors/remote/files/hub.ts";
import { lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { type Hub, startHub } from "./hub-server.ts";

const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31 + (i >> 8)) % 251));
const sha256 = createHash("sha256").update(content).digest("hex");
const file = "/datasets/RUC-NLPIR/FlashRAG_datasets/resolve/main/nq/test.jsonl";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-"));
});
afterEach(() => rm(folder, { recursive: true }));

function fetch(
  hub: Hub,
  { retries = 5, at = file, ...options }: HubOptions & { retries?: number; at?: string } = {},
) {
  const asked = remoteFile(`${hub.url}${at}`, { endpoint: hub.url, token: "", ...options });
  return downloadFile(asked, { folder, retries, timeoutMs: 2000 });
}

async function filesThere(): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name !== "lock")
    .map(({ name }) => name)
    .sort();
}

test("a file of the hub is checked by what the hub says, and fetched once", async () => {
  await using hub = await startHub(content);
  const first = await fetch(hub);
  assert.deepEqual([first.checkedBy, first.sha256, first.isFromCache], ["sha256", sha256, false]);
  assert.ok(first.path.endsWith("/test.jsonl"));
  assert.deepEqual(await readFile(first.path), content);
  assert.deepEqual(await filesThere(), ["file.json", "test.jsonl"]);
  assert.equal(hub.asked[0]?.path, file);
  const numAsked = hub.asked.length;
  assert.deepEqual(await fetch(hub), { ...first, isFromCache: true });
  assert.equal(hub.asked.length, numAsked);
});

test("small files are checked as git names them", async () => {
  await using hub = await startHub(content);
  hub.isLarge = false;
  assert.equal((await fetch(hub)).checkedBy, "git-sha1");
});

test("what breaks off is resumed, in one call and in the next", async () => {
  await using hub = await startHub(content);
  hub.breaks.push(100_000);
  await assert.rejects(fetch(hub, { retries: 0 }), { code: "ERR_REMOTE" });
  assert.deepEqual(await filesThere(), ["part.json", "test.jsonl.part"]);
  hub.breaks.push(50_000);
  const { path } = await fetch(hub);
  assert.deepEqual(await readFile(path), content);
  const ranges = hub.asked.filter(({ host }) => host === "store").map(({ headers }) => headers.range);
  // What had arrived when the connection broke may not have been read to its end.
  const [first, ...offsets] = ranges.map((range) => range && Number(/^bytes=(\d+)-$/.exec(range)?.[1]));
  const [resumed = 0, again = 0] = offsets as number[];
  assert.equal(first, undefined);
  assert.equal(offsets.length, 2);
  assert.ok(resumed > 0 && resumed <= 100_000, String(resumed));
  assert.ok(again > resumed && again <= resumed + 50_000, String(again));
});

test("a part that is whole already is asked for nothing more", async () => {
  await using hub = await startHub(content);
  hub.breaks.push(content.length - 1);
  await assert.rejects(fetch(hub, { retries: 0 }), { code: "ERR_REMOTE" });
  const [entry] = await readdir(folder);
  await writeFile(join(folder, entry ?? "", "test.jsonl.part"), content);
  assert.deepEqual(await readFile((await fetch(hub)).path), content);
});

test("a file that changed meanwhile is fetched from its beginning", async () => {
  await using hub = await startHub(content);
  hub.breaks.push(100_000);
  await assert.rejects(fetch(hub, { retries: 0 }), { code: "ERR_REMOTE" });
  hub.content = Buffer.from(content).reverse();
  assert.deepEqual(await readFile((await fetch(hub)).path), hub.content);
});

test("content with another checksum is refused and not kept, the hub's or the caller's", async () => {
  await using hub = await startHub(content);
  hub.claimed = "a".repeat(64);
  const message = new RegExp(`expected content with sha256 a{64}, got ${sha256}`);
  await assert.rejects(fetch(hub), { code: "ERR_REMOTE", message });
  delete hub.claimed;
  await assert.rejects(fetch(hub, { at: `${file}#sha256=${"b".repeat(64)}` }), {
    message: /sha256 b{64}, got/,
  });
  assert.deepEqual(await filesThere(), []);
  assert.equal((await fetch(hub, { at: `${file}#sha256=${sha256}` })).checkedBy, "sha256");
});

test("a file of the cache that was touched is fetched again", async () => {
  await using hub = await startHub(content);
  const { path } = await fetch(hub);
  await writeFile(path, "other");
  assert.equal((await fetch(hub)).isFromCache, false);
  assert.deepEqual(await readFile(path), content);
});

test("one download of a file runs at a time", async () => {
  await using hub = await startHub(content);
  const { path } = await fetch(hub);
  await rm(path);
  {
    using _lock = await lockFolder(join(path, ".."));
    await assert.rejects(fetch(hub), {
      code: "ERR_STATE",
      message: new RegExp(`locked by process ${process.pid}`),
    });
  }
  assert.deepEqual(await readFile((await fetch(hub)).path), content);
  assert.deepEqual(await filesThere(), ["file.json", "test.jsonl"]);
});

test("the token goes to the hub and not to where it leads", async () => {
  await using hub = await startHub(content);
  await fetch(hub, { token: "hf_secret" });
  const shown = hub.asked.map(({ host, headers }) => [host, headers.authorization]);
  assert.deepEqual(shown, [
    ["hub", "Bearer hf_secret"],
    ["store", undefined],
  ]);
});

test("what passes is asked again; what stays is said with the address and what may help", async () => {
  await using hub = await startHub(content);
  hub.statuses.push(503, 429);
  assert.equal((await fetch(hub)).isFromCache, false);
  hub.statuses.push(401);
  const gated = fetch(hub, { at: "/datasets/a/b/blob/main/x.jsonl" });
  const message = `${hub.url}/datasets/a/b/resolve/main/x.jsonl: expected status 200, got 401; HF_TOKEN opens private and gated sets of the hub`;
  await assert.rejects(gated, { code: "ERR_REMOTE", message });
  hub.statuses.push(404);
  await assert.rejects(fetch(hub, { at: "/datasets/a/b/resolve/main/none" }), {
    message: /expected status 200, got 404$/,
  });
});

test("a file of any other server is checked by its size, and an address that is none is refused", async () => {
  await using hub = await startHub(content);
  const elsewhere = remoteFile(`${hub.storeUrl}/a%20b.csv?x=1`, { endpoint: hub.url, token: "hf_secret" });
  const { checkedBy, path } = await downloadFile(elsewhere, { folder });
  assert.equal(checkedBy, "size");
  assert.ok(path.endsWith("/a b.csv"));
  assert.equal(hub.asked[0]?.headers.authorization, undefined);
  for (const wrong of ["hf://datasets/a/b/c", "nothing", `${hub.url}${file}#sha256=12`])
    assert.throws(() => remoteFile(wrong), { code: "ERR_ARGUMENT" }, wrong);
});

test("an aborted download leaves what came, and nothing that looks whole", async () => {
  await using hub = await startHub(content);
  const stop = new AbortController();
  const asked = remoteFile(`${hub.url}${file}`, { endpoint: hub.url, token: "" });
  const work = downloadFile(asked, { folder, signal: stop.signal, onBytes: () => stop.abort() });
  await assert.rejects(work, { code: "ERR_ABORTED" });
  assert.ok(!(await filesThere()).includes("test.jsonl"));
});
