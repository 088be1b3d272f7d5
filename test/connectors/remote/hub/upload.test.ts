/** Files sent to a hub: whole and one commit, or nothing; again after what passes, with the token where it belongs. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fetchModel } from "../../../../connectors/remote/hub/fetch-model.ts";
import { LocalFile } from "../../../../connectors/remote/hub/upload/local-file.ts";
import { type Upload, uploadFiles } from "../../../../connectors/remote/hub/upload/upload.ts";
import { type PushHub, startPushHub } from "./push-hub.ts";

const id = "acme/tiny";
const token = "secret_of_mine";
const weights = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 11 + (i >> 9)) % 251));
const config = Buffer.from('{"model_type":"llama"}');
const digest = createHash("sha256").update(weights).digest("hex");

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-push-"));
  await writeFile(join(folder, "config.json"), config);
  await writeFile(join(folder, "model.safetensors"), weights);
});
afterEach(() => rm(folder, { recursive: true }));

function send(hub: Pick<PushHub, "url">, more: Partial<Upload> = {}, own: string | undefined = token) {
  const file = (name: string, numBytes: number) => ({
    ...{ name, numBytes },
    content: new LocalFile(join(folder, name), { start: 0, end: numBytes }),
  });
  const files = [file("config.json", config.length), file("model.safetensors", weights.length)];
  const upload = { id, revision: "main", isPrivate: false, message: "first", files, ...more };
  return uploadFiles(upload, { endpoint: hub.url, token: own });
}

test("what was sent is what is fetched, byte for byte", async () => {
  await using hub = await startPushHub(id);
  const commit = await send(hub);
  const cache = join(folder, "cache");
  const fetched = await fetchModel(id, { endpoint: hub.url, token: "", cache, offline: false });
  assert.equal(fetched.commit, commit);
  assert.deepEqual(await readFile(join(fetched.path, "model.safetensors")), weights);
  assert.deepEqual(await readFile(join(fetched.path, "config.json")), config);
  assert.deepEqual([...hub.stored.keys()], [digest]);
  assert.deepEqual(hub.commits, [{ summary: "first", branch: "main" }]);
});

test("a repository that is there gets another commit, and large files that it has are not sent again", async () => {
  await using hub = await startPushHub(id);
  await send(hub);
  const first = hub.steps.splice(0);
  const sent: [number, number][] = [];
  await send(hub, { message: "second", onBytes: (...bytes) => sent.push(bytes) });
  assert.ok(first.some((step) => step.startsWith("PUT /store/")));
  assert.ok(!hub.steps.some((step) => step.startsWith("PUT /store/")));
  assert.deepEqual(sent.at(-1), [weights.length + config.length, weights.length + config.length]);
  assert.equal(hub.commits.length, 2);
});

test("progress grows with the bytes of a large file", async () => {
  await using hub = await startPushHub(id);
  const sent: number[] = [];
  await send(hub, { onBytes: (numBytes) => sent.push(numBytes) });
  assert.ok(new Set(sent).size > 4, String(sent));
  assert.deepEqual(
    sent,
    sent.toSorted((a, b) => a - b),
  );
});

test("a branch is made where it is missing, and taken where it is there", async () => {
  await using hub = await startPushHub(id);
  await send(hub, { revision: "try" });
  await send(hub, { revision: "try" });
  assert.deepEqual(
    hub.commits.map(({ branch }) => branch),
    ["try", "try"],
  );
});

test("what fails once and a line that is cut are tried again", async () => {
  await using hub = await startPushHub(id);
  hub.cuts.push(200_000);
  for (const which of [/create/, /preupload/, /batch/, /PUT/, /commit/])
    hub.refusals.push({ which, status: 500 });
  await send(hub);
  assert.deepEqual(hub.stored.get(digest), weights);
  assert.equal(hub.commits.length, 1);
});

test("a refusal is told with its reason and a remedy, without token and signature; nothing is committed", async () => {
  await using hub = await startPushHub(id);
  const cases = [
    [
      /create/,
      401,
      /acme\/tiny: .*api\/repos\/create: expected status 200, got 401: .*HF_TOKEN must be one that is valid/,
    ],
    [/create/, 403, /403.*may write models of acme/],
    [/preupload/, 404, /404.*must be a model's repository/],
    [/PUT/, 400, /store\/[0-9a-f]{64}: expected status 200, got 400\. Remedy: nothing was committed/],
  ] as const;
  for (const [which, status, message] of cases) {
    hub.refusals.push({ which, status, text: `you said ${token}` });
    await assert.rejects(send(hub), (error: Error & { code: string }) => {
      assert.equal(error.code, "ERR_REMOTE");
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret_of_mine|hidden/);
      return true;
    });
  }
  assert.deepEqual([...hub.files], []);
});

test("without a token nobody is asked", async () => {
  await using hub = await startPushHub(id);
  const message = /acme\/tiny: expected a token of the hub, got none. Remedy: HF_TOKEN/;
  const upload = { id, revision: "main", isPrivate: false, message: "", files: [] };
  await assert.rejects(uploadFiles(upload, { endpoint: hub.url, token: undefined }), {
    ...{ code: "ERR_ARGUMENT", message },
  });
  assert.deepEqual(hub.steps, []);
});

test("what should be private is never put into a public repository", async () => {
  await using hub = await startPushHub(id);
  await send(hub, { isPrivate: true });
  assert.equal(hub.visibility, "private");
  await send(hub, { isPrivate: true });
  hub.visibility = "public";
  hub.steps.length = 0;
  const message = /acme\/tiny: expected a private repository, got a public one. Remedy: .*settings/;
  await assert.rejects(send(hub, { isPrivate: true }), { code: "ERR_STATE", message });
  assert.deepEqual(hub.steps, ["POST /api/repos/create"]);
});

test("an aborted upload commits nothing", async () => {
  await using hub = await startPushHub(id);
  const stop = new AbortController();
  hub.onStored = () => stop.abort();
  const message = "acme/tiny: aborted; nothing was committed";
  await assert.rejects(send(hub, { signal: stop.signal }), { code: "ERR_ABORTED", message });
  assert.deepEqual([[...hub.files], hub.commits], [[], []]);
  await assert.rejects(send(hub, { signal: AbortSignal.abort() }), { code: "ERR_ABORTED" });
});

test("an upload that is aborted while the hub commits does not say that nothing was committed", async () => {
  await using hub = await startPushHub(id);
  const stop = new AbortController();
  hub.onCommit = () => stop.abort();
  const message =
    /aborted; the hub had been asked for the commit, which is there whole or not at all: .*commits\/main$/;
  await assert.rejects(send(hub, { signal: stop.signal }), { code: "ERR_ABORTED", message });
  assert.equal(hub.commits.length, 1);
  assert.deepEqual([...hub.files.keys()].sort(), ["config.json", "model.safetensors"]);
});

test("a hub that is gone is told with a remedy", async () => {
  const hub = await startPushHub(id);
  await hub[Symbol.asyncDispose]();
  const stop = AbortSignal.timeout(20_000);
  await assert.rejects(send(hub, { signal: stop }), {
    code: "ERR_REMOTE",
    message: /ECONNREFUSED.*the same call/,
  });
});
