/** `seekrl retriever serve` from outside: it says where it listens, answers, and stops when told. */
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Encoder } from "../../../../lib/embed/encoder.ts";
import { buildIndex } from "../../../../lib/index-folder/build/build.ts";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";

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

interface Served {
  readonly child: ChildProcessWithoutNullStreams;
  readonly url: string;
}

/** Starts the program and waits for the address it prints. */
function serve(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Served> {
  return serveOn(["--index", index], env, ...args);
}

async function serveOn(where: readonly string[], env: NodeJS.ProcessEnv, ...args: string[]): Promise<Served> {
  const program = join(projectRoot, "bin", "seekrl.mjs");
  const all = [program, "retriever", "serve", ...where, "--port", "0", "--json", ...args];
  const child = spawn(process.execPath, all, { env: { ...process.env, ...env } });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, url: (JSON.parse(String(line)) as { url: string }).url };
}

async function stop(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<number | null> {
  child.kill(signal);
  const [code] = (await once(child, "exit")) as [number | null];
  return code;
}

const ask = (url: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/retrieve`, {
    method: "POST",
    body: JSON.stringify({ queries: ["capital of Italy"], topk: 1 }),
    headers,
  });

test("an index is served until SIGTERM or SIGINT, which is no failure", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const { child, url } = await serve({});
    const answer = await ask(url);
    assert.deepEqual(await answer.json(), {
      result: [[{ id: "2", contents: '"Rome"\nRome is the capital of Italy.' }]],
    });
    assert.equal(await stop(child, signal), 0);
  }
});

test("a key from the environment is asked of clients, and limits are options", async () => {
  const { child, url } = await serve({ SEEKRL_API_KEY: "k" }, "--max-body-bytes", "10");
  assert.equal((await ask(url)).status, 401);
  assert.equal((await ask(url, { authorization: "Bearer k" })).status, 413);
  assert.equal(await stop(child, "SIGTERM"), 0);
});

test("an encoder is served beside the index", async () => {
  const encoder = join(projectRoot, "test", "golden", "embed", "bert-cls");
  const { child, url } = await serve(
    {},
    "--index",
    "mode=bm25",
    "--encoder",
    encoder,
    "--encoder-name",
    "tiny",
  );
  const body = JSON.stringify({ input: "Rome", model: "tiny", input_type: "query" });
  const answer = await fetch(`${url}/v1/embeddings`, { method: "POST", body });
  const { data } = (await answer.json()) as { data: { embedding: number[] }[] };
  assert.equal(await stop(child, "SIGTERM"), 0);
  await using same = await Encoder.open(encoder);
  assert.deepEqual(data[0]?.embedding, [...(await same.embedQueries(["Rome"]))]);
});

test("another server is served in every protocol, its answers kept", async () => {
  const behind = await serve({});
  const gateway = await serveOn(["--retriever", behind.url], {});
  const ask = (): Promise<Response> =>
    fetch(`${gateway.url}/queries`, { method: "POST", body: JSON.stringify({ queries: ["Italy"], k: 1 }) });
  const expected = { queries: ["Italy"], answers: [["Rome   Rome is the capital of Italy."]] };
  assert.deepEqual(await (await ask()).json(), expected);
  assert.equal(await stop(behind.child, "SIGTERM"), 0);
  assert.deepEqual(await (await ask()).json(), expected);
  assert.equal(await stop(gateway.child, "SIGTERM"), 0);
});

test("people are told what is served and where", async () => {
  const program = join(projectRoot, "bin", "seekrl.mjs");
  const child = spawn(process.execPath, [program, "retriever", "serve", "--index", index, "--port", "0"]);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const [what, url] = String(line).trimEnd().split(" at ");
  assert.equal(what, index);
  assert.match(url ?? "", /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(await stop(child, "SIGTERM"), 0);
});

test("an index that is not there is a failure", async () => {
  const { code, stdout, stderr } = await runCli("retriever", "serve", "--index", "nowhere", "--port", "0");
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /^ERR_IO: /);
});
