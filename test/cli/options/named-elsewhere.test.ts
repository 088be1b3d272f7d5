/** Folders that an adapter or an index names: this user's own word, or shown and asked about. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Model } from "../../../lib/model/model.ts";
import { foreignEncoder } from "../../../lib/search/index-folder/embedders.ts";
import { runCli } from "../run-cli.ts";
import { writeTinyModel } from "../tiny-folder.ts";
import { withVariables } from "../variables.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const path = (...names: string[]): string => join(folder, ...names);
const variables = withVariables({ SEEKRL_CACHE: path("cache") });
after(() => variables[Symbol.dispose]());
await writeTinyModel(path("model"));
const model = await Model.load(path("model"));
const adapter = await Adapter.create(model, { rank: 2 });
await adapter.save(path("adapter"));
adapter.close();
model.close();

const score = (...args: string[]) => runCli("score", "--ids", "1,2,3", ...args);

test("the model that an adapter names is loaded where this user wrote the name", async () => {
  const { code, stderr } = await score("--model", path("adapter"));
  assert.equal(code, 0, stderr);
});

test("a model that somebody else's adapter names is shown, and loaded with --trust or when it is named", async () => {
  using _other = withVariables({ SEEKRL_CACHE: path("other-cache") });
  const { code, stderr } = await score("--model", path("adapter"));
  assert.equal(code, 2);
  assert.match(
    stderr,
    new RegExp(`adapter: path base_model_name_or_path: ${path("model")}, which no command`),
  );
  assert.equal((await score("--model", path("adapter"), "--trust")).code, 0);
  assert.equal((await score("--model", path("model"), "--adapter", path("adapter"))).code, 0);
});

test("an encoder that somebody else's index names is shown and not opened", async () => {
  const encoder = {
    ...{ kind: "encoder", path: path("none"), dim: 8, fingerprint: "0", dtype: "float32", pooling: "mean" },
    ...{ normalise: true, queryPrefix: "", passagePrefix: "", maxTokens: 8 },
  };
  const graph = { connectivity: 16, expansionAdd: 64, expansionSearch: 64 };
  const dense = { embedder: encoder, kind: "exact", metric: "cos", dtype: "f32", rescore: false, graph };
  await mkdir(path("index"));
  const manifest = { format: "seekrl-index", version: 2, settings: { dense }, segments: [] };
  await writeFile(path("index", "manifest.json"), JSON.stringify(manifest));
  assert.equal(await foreignEncoder(path("index")), path("none"));
  const { code, stderr } = await runCli("search", "--index", path("index"), "--query", "x");
  assert.equal(code, 2, stderr);
  assert.match(
    stderr,
    new RegExp(`index: path encoder: ${path("none")}, which no command.*Remedy: --trust, or `),
  );
});

test("a prompt's file that somebody else's record names is shown and not read", async () => {
  await mkdir(path("run", "model"), { recursive: true });
  await writeTinyModel(path("run", "model"));
  await writeFile(path("secret.txt"), "{question} mine");
  const recipe = { name: "research", promptFile: path("secret.txt") };
  await writeFile(path("run", "config.yaml"), JSON.stringify({ recipe }));
  const { code, stderr } = await runCli(
    ...["ask", "--model", path("run", "model"), "x?", "--retriever", "http://127.0.0.1:9"],
  );
  assert.equal(code, 1);
  assert.match(stderr, /config\.yaml: path recipe\.promptFile: \S+secret\.txt, which no command/);
});
