/** Downloads that broke off: gone on with however often, and never held up by what an earlier call left. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { downloadFile } from "../../../connectors/remote/files/download-file.ts";
import type { RemoteFile } from "../../../connectors/remote/files/file-address.ts";
import { type Hub, startHub } from "./hub-server.ts";

const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31 + (i >> 8)) % 251));
const checksum = { kind: "sha256", hex: createHash("sha256").update(content).digest("hex") } as const;

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Of the store, which says of a content what `storeTag` is and no more. */
async function fetched(hub: Hub, known: Partial<RemoteFile> = {}, retries = 5): Promise<Buffer> {
  const file = { url: new URL(`${hub.storeUrl}/a.bin`), ...known };
  return readFile((await downloadFile(file, { folder, retries, timeoutMs: 2000 })).path);
}

/** As a process leaves it that dies with so many bytes there. */
async function dieWith(hub: Hub, bytes: Buffer, known: Partial<RemoteFile> = {}): Promise<void> {
  hub.breaks.push(1000);
  await assert.rejects(fetched(hub, known, 0), { code: "ERR_REMOTE" });
  const [entry = ""] = await readdir(folder);
  await writeFile(join(folder, entry, "a.bin.part"), bytes);
  hub.asked.length = 0;
}

const rangesOf = (hub: Hub): unknown[] => hub.asked.map(({ headers }) => headers.range);

test("a part that is whole is not appended the page of a server that has no more", async () => {
  await using hub = await startHub(content);
  await dieWith(hub, content);
  assert.deepEqual(await fetched(hub), content);
  assert.deepEqual(rangesOf(hub), [`bytes=${content.length}-`]);
});

test("a part that is whole is asked of nobody where its size and checksum are known", async () => {
  await using hub = await startHub(content);
  const known = { checksum, numBytes: content.length };
  await dieWith(hub, content, known);
  assert.deepEqual(await fetched(hub, known), content);
  assert.deepEqual(hub.asked, []);
});

test("a part that a power cut spoilt is fetched again in the same call", async () => {
  await using hub = await startHub(content);
  const known = { checksum, numBytes: content.length };
  await dieWith(hub, Buffer.alloc(content.length), known);
  assert.deepEqual(await fetched(hub, known), content);
  assert.deepEqual(rangesOf(hub), [undefined]);
});

test("a part that is longer than the file, or another than the server's, is given up for the whole file", async () => {
  await using hub = await startHub(content);
  for (const bytes of [Buffer.concat([content, Buffer.from("<Error/>")]), content]) {
    await dieWith(hub, bytes);
    hub.content = content.subarray(0, 200_000);
    assert.deepEqual(await fetched(hub), hub.content);
    assert.deepEqual(rangesOf(hub), [`bytes=${bytes.length}-`, undefined]);
    await rm(folder, { recursive: true });
    hub.content = content;
  }
  await dieWith(hub, content.subarray(0, 1000));
  hub.storeTag = '"another"';
  assert.deepEqual(await fetched(hub), content);
  assert.deepEqual(rangesOf(hub), ["bytes=1000-", undefined]);
});

test("a line that breaks more often than it is asked again ends nothing as long as bytes come", async () => {
  await using hub = await startHub(content);
  hub.breaks.push(...Array.from({ length: 5 }, () => 20_000));
  assert.deepEqual(await fetched(hub, {}, 2), content);
  assert.equal(hub.asked.length, 6);
});

test("a line that always breaks at the same byte of a file without a tag is given up", async () => {
  await using hub = await startHub(content);
  hub.storeTag = undefined;
  hub.breaks.push(...Array.from({ length: 8 }, () => 20_000));
  await assert.rejects(fetched(hub, {}, 1), { code: "ERR_REMOTE" });
  assert.ok(rangesOf(hub).every((range) => range === undefined));
});

test("without a tag a download is gone on with where the caller knows the checksum", async () => {
  await using hub = await startHub(content);
  hub.storeTag = undefined;
  hub.breaks.push(100_000);
  assert.deepEqual(await fetched(hub, { checksum, numBytes: content.length }), content);
  const [first, second] = rangesOf(hub);
  assert.equal(first, undefined);
  assert.match(String(second), /^bytes=[1-9]\d*-$/);
});
