/** `seekrl runs` from outside, on a real training and a real evaluation. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseHTML } from "linkedom";
import { WatchedRun } from "../../../../apps/studio/runs/watched-run.ts";
import { createWorld } from "../../../../apps/world/world.ts";
import { lockFolder } from "../../../../lib/base/files/folder-lock.ts";
import { writeQuestions } from "../../../../lib/data/question.ts";
import { buildIndex } from "../../../../lib/search/index-folder/build/build.ts";
import { projectRoot } from "../../../project.ts";
import { CliCall, runCli } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const world = createWorld({ seed: 0 });
const path = (name: string): string => join(folder, name);
const model = join(projectRoot, "world", "checkpoint");

async function seekrl(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(...args);
  assert.equal(code, 0, `${args.join(" ")}\n${stderr}`);
  return stdout;
}

const json = async (...args: string[]) => JSON.parse(await seekrl(...args, "--json"));

await buildIndex({ corpus: world.passages, out: path("index") });
await writeQuestions(path("questions.jsonl"), world.questions.train.slice(0, 8));
const asked = [
  "--model",
  model,
  "--recipe",
  "world",
  "--index",
  path("index"),
  "--questions",
  path("questions.jsonl"),
];
const training = ["--steps", "3", "--batch-questions", "2", "--samples", "2", "--learning-rate"];
await seekrl("train", ...asked, ...training, "0.0001", "--out", path("runs/a"));
await seekrl("train", ...asked, ...training, "0.0002", "--out", path("runs/deeper/b"));
await seekrl("eval", ...asked, "--out", path("runs/answers.jsonl"));

/** The lines of a run's log. */
async function logged(run: string): Promise<Record<string, number>[]> {
  const lines = (await readFile(join(path(run), "metrics.jsonl"), "utf8")).trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

test("a folder that cannot be read is told with its reason, and the others are listed", async () => {
  const list = await mkdtemp(join(folder, "broken-"));
  await cp(path("runs/a"), join(list, "good"), { recursive: true });
  for (const [name, file] of [
    ["pipe", "config.yaml"],
    ["locked", "lock"],
  ] as const) {
    await mkdir(join(list, name));
    await writeFile(join(list, name, "metrics.jsonl"), "");
    execFileSync("mkfifo", [join(list, name, file)]);
  }
  const text = await seekrl("runs", "list", list);
  assert.match(text, /good +rl +finished +3\/3/);
  assert.match(text, /cannot be read:\n {2}\S*locked: .*lock.*\n {2}\S*pipe: .*config\.yaml.*\n/);
  const { runs, unreadable } = await json("runs", "list", list);
  assert.equal(runs.length, 1);
  assert.deepEqual(
    unreadable.map(({ name }: { name: string }) => name.split("/").at(-1)),
    ["locked", "pipe"],
  );
});

test("list finds trainings and evaluations at any depth, and says how far they are", async () => {
  const text = await seekrl("runs", "list", path("runs"));
  assert.match(text, /runs\/a +rl +finished +3\/3/);
  assert.match(text, /deeper\/b +rl +finished +3\/3/);
  assert.match(text, /answers\.jsonl/);
  const { runs, evaluations } = await json("runs", "list", path("runs"));
  assert.deepEqual([runs.length, evaluations.length], [2, 1]);
  const none = await mkdtemp(join(folder, "none-"));
  assert.match(await seekrl("runs", "list", none), /no runs below/);
});

test("a run's EM is that of its last evaluation, in the list and in the studio; one without says so", async () => {
  const rows = [
    { step: 1, "reward/mean": 0.1, "em/mean": 0.2 },
    { step: 2, "reward/mean": 0.1, "em/mean": 0.3, "eval/em": 0.5625 },
    { step: 3, "reward/mean": 0.1, "em/mean": 0.4 },
  ];
  const [evaluated, never] = [path("two-runs/evaluated"), path("two-runs/never")];
  const write = async (run: string, lines: readonly object[]): Promise<void> => {
    await mkdir(run, { recursive: true });
    await writeFile(join(run, "metrics.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  await write(evaluated, rows);
  await write(never, rows.slice(0, 1));
  const text = await seekrl("runs", "list", path("two-runs"));
  assert.match(text, /evaluated +rl +\w+ +3 +0\.1 +0\.5625 /);
  assert.match(text, /never +rl +\w+ +1 +0\.1 +not evaluated /);
  const shown = async (run: string) => (await new WatchedRun(run).summary({ id: "a", name: "a" })).evaluated;
  assert.deepEqual(await shown(evaluated), { step: 2, em: 0.5625 });
  assert.equal(await shown(never), null);
});

test("show gives the log's own numbers, the options and the checkpoints", async () => {
  const rows = await logged("runs/a");
  const rewards = rows.map((row) => row["reward/mean"]!);
  const shown = await json("runs", "show", path("runs/a"));
  const reward = shown.metrics.find(({ name }: { name: string }) => name === "reward/mean");
  assert.deepEqual(
    [reward.first, reward.last, reward.highest, reward.best.value],
    [rewards[0], rewards[2], Math.max(...rewards), Math.max(...rewards)],
  );
  assert.equal(reward.best.step, rewards.indexOf(Math.max(...rewards)) + 1);
  assert.equal(shown.options.learningRate, 0.0001);
  assert.deepEqual(
    shown.checkpoints.map(({ step }: { step: number }) => step),
    [3],
  );
  assert.equal(shown.trajectories, 3 * 2 * 2);
  assert.match(
    await seekrl("runs", "show", path("runs/a")),
    /state +finished[\s\S]*reward\/mean[\s\S]*learningRate +0\.0001/,
  );
  const answers = await json("runs", "show", path("runs/answers.jsonl"));
  assert.equal(answers.questions, 8);
  // What an evaluation that is under way has begun to write is not there yet.
  await cp(path("runs/answers.jsonl"), path("growing.jsonl"));
  await appendFile(path("growing.jsonl"), '{"set":"questions","ind');
  assert.equal((await json("runs", "show", path("growing.jsonl"))).questions, 8);
  assert.ok(answers.figures.find(({ name }: { name: string }) => name === "em").interval.length === 2);
});

test("compare shows the options that differ and no others, for any number of runs", async () => {
  const text = await seekrl("runs", "compare", path("runs/a"), path("runs/deeper/b"));
  assert.match(text, /learningRate +0\.0001 +0\.0002/);
  assert.doesNotMatch(text, /batchQuestions|^out/m);
  await cp(path("runs/a"), path("runs-c"), { recursive: true });
  const { runs, options } = await json(
    "runs",
    "compare",
    path("runs/a"),
    path("runs/deeper/b"),
    path("runs-c"),
  );
  assert.equal(runs.length, 3);
  assert.deepEqual(options, [{ path: "learningRate", values: ["0.0001", "0.0002", "0.0001"] }]);
  const same = await seekrl("runs", "compare", path("runs/a"), path("runs-c"));
  assert.match(same, /no options differ/);
  const { code, stderr } = await runCli("runs", "compare", path("runs/a"));
  assert.equal(code, 2);
  assert.match(stderr, /at least two runs/);
});

test("what is no run is refused with the way to one", async () => {
  const { code, stderr } = await runCli("runs", "show", path("runs"));
  assert.equal(code, 1);
  assert.match(stderr, /expected a run's folder, with metrics\.jsonl\. Remedy: seekrl runs list/);
  const questions = await runCli("runs", "show", path("questions.jsonl"));
  assert.match(questions.stderr, /questions\.jsonl:1: expected a result of seekrl eval --out/);
  const missing = await runCli("runs", "tail", path("gone"));
  assert.match(missing.stderr, /ERR_IO.*gone/);
});

test("tail shows the last steps of a run that has ended, and ends", async () => {
  const text = await seekrl("runs", "tail", path("runs/a"), "--lines", "2");
  assert.deepEqual(text.match(/^step \d\/\d|^finished$/gm), ["step 2/3", "step 3/3", "finished"]);
  const { state, rows } = await json("runs", "tail", path("runs/a"));
  assert.equal(state, "finished");
  assert.deepEqual(rows, await logged("runs/a"));
});

test("tail follows a run that is written, notices when it goes back, and ends with it", async () => {
  const live = path("live");
  await mkdir(live);
  const lock = await lockFolder(live);
  const line = (step: number): string =>
    `${JSON.stringify({ step, "reward/mean": step / 10, "reward/total": step / 10, "seconds/train": 1 })}\n`;
  await writeFile(join(live, "metrics.jsonl"), line(1) + line(2));
  await writeFile(join(live, "config.yaml"), "steps: 9\n");
  const call = new CliCall(["runs", "tail", live]);
  await call.until(/step 2\/9/);
  // A line that is written in two pieces is shown when it is whole.
  await appendFile(join(live, "metrics.jsonl"), line(3).slice(0, 9));
  await appendFile(join(live, "metrics.jsonl"), line(3).slice(9));
  await call.until(/step 3\/9/);
  await writeFile(join(live, "metrics.jsonl"), line(1));
  await call.until(/went back to its checkpoint of step 1/, "stderr");
  await appendFile(join(live, "metrics.jsonl"), line(2));
  await call.until(/step 3\/9[\s\S]*step 2\/9/);
  lock.close();
  assert.equal((await call.ended).code, 0);
});

test("Ctrl-C ends the tail of a live run, which is no failure", async () => {
  const live = path("live-2");
  await mkdir(live);
  const lock = await lockFolder(live);
  await writeFile(join(live, "metrics.jsonl"), '{"step":1,"loss":2}\n');
  const call = new CliCall(["runs", "tail", live]);
  await call.until(/\n/);
  assert.equal((await call.interrupt()).code, 0);
  lock.close();
});

test("a report colours the tokens of the log, and the page has the run's own numbers", async () => {
  await seekrl(
    "runs",
    "export",
    path("runs/a"),
    "--format",
    "html",
    "--out",
    path("a.html"),
    "--traces",
    "3",
  );
  const { document } = parseHTML(await readFile(path("a.html"), "utf8"));
  const shown = document.querySelectorAll(".trace");
  assert.ok(shown.length > 0 && shown.length <= 3);
  assert.ok(document.querySelector(".legend"), "tokens have probabilities");
  const [last] = (await logged("runs/a")).slice(-1);
  const tile = [...document.querySelectorAll(".tiles div")].find((each) =>
    each.textContent?.includes("em/mean"),
  );
  assert.ok(tile?.textContent?.includes(String(Number(last!["em/mean"]!.toPrecision(4)))));
  const texts = (await readFile(join(path("runs/a"), "trajectories.jsonl"), "utf8")).trim().split("\n");
  const said = texts.flatMap((line) => JSON.parse(line).segments.map(({ text }: { text: string }) => text));
  const policyTexts = [...document.querySelectorAll("section.policy .text")];
  assert.ok(policyTexts.length > 0);
  for (const each of policyTexts) assert.ok(said.includes(each.textContent ?? ""));
});

test("every format is written for trainings and evaluations, and options that do not fit are refused", async () => {
  const csv = await json("runs", "export", path("runs/a"), "--format", "csv", "--out", path("csv"));
  assert.deepEqual(csv.files, [path("csv/metrics.csv"), path("csv/trajectories.csv")]);
  const rows = (await readFile(path("csv/metrics.csv"), "utf8")).trim().split("\r\n");
  assert.equal(rows.length, 1 + 3);
  for (const format of ["inspect", "html", "trackio"]) {
    const out = path(`answers.${format}`);
    await seekrl("runs", "export", path("runs/answers.jsonl"), "--format", format, "--out", out);
    assert.ok((await readFile(out)).length > 1000);
  }
  const log = JSON.parse(await readFile(path("answers.inspect"), "utf8"));
  assert.equal(log.samples.length, 8);
  const again = await runCli(
    "runs",
    "export",
    path("runs/a"),
    "--format",
    "trackio",
    "--out",
    path("answers.trackio"),
  );
  assert.match(again.stderr, /ERR_STATE.*there is one already/);
  const wrong = await runCli(
    "runs",
    "export",
    path("runs/a"),
    "--format",
    "csv",
    "--out",
    path("x"),
    "--traces",
    "2",
  );
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--traces: expected only with html/);
});
