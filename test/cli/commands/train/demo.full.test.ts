/** `seekrl demo --recipe` for each published recipe and its choices, and both modes of the world's own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import { test } from "node:test";
import type { RecipeSummary } from "../../../../apps/world/demo/report/recipe-report.ts";
import { CliCall, runCli } from "../../run-cli.ts";
import { demo, folder, outOf, requireLearning } from "./demo-runs.ts";

const trainings = [
  ["--recipe", "rag-r1,queries=single"],
  ["--recipe", "rag-r1"],
  ["--recipe", "search-r1,algorithm=grpo,formatReward"],
  ["--recipe", "research"],
  ["--recipe", "r1-searcher,stage=zero"],
  ["--recipe", "agentic-rag-r1"],
  ["--recipe", "agentic-rag-r1,form=points,faithful"],
  ["--recipe", "search-r1", "--lora", "4"],
];

for (const args of trainings)
  test(`one command evaluates, trains and evaluates again: ${args.join(" ")}`, () =>
    requireLearning(...args));

test("a model of a published recipe is asked by that recipe in its world, without being told", async () => {
  const args = ["--recipe", "research"];
  await demo(...args);
  const files = (await readdir(outOf(args), { recursive: true })).filter((file) =>
    file.endsWith("world.json"),
  );
  const trained = [...new Set(files.map((file) => file.split(sep)[0]))].sort();
  assert.deepEqual(trained, ["control-seed-0-quick", "format-seed-0-quick", "rl-seed-0-quick"]);
  const model = join(outOf(args), "rl-seed-0-quick");
  const { code, stderr, stdout } = await runCli("ask", "Who directed Ironroad?", "--model", model);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /a model of the built-in world of seed 0: it is asked by research's recipe/);
  assert.match(stdout, /answer/);
});

test("R1-Searcher goes through both stages, and what is finished is only evaluated again", async () => {
  const first = await demo("--recipe", "r1-searcher");
  assert.deepEqual(
    first.stages.map(({ stage, steps }) => [stage, steps]),
    [
      ["stage-1", 2],
      ["stage-2", 2],
    ],
  );
  // The second stage begins with the answers that the first one ended with.
  assert.equal(first.stages[1]?.before.f1, first.stages[0]?.after.f1);
  const timeless = ({ stages }: RecipeSummary) =>
    stages.map(({ before, after, ...rest }) => {
      const still = [before, after].map(({ secondsPerQuestion: _, ...figures }) => figures);
      return { ...rest, still };
    });
  assert.deepEqual(timeless(await demo("--recipe", "r1-searcher")), timeless(first));
});

test("without a recipe both modes of the world's own are trained and shown beside the control", async () => {
  const out = join(folder, "modes");
  const { code, stdout, stderr } = await runCli("demo", "--quick", "--compare", "--out", out);
  assert.equal(code, 0, stderr);
  for (const row of ["start: ", "control: ", "RL from", "start shown"]) {
    assert.equal(stdout.match(new RegExp(`^(?:single|multi)? +${row}`, "gm"))?.length, 2, row);
  }
  assert.equal(stdout.match(/^(?:single|multi) +reward \d\.\d\d [▁-█]{2} /gm)?.length, 2);
  assert.match(await readFile(join(out, "traces.txt"), "utf8"), /<answer>/);
  assert.match(await readFile(join(out, "reward.svg"), "utf8"), /^<svg [\s\S]*<polyline [\s\S]*<\/svg>\n$/);
  const { control, single, multi } = JSON.parse(await readFile(join(out, "summary.json"), "utf8"));
  for (const figures of [control.single, control.multi, single.before, single.after, multi.before]) {
    for (const search of [figures.patchy, figures.plain]) {
      for (const { em } of [search.drawn, search.greedy]) assert.ok(em >= 0 && em <= 1);
    }
  }
  assert.match(stdout, /^2 steps and 16 questions show that everything runs; what differs .* is chance\.$/m);
  // The curve as it grew, without a sign that moves a cursor.
  assert.equal(stderr.match(/^(?:single|multi) +[12]\/2 reward [01]\.\d\d [█▒·]{30} rounds /gm)?.length, 4);
  for (const sign of ["\r", "\u001b"]) assert.ok(!(stdout + stderr).includes(sign));
  // As many demonstrations as both trainings have rollouts: 2 trainings of 2 steps, 8 questions, 2 rollouts of each.
  assert.equal(control.samples, 64);

  const [, question = "", rest = ""] = /^ {2}npx seekrl ask "([^"]+)" (.*)$/m.exec(stdout) ?? [];
  const asked = await runCli("ask", question, ...rest.split(" "));
  assert.equal(asked.code, 0, asked.stderr);
  assert.match(asked.stderr, /a model of the built-in world of seed 0, whose search has gaps/);
  assert.match(asked.stdout, /answer/);
});

/** The processes of parts that this one has started and that live. */
function partProcesses(): number[] {
  const { stdout } = spawnSync("pgrep", ["-P", `${process.pid}`, "-f", "part-process"], { encoding: "utf8" });
  return stdout.split("\n").filter(Boolean).map(Number);
}

test("a part that fails ends the others, and the demo says why", async () => {
  const out = join(folder, "failed");
  await mkdir(out, { recursive: true });
  await writeFile(join(out, "multi-seed-0-quick"), "no folder");
  const { code, stderr } = await runCli("demo", "--quick", "--out", out);
  assert.equal(code, 1);
  assert.match(stderr, /multi-seed-0-quick.*: .*$/m);
  assert.deepEqual(partProcesses(), []);
});

test("a part that is killed is named and ends the others, and the same command goes on", async () => {
  const args = ["demo", "--quick", "--out", join(folder, "killed")];
  const call = new CliCall(args);
  await call.until(/^(?:single|multi) +1\/2 reward/m, "stderr");
  process.kill(partProcesses()[0]!, "SIGKILL");
  const { code, stderr } = await call.ended;
  assert.equal(code, 1);
  assert.match(stderr, /(?:single|multi|control): its process ended with SIGKILL before it had a result/);
  assert.deepEqual(partProcesses(), []);
  const again = await runCli(...args);
  assert.equal(again.code, 0, again.stderr);
});

test("a demo that is interrupted ends its parts, and the same command goes on from the last finished step", async () => {
  const args = ["demo", "--quick", "--out", join(folder, "interrupted")];
  const call = new CliCall(args);
  const told = await call.until(/^(?:single|multi) +1\/2 reward/m, "stderr");
  const [, stepped = ""] = /^(single|multi) +1\/2 reward/m.exec(told) ?? [];
  const { code, stderr } = await call.interrupt();
  assert.equal(code, 1);
  assert.match(stderr, /interrupted; the same command goes on from the last finished step/);
  assert.deepEqual(partProcesses(), []);
  const again = await runCli(...args);
  assert.equal(again.code, 0, again.stderr);
  assert.doesNotMatch(again.stderr, new RegExp(`^${stepped} +1/2 reward`, "m"));
});
