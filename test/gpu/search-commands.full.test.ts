/** Commands that build, search, serve and evaluate with a GPU, emulated, against the same calls on the CPU. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli, runJson, startServing } from "../cli/run-cli.ts";
import { projectRoot } from "../project.ts";
import { texts } from "../search/embed/golden.ts";
import { gpuDevice } from "./device.ts";
import { cosine, wideHeaded } from "./models.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-gpu-commands-"));
after(() => rm(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

interface Found {
  readonly results: readonly { readonly hits: readonly { readonly id: string; readonly score: number }[] }[];
}

/** The same hits, whose scores differ by roundings; where two are as near as that, either may come first. */
function areAlike(cpu: Found, gpu: Found, tolerance: number): void {
  assert.ok(cpu.results.length > 0);
  for (const [i, { hits }] of cpu.results.entries()) {
    const found = new Map(gpu.results[i]?.hits.map(({ id, score }) => [id, score]));
    assert.equal(found.size, hits.length);
    for (const { id, score } of hits)
      assert.ok(
        Math.abs((found.get(id) ?? Number.NaN) - score) < tolerance,
        `${id}: ${found.get(id)}, ${score}`,
      );
  }
}

const devices = ["cpu", gpuDevice] as const;

test("an index is built by an encoder on a GPU, searched there, and its hits are put in order there", async () => {
  const [encoder, ranker] = [await wideHeaded("bert-cls"), await wideHeaded("bert-rank")];
  const rows = texts.passages.map((text, i) => JSON.stringify({ id: `${i}`, title: `t${i}`, text }));
  await writeFile(at("corpus.jsonl"), `${rows.join("\n")}\n`);
  const search = (device: string, ...more: string[]): Promise<Found> => {
    const index = `${at(device)},device=${device},vectorsDevice=${device}`;
    const queries = texts.queries.flatMap((query) => ["--query", query]);
    return runJson("search", "--index", index, "--top-k", `${texts.passages.length}`, ...queries, ...more);
  };
  const bf16 = ["--encoder-dtype", "bfloat16"];
  for (const device of devices) {
    const built = ["index", "build", "--corpus", at("corpus.jsonl"), "--out", at(device), "--dense", "exact"];
    await runJson(...built, "--no-bm25", "--embedder", encoder, ...bf16, "--device", device);
  }
  areAlike(await search("cpu"), await search(gpuDevice), 0.02);
  const reranked = (device: string): Promise<Found> =>
    search(device, "--reranker", `${ranker},dtype=bfloat16,device=${device}`);
  areAlike(await reranked("cpu"), await reranked(gpuDevice), 0.02);
});

test("an encoder on a GPU is served as one on the CPU is", async (t) => {
  const encoder = await wideHeaded("bert-cls");
  const vectorsOn = async (device: string): Promise<Float32Array[]> => {
    const own = ["--index", at("cpu"), "--encoder", encoder, "--encoder-dtype", "bfloat16"];
    const named = ["--encoder-name", "e", "--encoder-device", device];
    const { call, url } = await startServing(t, ["retriever", "serve", ...own, ...named]);
    const body = JSON.stringify({ model: "e", input: texts.queries });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/v1/embeddings`, { method: "POST", headers, body });
    const { data } = (await response.json()) as { data: { embedding: number[] }[] };
    await call.interrupt();
    return data.map(({ embedding }) => Float32Array.from(embedding));
  };
  const [cpu, gpu] = [await vectorsOn("cpu"), await vectorsOn(gpuDevice)];
  assert.equal(cpu.length, texts.queries.length);
  for (const [i, vector] of cpu.entries()) assert.ok(cosine(vector, gpu[i]!) >= 0.999);
});

const model = join(projectRoot, "world", "checkpoint");

test("a text's log-probabilities and an agent's figures on a GPU are those of the CPU", async () => {
  const on = (device: string): string[] => ["--model", model, "--dtype", "bfloat16", "--device", device];
  const scored = (device: string) =>
    runJson<{ logprobs: (number | null)[] }>("score", ...on(device), "--text", "Who directed Nightwinter?");
  const [cpu, gpu] = [await scored("cpu"), await scored(gpuDevice)];
  assert.deepEqual(
    [cpu.logprobs[0], gpu.logprobs[0], gpu.logprobs.length],
    [null, null, cpu.logprobs.length],
  );
  for (const [i, expected] of cpu.logprobs.slice(1).entries())
    assert.ok(Math.abs(expected! - gpu.logprobs[i + 1]!) < 0.06 * Math.max(1, -expected!));

  await runJson("world", "--out", at("world"));
  const [first, second] = (await readFile(at("world/test.jsonl"), "utf8")).split("\n");
  await writeFile(at("test.jsonl"), `${first}\n${second}\n`);
  const corpus = at("world/corpus.jsonl");
  await runJson("index", "build", "--corpus", corpus, "--out", at("index"), "--dense", "exact");
  const evaluated = (device: string) =>
    runJson<Record<string, number>>(
      ...["eval", ...on(device), "--index", `${at("index")},mode=hybrid,vectorsDevice=${device}`],
      ...["--questions", at("test.jsonl"), "--recipe", "world", "--out", at(`eval-${device}.jsonl`)],
    );
  // Greedily: roundings choose another token only where two are nearly as likely.
  const [there, here] = [await evaluated(gpuDevice), await evaluated("cpu")];
  assert.deepEqual([there.em, there.rounds, there.failures], [here.em, here.rounds, here.failures]);
  const asked = ["ask", "Who directed Nightwinter?", ...on(gpuDevice), "--index", at("index")];
  const { code, stdout, stderr } = await runCli(...asked);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /answer: Loromos/);
});
