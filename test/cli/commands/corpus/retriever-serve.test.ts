/** `seekrl retriever serve` from outside: it says where it listens, answers, and stops when told. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Encoder } from "../../../../lib/search/embed/encoder.ts";
import { buildIndex } from "../../../../lib/search/index-folder/build/build.ts";
import { projectRoot } from "../../../project.ts";
import { CliCall, runCli, startServing } from "../../run-cli.ts";
import { startCli } from "../../spawn-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const index = join(folder, "index");
await buildIndex({
  corpus: [
    { id: "1", title: "Paris", text: "Paris is the capital of France." },
    { id: "2", title: "Rome", text: "Rome is the capital of Italy." },
  ],
  out: index,
});

const serve = ["retriever", "serve"];
const serveIndex = [...serve, "--index", index];

const ask = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/retrieve`, {
    method: "POST",
    body: JSON.stringify({ queries: ["capital of Italy"], topk: 1 }),
    headers,
  });

test("an index is served until SIGTERM or SIGINT, which is no failure", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const child = startCli([...serveIndex, "--port", "0", "--json"]);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const answer = await ask((JSON.parse(String(line)) as { url: string }).url);
    assert.deepEqual(await answer.json(), {
      result: [[{ id: "2", contents: '"Rome"\nRome is the capital of Italy.' }]],
    });
    child.kill(signal);
    assert.deepEqual(await once(child, "exit"), [0, null]);
  }
});

test("a key from the environment is asked of clients, and limits are options", async (t) => {
  const args = [...serveIndex, "--max-body-bytes", "10"];
  const { call, url } = await startServing(t, args, { env: { SEEKRL_API_KEY: "k" } });
  assert.equal((await ask(url)).status, 401);
  assert.equal((await ask(url, { authorization: "Bearer k" })).status, 413);
  assert.equal((await call.interrupt()).code, 0);
});

test("an encoder is served beside the index", async (t) => {
  const encoder = join(projectRoot, "test", "golden", "embed", "bert-cls");
  const model = ["--encoder", encoder, "--encoder-name", "tiny"];
  const { url } = await startServing(t, [...serve, "--index", `${index},mode=bm25`, ...model]);
  const body = JSON.stringify({ input: "Rome", model: "tiny", input_type: "query" });
  const answer = await fetch(`${url}/v1/embeddings`, { method: "POST", body });
  const { data } = (await answer.json()) as { data: { embedding: number[] }[] };
  await using same = await Encoder.open(encoder);
  assert.deepEqual(data[0]?.embedding, [...(await same.embedQueries(["Rome"]))]);
});

test("another server is served in every protocol, its answers kept", async (t) => {
  const behind = await startServing(t, serveIndex);
  const { url } = await startServing(t, [...serve, "--retriever", behind.url]);
  const ask = (): Promise<Response> =>
    fetch(`${url}/queries`, { method: "POST", body: JSON.stringify({ queries: ["Italy"], k: 1 }) });
  const expected = { queries: ["Italy"], answers: [["Rome   Rome is the capital of Italy."]] };
  assert.deepEqual(await (await ask()).json(), expected);
  assert.equal((await behind.call.interrupt()).code, 0);
  assert.deepEqual(await (await ask()).json(), expected);
});

test("people are told what is served and where", async () => {
  const call = new CliCall([...serveIndex, "--port", "0"]);
  const line = await call.until(/\n/);
  const [what, url] = line.trimEnd().split(" at ");
  assert.equal(what, index);
  assert.match(url ?? "", /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.deepEqual(await call.interrupt(), { code: 0, stdout: line, stderr: "stopping\n" });
});

test("an index that is not there is a failure", async () => {
  const { code, stdout, stderr } = await runCli("retriever", "serve", "--index", "nowhere", "--port", "0");
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^ERR_IO: /);
});
