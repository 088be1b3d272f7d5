/** Run folders of the commands that train, as a user meets them. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse, stringify } from "yaml";
import { trainOptions } from "../../../../apps/cli/open/training-plan.ts";
import { resolvedOptions, trainedRecipe } from "../../../../apps/cli/options/training-options.ts";
import { lockFile, lockFolder } from "../../../../lib/base/files/folder-lock.ts";
import type { Recipe } from "../../../../lib/recipes/recipe.ts";
import { algorithms } from "../../../../lib/train/algorithm/algorithm.ts";
import { startFaultServer } from "../../../connectors/remote/fault-server.ts";
import { startModelHub } from "../../../connectors/remote/hub/model-hub.ts";
import { projectRoot } from "../../../project.ts";
import { runCli, runCliIn } from "../../run-cli.ts";
import { resultOf, startCli } from "../../spawn-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";
import { withVariables } from "../../variables.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);
await writeTinyModel(path("model"));
const rows = ["a", "b", "c", "d"].map((word) => ({ prompt: `${word}?`, completion: ` ${word}.` }));
const asLines = (values: readonly object[]): string =>
  values.map((row) => `${JSON.stringify(row)}\n`).join("");
await writeFile(path("data.jsonl"), asLines(rows));
await writeFile(path("other.jsonl"), asLines(rows.slice(1)));

const sft = (...args: string[]) =>
  runCli("sft", "--model", path("model"), "--batch-size", "2", "--learning-rate", "1e-3", ...args);
await writeFile(
  path("questions.jsonl"),
  asLines(["a", "b", "c"].map((id) => ({ id, question: `${id}?`, answers: [id] }))),
);
const train = (...args: string[]) =>
  runCli(
    ...["train", "--model", path("model"), "--questions", path("questions.jsonl"), "--baseline", "cot"],
    ...["--algorithm", "rloo", "--batch-questions", "2", "--samples", "2", "--learning-rate", "1e-3"],
    ...["--limits", "maxResponseTokens=4", ...args],
  );
const weights = (run: string) => readFile(path(`${run}/model/model.safetensors`));

test("the configuration in a run's folder gives the same run again", async () => {
  const first = await sft("--data", path("data.jsonl"), "--epochs", "2", "--out", path("first"));
  assert.equal(first.code, 0, first.stderr);
  const again = await runCli("sft", "--config", path("first/config.yaml"), "--out", path("again"));
  assert.equal(again.code, 0, again.stderr);
  assert.ok((await weights("first")).equals(await weights("again")));
});

test("data of the hub is trained on by its address, which the run's folder pins to a commit", async () => {
  await using hub = await startModelHub("acme/talk", { "sets/train.jsonl": Buffer.from(asLines(rows)) });
  using _hub = withVariables({ HF_ENDPOINT: hub.url, HF_TOKEN: "", HF_HUB_CACHE: path("hub") });
  const data = ["--data", "hf://datasets/acme/talk/sets/train.jsonl", "--epochs", "2"];
  const given = ["--model", path("model"), "--batch-size", "2", "--learning-rate", "1e-3"];
  const there = await runCli("sft", ...given, ...data, "--out", path("hub-run"));
  assert.equal(there.code, 0, there.stderr);
  const config = parse(await readFile(path("hub-run/config.yaml"), "utf8"));
  assert.equal(config.data, `hf://datasets/acme/talk@${hub.commit}/sets/train.jsonl`);
  hub.files.set("sets/train.jsonl", Buffer.from("changed"));
  using _offline = withVariables({ HF_HUB_OFFLINE: "1" });
  const again = await runCli("sft", "--config", path("hub-run/config.yaml"), "--out", path("hub-again"));
  assert.equal(again.code, 0, again.stderr);
  assert.ok((await weights("hub-run")).equals(await weights("hub-again")));
});

test("a training goes on with the commits of its run, wherever the branches of the hub stand by then", async () => {
  const files = Object.fromEntries(
    await Promise.all(
      (await readdir(path("model"))).map(
        async (name) => [name, await readFile(path(`model/${name}`))] as const,
      ),
    ),
  );
  await using hub = await startModelHub("acme/moving", files);
  using _hub = withVariables({ HF_ENDPOINT: hub.url, HF_TOKEN: "", HF_HUB_CACHE: path("moving-hub") });
  const given = ["--model", "acme/moving", "--data", path("data.jsonl"), "--batch-size", "2"];
  const run = (...args: string[]) =>
    runCli("sft", ...given, "--learning-rate", "1e-3", "--checkpoint-every", "1", ...args);
  const first = await run("--epochs", "1", "--out", path("moving"));
  assert.equal(first.code, 0, first.stderr);
  hub.files.set("generation_config.json", Buffer.from('{ "eos_token_id": 1 }'));
  hub.commit = "e".repeat(40);
  const on = await run("--epochs", "2", "--out", path("moving"));
  assert.equal(on.code, 0, on.stderr);
  assert.match(on.stderr, /^hf:\/\/acme\/moving@c{40}: commit c{40}, from the cache/m);
  const other = await run("--epochs", "1", "--out", path("moving-anew"));
  assert.match(other.stderr, /^acme\/moving: commit e{40}/m);
});

test("a training's config.yaml is resolved: from another folder it gives the same run, and its own goes on", async () => {
  const sizes = ["--model", "model", "--questions", "questions.jsonl", "--baseline", "cot", "--steps", "2"];
  const own = ["--algorithm", "rloo", "--batch-questions", "4", "--samples", "2", "--learning-rate", "1e-3"];
  const given = [...sizes, ...own, "--limits", "maxResponseTokens=4", "--out", "here"];
  const first = await runCliIn(folder, "train", ...given);
  assert.equal(first.code, 0, first.stderr);
  assert.match(
    first.stderr,
    /^warning: a step asks 4 questions of 3, some of them more than once\. Remedy: /m,
  );
  const config = parse(await readFile(path("here/config.yaml"), "utf8"));
  assert.deepEqual(
    [config.model, config.questions, config.out, config.limits.maxTurns, config.temperature],
    [path("model"), [path("questions.jsonl")], path("here"), 5, 1],
  );
  const moved = await runCliIn(
    projectRoot,
    "train",
    "--config",
    path("here/config.yaml"),
    "--out",
    path("there"),
  );
  assert.equal(moved.code, 0, moved.stderr);
  const metrics = async (run: string) => {
    const lines = (await readFile(path(`${run}/metrics.jsonl`), "utf8")).trimEnd().split("\n");
    const all = lines.map((line) => Object.entries(JSON.parse(line) as object));
    return all.map((entries) => entries.filter(([name]) => !/seconds|per_second|process/.test(name)));
  };
  assert.deepEqual(await metrics("there"), await metrics("here"));
  assert.ok((await weights("here")).equals(await weights("there")));
  const same = await runCliIn(projectRoot, "train", "--config", path("here/config.yaml"));
  assert.match(same.stdout, /^2 steps were done before/, same.stderr);
  const more = await runCliIn(folder, "train", ...given, "--steps", "3");
  assert.match(more.stdout, /^3 steps, reward/, more.stderr);
});

test("resolved options are options, and those of the same training, for every recipe and algorithm", () => {
  const names = ["rag-r1", "search-r1", "research", "r1-searcher", "agentic-rag-r1", "world"];
  const changes = [
    {},
    ...Object.keys(algorithms).map((name) => ({ algorithm: { name } })),
    { algorithm: { kl: { coef: 0 }, clip: { dual: 3 }, aggregation: 500 } },
    {
      steps: 7,
      temperature: 0.5,
      limits: { topK: 2 },
      optimizer: { beta2: 0.9 },
      critic: { warmupSteps: 3 },
    },
  ];
  for (const name of names) {
    for (const change of changes) {
      const base = { model: "m", out: "o", questions: ["q"], recipe: { name } };
      const given = trainOptions.parse({ ...base, ...change });
      const recipe = trainedRecipe(given);
      const resolved = trainOptions.parse(parse(stringify(resolvedOptions(given, recipe))));
      const kept = ({ algorithm, training, limits, sampling }: Recipe): unknown =>
        JSON.parse(JSON.stringify({ algorithm, training, limits, sampling }));
      assert.deepEqual(kept(trainedRecipe(resolved)), kept(recipe), `${name} ${JSON.stringify(change)}`);
    }
  }
});

test("a resumed run is refused with the flag that differs and both values; more epochs are welcome", async () => {
  const run = (...args: string[]) => sft("--out", path("resumed"), ...args);
  assert.equal((await run("--data", path("data.jsonl"))).code, 0);
  const rate = await run("--data", path("data.jsonl"), "--optimizer", "weightDecay=0.5");
  assert.deepEqual(
    [rate.code, /--optimizer weightDecay: expected none, got 0\.5/.test(rate.stderr)],
    [1, true],
    rate.stderr,
  );
  const data = await run("--data", path("other.jsonl"));
  assert.match(data.stderr, /--data: expected "content [0-9a-f]{16}", got "content [0-9a-f]{16}"/);
  await writeFile(path("moved.jsonl"), asLines(rows));
  const more = await run(
    "--data",
    path("moved.jsonl"),
    "--epochs",
    "2",
    "--checkpoint-every",
    "1",
    "--keep",
    "5",
  );
  assert.match(more.stdout, /^4 steps, loss/, more.stderr);
});

test("the best checkpoint by validation stays", async () => {
  const held = ["--validation", path("other.jsonl"), "--eval-every", "1"];
  const run = await sft("--data", path("data.jsonl"), "--out", path("best"), "--epochs", "2", ...held);
  assert.equal(run.code, 0, run.stderr);
  const metrics = (await readFile(path("best/metrics.jsonl"), "utf8")).trimEnd().split("\n");
  const losses = metrics.map((line) => (JSON.parse(line) as Record<string, number>)["eval/loss"]!);
  const best = losses.indexOf(Math.min(...losses)) + 1;
  const { step } = JSON.parse(await readFile(path("best/checkpoints/best/state.json"), "utf8")) as {
    step: number;
  };
  assert.equal(step, best);
});

test("sft, demo and data generate refuse a folder or file that another process writes", async () => {
  const [run, out] = [path("held"), path("held.jsonl")];
  using _run = await lockFolder(run);
  using _file = await lockFile(out);
  const agent = ["--model", path("model"), "--recipe", "search-r1,memoryOnly"];
  const teacher = [...agent, "--questions", path("questions.jsonl")];
  const results = await Promise.all([
    sft("--data", path("data.jsonl"), "--out", run),
    runCli("demo", "--quick", "--out", run),
    runCli("data", "generate", ...teacher, "--out", out),
  ]);
  const held = new RegExp(`^ERR_STATE: .*lock: locked by process ${process.pid} on `, "m");
  for (const { code, stderr } of results) {
    assert.match(stderr, held);
    assert.equal(code, 1);
  }
});

test("a terminal that is closed ends a training as Ctrl-C does, with a checkpoint of its last step", async () => {
  const args = ["sft", "--model", path("model"), "--data", path("data.jsonl"), "--out", path("hung-up")];
  const child = startCli([...args, "--epochs", "100000", "--batch-size", "2"]);
  const result = resultOf(child);
  const metrics = () => readFile(path("hung-up/metrics.jsonl"), "utf8").catch(() => "");
  while ((await metrics()).split("\n").length <= 3) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill("SIGHUP");
  const { code, stderr } = await result;
  assert.equal(code, 1);
  assert.match(stderr, /ERR_ABORTED: interrupted; the same command goes on from the last finished step/);
  const resumed = await sft(
    "--data",
    path("data.jsonl"),
    "--out",
    path("hung-up"),
    "--learning-rate",
    "1e-5",
  );
  assert.match(resumed.stderr, /expected at least the \d+ that the run has done, got 2/);
});

test("weights that are not finite are never a checkpoint or a model: the run fails and says so", async () => {
  const run = await sft(
    "--data",
    path("data.jsonl"),
    "--epochs",
    "0.5",
    "--out",
    path("burst"),
    "--learning-rate",
    "1e39",
  );
  assert.equal(run.code, 1, run.stderr);
  assert.match(
    run.stderr,
    /^ERR_RANGE: step 1: the weights are not finite any more, and were not saved .* lower learning rate$/m,
  );
  assert.deepEqual(await readdir(path("burst/checkpoints")), []);
  await assert.rejects(readFile(path("burst/model/model.safetensors")), { code: "ENOENT" });
  const later = await sft("--data", path("data.jsonl"), "--out", path("later"), "--learning-rate", "1e39");
  assert.match(
    later.stderr,
    /^ERR_RANGE: step 2: the gradient is not finite, and was not applied \(gradient norm: .*\)\. Remedy: .* lower learning rate$/m,
  );
});

test("fewer steps than were done are refused with both numbers, and config.yaml stays as it was", async () => {
  const tuning = ["--data", path("data.jsonl"), "--out", path("fewer")];
  assert.equal((await sft(...tuning, "--epochs", "2")).code, 0);
  assert.match((await sft(...tuning, "--epochs", "2")).stdout, /^4 steps were done before/);
  const config = await readFile(path("fewer/config.yaml"), "utf8");
  const fewer = await sft(...tuning);
  assert.equal(fewer.code, 1);
  assert.match(fewer.stderr, /^ERR_STATE: .*steps: expected at least the 4 that the run has done, got 2/m);
  assert.equal(await readFile(path("fewer/config.yaml"), "utf8"), config);
});

test("a run that ended before its first checkpoint begins again, and says so", async () => {
  const tuning = ["--data", path("data.jsonl"), "--out", path("lost")];
  const first = await sft(...tuning);
  assert.doesNotMatch(first.stderr, /begins again|resumes/);
  await rm(path("lost/checkpoints"), { recursive: true });
  const again = await sft(...tuning);
  assert.match(
    again.stderr,
    /^begins again: the last run ended before its first checkpoint \(--checkpoint-every 50\)$/m,
  );
  assert.match(again.stdout, /^2 steps, loss/);
});

test("a training goes on over an index that was built again; over another corpus it is refused", async () => {
  const corpus = (text: string) =>
    writeFile(
      path("corpus.jsonl"),
      asLines([
        { id: "1", title: "A", text },
        { id: "2", title: "B", text: "b" },
      ]),
    );
  const build = () => runCli("index", "build", "--corpus", path("corpus.jsonl"), "--out", path("index"));
  const searched = (steps: string) =>
    runCli(
      ...[
        "train",
        "--model",
        path("model"),
        "--questions",
        path("questions.jsonl"),
        "--index",
        path("index"),
      ],
      ...["--algorithm", "rloo", "--batch-questions", "2", "--samples", "2", "--learning-rate", "1e-3"],
      ...["--limits", "maxTurns=1,maxResponseTokens=4", "--out", path("searched"), "--steps", steps],
    );
  await corpus("a");
  await build();
  assert.match((await searched("1")).stdout, /^1 steps, reward/);
  await build();
  const again = await searched("2");
  assert.match(again.stdout, /^2 steps, reward/, again.stderr);
  await corpus("c");
  await build();
  assert.match((await searched("3")).stderr, /--index folder: expected "content/);
});

test("a run that a server rewards goes on with a server only, wherever that stands", async () => {
  const reply = ({ body }: { body: unknown }) => ({
    rewards: (body as { query: string[] }).query.map((_, i) => i),
  });
  await using server = await startFaultServer(reply);
  await using moved = await startFaultServer(reply);
  const run = (steps: string, ...args: string[]) =>
    train("--out", path("rewarded"), "--steps", steps, ...args);
  const first = await run("1", "--reward-url", server.url);
  assert.match(first.stdout, /^1 steps, reward/, first.stderr);
  const without = await run("2");
  assert.equal(without.code, 1);
  assert.match(without.stderr, /--reward-url: expected "a server", got none/);
  const onMoved = await run("2", "--reward-url", moved.url);
  assert.match(onMoved.stdout, /^2 steps, reward/, onMoved.stderr);
  const fewer = await run("1", "--reward-url", moved.url);
  assert.match(fewer.stderr, /^ERR_STATE: .*steps: expected at least the 2 that the run has done, got 1/m);
});
