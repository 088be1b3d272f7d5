/** What a model runs on is checked where it is typed, whether there is a model to run or not. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { runCli } from "../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-devices-"));
after(() => rm(folder, { recursive: true }));
const index = join(folder, "index");
const corpus = [{ id: "1", title: "Paris", text: "The capital of France." }];
await buildIndex({ corpus, out: index });

test("a device that is none, or that nothing would run on, is wrong usage in every command", async () => {
  const build = ["index", "build", "--corpus", "none.jsonl", "--out", join(folder, "never")];
  const serve = ["retriever", "serve", "--index", index, "--port", "0"];
  const search = ["search", "--query", "Paris", "--index"];
  const cases: [readonly string[], string][] = [
    [
      ["generate", "--model", "m", "--prompt", "a", "--device", "gpu"],
      '--device: expected cpu or cuda, got "gpu"',
    ],
    [
      ["generate", "--model", "m", "--prompt", "a", "--device", "cuda:1"],
      '--device: expected cpu or cuda; CUDA_VISIBLE_DEVICES, set before the process starts, says which GPU that is, got "cuda:1"',
    ],
    [[...build, "--device", "nonsense"], '--device: expected cpu or cuda, got "nonsense"'],
    [
      [...build, "--device", "cuda"],
      "--device: expected cpu, where the hashed embedder runs, or --embedder with an encoder's folder; got cuda",
    ],
    [[...serve, "--encoder-device", "nonsense"], '--encoder-device: expected cpu or cuda, got "nonsense"'],
    [[...serve, "--encoder-device", "cuda"], "--encoder-device: expected with --encoder, got cuda alone"],
    [[...search, `${index},device=gpu`], '--index: device: expected cpu or cuda, got "gpu"'],
    [[...search, `${index},vectorsDevice=gpu`], '--index: vectorsDevice: expected cpu or cuda, got "gpu"'],
    [[...build, "--dense", "all"], '--dense: expected one of none, auto, exact, hnsw, got "all"'],
    [[...build, "--dim", "0"], "--dim: expected number to be >=1, got 0"],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await runCli(...args);
    assert.deepEqual([code, stdout, stderr], [2, "", `error: ${message}\n`]);
  }
});

test("options of vectors that a search by words would leave out are refused, and candidates can be told", async () => {
  const search = (spec: string) => runCli("search", "--query", "Paris", "--index", `${index},${spec}`);
  const stray = await search("mode=bm25,vectorsDevice=cuda");
  assert.deepEqual([stray.code, stray.stdout], [1, ""]);
  assert.match(stray.stderr, /^ERR_ARGUMENT: vectorsDevice: expected mode dense or hybrid/m);
  const binary = join(folder, "binary");
  await buildIndex({ corpus, out: binary, dense: { dtype: "b1" } });
  const told = await runCli("search", "--query", "Paris", "--index", `${binary},mode=dense,overFetch=60`);
  assert.equal(told.code, 0, told.stderr);
});
