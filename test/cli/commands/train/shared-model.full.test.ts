/** `--tensor-parallel` from outside: processes of a launch that share one model train and evaluate it as one would. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const model = join(folder, "model");
await writeTinyModel(model);
const data = join(folder, "sft.jsonl");
await writeFile(
  data,
  `${JSON.stringify({ prompt: "capital of France?", completion: "<answer> Paris </answer>" })}\n`,
);

const launch = (...args: string[]) =>
  runCli("launch", "--processes", "2", "--logs", join(folder, "logs"), "--", ...args);
const tuning = (out: string): string[] => [
  ...["sft", "--model", model, "--data", data, "--epochs", "3", "--batch-size", "1"],
  ...["--out", join(folder, out)],
];

test("two processes fine-tune one model, and evaluate it", async () => {
  const shared = await launch(...tuning("shared"), "--tensor-parallel", "2");
  assert.equal(shared.code, 0, shared.stderr);
  const alone = await runCli(...tuning("alone"));
  const ofSteps = (out: string): string => out.slice(0, out.indexOf("; model in"));
  assert.equal(ofSteps(shared.stdout), ofSteps(alone.stdout));
  const config = await readFile(join(folder, "shared", "config.yaml"), "utf8");
  assert.match(config, /^# 2 processes: 2 x 1 \(tensor x data\)\n/);
  const lossesOf = async (out: string): Promise<number[]> =>
    (await readFile(join(folder, out, "metrics.jsonl"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).loss);
  const [own, expected] = [await lossesOf("shared"), await lossesOf("alone")];
  assert.equal(own.length, 3);
  for (const [i, loss] of expected.entries()) assert.ok(Math.abs(own[i]! - loss) < 1e-5 * loss, `step ${i}`);

  const questions = join(folder, "questions.jsonl");
  await writeFile(questions, `${JSON.stringify({ id: "a", question: "capital?", answers: ["Paris"] })}\n`);
  const asked = ["eval", "--model", join(folder, "shared", "model"), "--questions", questions];
  const plain = ["--baseline", "direct", "--tensor-parallel", "2"];
  const evaluated = await launch(...asked, ...plain);
  assert.equal(evaluated.code, 0, evaluated.stderr);
});
