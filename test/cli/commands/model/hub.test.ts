/** Models by their names on the hub in place of folders: tokenized, tuned under an adapter, pinned in the run's folder. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { type ModelHub, startModelHub } from "../../../connectors/remote/hub/model-hub.ts";
import { projectRoot } from "../../../project.ts";
import { withCallsJoined } from "../../../site/code-blocks.ts";
import { runCli, runCliIn } from "../../run-cli.ts";
import { withVariables } from "../../variables.ts";

const id = "Qwen/Qwen2.5-0.5B-Instruct";
let [folder, hub] = ["", undefined] as unknown as [string, ModelHub];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-hub-cli-"));
  const names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "world.json"];
  const files = await Promise.all(
    names.map(
      async (name) => [name, await readFile(join(projectRoot, "world", "checkpoint", name))] as const,
    ),
  );
  hub = await startModelHub(id, Object.fromEntries(files));
  Object.assign(process.env, { HF_ENDPOINT: hub.url, HF_HUB_CACHE: join(folder, "cache"), HF_TOKEN: "" });
});
after(async () => {
  await hub?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test("a model is fetched by its name, once, and used from then on", async () => {
  const first = await runCli("tokenize", "--model", id, "--text", "Who founded Evertech?", "--json");
  assert.equal(first.code, 0, first.stderr);
  assert.match(
    first.stderr,
    /Instruct: commit c{40}, [\d.]+ MB fetched: .*models--Qwen--Qwen2.5-0.5B-Instruct/,
  );
  const here = await runCli(
    "tokenize",
    "--model",
    join(projectRoot, "world", "checkpoint"),
    "--text",
    "Who founded Evertech?",
    "--json",
  );
  assert.equal(first.stdout, here.stdout);
  const again = await runCli("tokenize", "--model", `${id}@main`, "--text", "Who", "--json");
  assert.match(again.stderr, /from the cache/);
});

test("a training notes name and commit, and its adapter names its model by them", async () => {
  const data = join(folder, "data.jsonl");
  const out = join(folder, "run");
  await writeFile(data, `${JSON.stringify({ prompt: "Who founded Evertech?", completion: " Mira" })}\n`);
  const sizes = ["--epochs", "1", "--checkpoint-every", "1"];
  const tuned = await runCli(
    "sft",
    "--model",
    id,
    "--data",
    data,
    "--out",
    out,
    "--lora",
    "rank=2",
    ...sizes,
  );
  assert.equal(tuned.code, 0, tuned.stderr);
  assert.match(
    await readFile(join(out, "config.yaml"), "utf8"),
    /model: "?hf:\/\/Qwen\/Qwen2.5-0.5B-Instruct@c{40}"?\n/,
  );
  const peft = JSON.parse(await readFile(join(out, "model", "adapter_config.json"), "utf8"));
  assert.deepEqual([peft.base_model_name_or_path, peft.revision], [id, hub.commit]);
  const asked = await runCli(
    "generate",
    "--model",
    join(out, "model"),
    "--prompt",
    "Who",
    "--max-tokens",
    "2",
    "--json",
  );
  assert.equal(asked.code, 0, asked.stderr);
  assert.doesNotMatch(asked.stderr, /warning/);
});

test("a path with a slip of the pen is said to be no path, and no name either", async () => {
  const { code, stderr } = await runCli("generate", "--model", "modles/qwen", "--prompt", "Who");
  assert.equal(code, 1);
  assert.match(stderr, /modles\/qwen: no such file or folder here; on the hub: .*got 404/);
});

test("a model that the package brings is found by the path that a clone has, in any folder", async () => {
  const { code, stderr } = await runCliIn(
    folder,
    "generate",
    "--model",
    "world/checkpoint",
    "--prompt",
    "Who",
  );
  assert.equal(code, 0, stderr);
  const shipped = relative(folder, join(projectRoot, "world", "checkpoint"));
  assert.ok(stderr.includes(`world/checkpoint: the one that seekrl brings, ${shipped}\n`), stderr);
});

test("a model of the hub is planned from its config.json alone, later without the hub", async () => {
  const cache = join(folder, "plan-cache");
  using _cache = withVariables({ HF_HUB_CACHE: cache });
  const plan = (model: string) => runCli("plan", "--model", model, "--gpus", "1", "--json");
  const here = await plan(join(projectRoot, "world", "checkpoint"));
  const first = await plan(id);
  assert.equal(first.code, 0, first.stderr);
  assert.deepEqual(JSON.parse(first.stdout).plans, JSON.parse(here.stdout).plans);
  assert.deepEqual(
    await readdir(join(cache, "models--Qwen--Qwen2.5-0.5B-Instruct", "snapshots", hub.commit)),
    ["config.json"],
  );
  using _away = withVariables({ HF_HUB_OFFLINE: "1", HF_ENDPOINT: "http://127.0.0.1:9" });
  assert.deepEqual((await plan(id)).stdout, first.stdout);
  const other = await plan("Qwen/Qwen9");
  assert.match(
    other.stderr,
    /^ERR_IO: Qwen\/Qwen9: no such file or folder here; .*not in the cache.*Remedy/m,
  );
  assert.equal(other.code, 1);
});

test("the calls of the page about models end well", async () => {
  const page = await readFile(join(projectRoot, "docs", "models.md"), "utf8");
  const calls = [
    ...withCallsJoined(page).matchAll(/^npx seekrl (generate --model Qwen\/.*) --prompt "(.*)"$/gm),
  ];
  assert.equal(calls.length, 2);
  for (const [, call = "", prompt = ""] of calls) {
    const { code, stderr } = await runCli(...call.split(" "), "--prompt", prompt, "--max-tokens", "2");
    assert.equal(code, 0, stderr);
  }
});
