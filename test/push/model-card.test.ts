/** The model card that is made: metadata as the hub reads it, and what a reader is told of training and scores. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { parse } from "yaml";
import { pushModel } from "../../apps/push/push-model.ts";
import { modelFiles, resultLines, writeAdapter, writeFiles, writeRun } from "./pushed-things.ts";

type Untyped = ReturnType<typeof JSON.parse>;

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "seekrl-card-"));
});
afterEach(() => rm(root, { recursive: true }));

async function cardOf(folder: string, options: object = {}): Promise<{ card: string; data: Untyped }> {
  const { card } = await pushModel(folder, "acme/searcher", { dryRun: true, ...options });
  const [, yaml = ""] = /^---\n([\s\S]*?)\n---\n/.exec(card) ?? [];
  const data = parse(yaml);
  checkMetadata(data);
  return { card, data };
}

/** What the hub's documentation asks of metadata: names of models and data sets, and whole results. */
function checkMetadata(data: Untyped): void {
  const isId = (text: unknown): boolean => typeof text === "string" && /^[\w.-]+\/[\w.-]+$/.test(text);
  if ("base_model" in data) assert.ok(isId(data.base_model), data.base_model);
  for (const dataset of data.datasets ?? []) assert.ok(isId(dataset), dataset);
  assert.ok(data.tags.every((tag: unknown) => typeof tag === "string" && tag !== ""));
  for (const { name, results } of data["model-index"] ?? []) {
    assert.equal(typeof name, "string");
    for (const { task, dataset, metrics } of results) {
      for (const text of [task.type, dataset.type, dataset.name])
        assert.ok(typeof text === "string" && text !== "");
      assert.ok(metrics.length > 0);
      for (const { type, value } of metrics) {
        assert.ok(typeof type === "string" && type !== "");
        assert.equal(typeof value, "number");
      }
    }
  }
}

test("a run's card has its base with the commit, recipe, algorithm, licence and last scores as metadata", async () => {
  const run = await writeRun(join(root, "run"), { evalQuestions: [join(root, "dev.jsonl")] });
  const { data } = await cardOf(run, { license: "apache-2.0" });
  assert.deepEqual(data, {
    license: "apache-2.0",
    library_name: "transformers",
    pipeline_tag: "text-generation",
    base_model: "acme/base",
    base_model_relation: "finetune",
    base_model_revision: "b".repeat(40),
    tags: ["seekrl", "search-agent", "search-r1", "grpo"],
    "model-index": [
      {
        name: "searcher",
        results: [
          {
            task: { type: "question-answering", name: "Question answering with search" },
            dataset: { type: "dev", name: "dev" },
            metrics: [
              { type: "exact_match", name: "em", value: 0.5 },
              { type: "f1", name: "f1", value: 0.625 },
            ],
          },
        ],
      },
    ],
  });
});

test("data is told by names and digests or by its place on the hub, never by a path of this machine", async () => {
  const text = '{"question": "who?", "answers": ["me"]}\n';
  const fetched = await writeFiles(join(root, "fetched"), {
    "train.parquet": "rows",
    "file.json": JSON.stringify({
      url: "https://huggingface.co/datasets/acme/questions/resolve/main/data/train.parquet",
      sha256: "0".repeat(64),
    }),
  });
  await writeFile(join(root, "own.jsonl"), text);
  const questions = [join(root, "own.jsonl"), join(fetched, "train.parquet"), join(root, "gone.jsonl")];
  const run = await writeRun(join(root, "run"), { questions, index: { folder: join(root, "wiki") } });
  const { card, data } = await cardOf(run);
  assert.deepEqual(data.datasets, ["acme/questions"]);
  assert.ok(
    card.includes(`| questions | \`own.jsonl\` | \`${createHash("sha256").update(text).digest("hex")}\` |`),
  );
  assert.ok(card.includes("| questions | `hf://datasets/acme/questions@main/data/train.parquet` |"));
  assert.ok(card.includes("| questions | `gone.jsonl` |  |"));
  assert.ok(card.includes("| index | `wiki` |  |"));
  assert.ok(!card.includes(root) && !card.includes("/home/me"), card);
});

test("nothing of a file that somebody else's record or adapter names comes into a card", async () => {
  const secret = "pin: 4711\n";
  await writeFile(join(root, "secret"), secret);
  const index = await writeFiles(join(root, "own-index"), { "manifest.json": secret });
  const address = { url: "https://host.example/private/secret-name", sha256: "0".repeat(64) };
  await writeFile(join(root, "file.json"), JSON.stringify(address));
  const model = await writeRun(join(root, "own"), { model: "secret-org/secret-base" });
  const named = {
    questions: join(root, "secret"),
    evalQuestions: [join(root, "secret")],
    index: { folder: index },
  };
  const run = await writeRun(join(root, "run"), { ...named, model: join(model, "model") });
  const digest = createHash("sha256").update(secret).digest("hex");
  const said = new RegExp(`${digest}|secret-name|secret-org`, "g");
  assert.equal((await cardOf(run)).card.match(said)?.length, 6, "of an own run all of it");
  const record = join(run, "config.yaml");
  await writeFile(record, (await readFile(record, "utf8")).replace("seed: 3", "seed: 4"));
  const { card } = await cardOf(run);
  assert.doesNotMatch(card, said);
  assert.ok(card.includes("| questions | `secret` |  |"));
  const adapter = await writeAdapter(join(root, "a"), join(model, "model"));
  assert.doesNotMatch((await cardOf(adapter)).card, said);
});

test("settings that are not the recipe's are told with both values, and no others", async () => {
  const { card } = await cardOf(await writeRun(join(root, "run")));
  const [, table = ""] = /### Settings that are not the recipe's\n\n([\s\S]*?)\n\n/.exec(card) ?? [];
  assert.match(table, /\| algorithm\.kl\.coef \| 0\.5 \| 0\.001 \|/);
  assert.match(table, /\| batchQuestions \| 8 \| 512 \|/);
  assert.doesNotMatch(table, /estimator|entropyCoef|samples/);
});

test("scores of files of results have their intervals, set by set", async () => {
  const run = await writeRun(join(root, "run"));
  const [nq, both] = [join(root, "nq.jsonl"), join(root, "both.jsonl")];
  await writeFile(nq, resultLines("nq", [1, 0, 1, 0]));
  await writeFile(both, resultLines("hotpotqa", [1, 1, 1]) + resultLines("/data/of/me/musique", [0, 0]));
  const { card, data } = await cardOf(run, { evaluations: [nq, both] });
  const found = data["model-index"][0].results.map(({ dataset, metrics }: Untyped) => [
    ...[dataset.name, metrics[0].value],
  ]);
  assert.deepEqual(found, [
    ["nq", 0.5],
    ["hotpotqa", 1],
    ["musique", 0],
  ]);
  assert.match(card, /\| nq \| 4 \| 0\.500 \(0\.000 to 1\.000\) \| 0\.500 \(/);
  assert.match(card, /\| hotpotqa \| 3 \| 1\.000 \(1\.000 to 1\.000\)/);
});

test("a file that is no evaluation is refused", async () => {
  const run = await writeRun(join(root, "run"));
  const path = join(root, "other.jsonl");
  await writeFile(path, '{"question": "who?"}\n');
  await assert.rejects(cardOf(run, { evaluations: [path] }), { code: "ERR_FORMAT", message: /other\.jsonl/ });
});

test("an adapter's card is for peft, on the model that it names, however many trainings stand between", async () => {
  const commit = "c".repeat(40);
  const { card, data } = await cardOf(await writeAdapter(join(root, "a"), "acme/base", commit));
  assert.deepEqual(
    [data.library_name, data.base_model, data.base_model_relation, data.base_model_revision],
    ["peft", "acme/base", "adapter", commit],
  );
  assert.match(card, /AutoPeftModelForCausalLM\.from_pretrained\("acme\/searcher"\)/);
  const first = await writeRun(join(root, "first"));
  const second = await writeRun(join(root, "second"), { model: join(first, "model") });
  assert.equal((await cardOf(second)).data.base_model, "acme/base");
  const local = await cardOf(await writeAdapter(join(root, "b"), "/home/me/models/qwen"));
  assert.equal(local.data.base_model, undefined);
  assert.match(local.card, /A LoRA adapter on `qwen`/);
});

test("a card of weights in our own blocks shows no program of transformers", async () => {
  const config = '{"quantization_config":{"quant_method":"seekrl","weights":"int8"}}';
  const folder = await writeFiles(join(root, "m"), { ...modelFiles, "config.json": config });
  const { card, data } = await cardOf(folder);
  assert.equal(data.library_name, "seekrl");
  assert.match(card, /npx seekrl ask .* --model acme\/searcher/);
  assert.doesNotMatch(card, /transformers/);
});
