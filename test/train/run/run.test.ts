/** Run folders: one writer, files that are what was written, options that are what they were. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { Model } from "../../../lib/model/model.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { epochs, type SftOptions, sft } from "../../../lib/train/sft.ts";
import { filled, tinyModel, tinySequence } from "../tiny.ts";
import { withFolder } from "./kill.ts";
import { runBandit } from "./rl-run.ts";

const sequences = [1, 2, 3].map((seed) => {
  const sequence = tinySequence(seed, 12);
  return { ...sequence, weights: filled(sequence.rows.length, () => 1) };
});

/** A run of four steps unless said otherwise. */
async function run(
  folder: string,
  options: Partial<SftOptions> = {},
  kept: SftOptions["run"] & object = { folder },
) {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const data = epochs(sequences, { batchSize: 1, epochs: 4 / 3 });
  return await sft({ trainer, ...data, learningRate: () => 1e-3, run: kept, ...options });
}

const checkpoints = async (folder: string): Promise<string[]> =>
  (await readdir(join(folder, "checkpoints"))).sort();

test("a second process is told who works in the run's folder", async () => {
  await withFolder(async (folder) => {
    const program = fileURLToPath(new URL("sft-run.js", import.meta.url));
    const child = spawn(process.execPath, [program, folder], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout!, "data");
    child.kill("SIGSTOP");
    const message = new RegExp(`lock: locked by process ${child.pid} on .* since 20`);
    await assert.rejects(run(folder), { code: "ERR_STATE", message });
    child.kill("SIGKILL");
    await once(child, "exit");
    (await lockFolder(folder)).close();
  });
});

test("one flipped bit in any file of a checkpoint is refused by the file's name", async () => {
  await withFolder(async (folder) => {
    await run(folder);
    const checkpoint = join(folder, "checkpoints", "step-000004");
    const files = (await readdir(checkpoint)).sort();
    assert.deepEqual(files, ["config.json", "model.safetensors", "state.json", "trainer.safetensors"]);
    for (const name of files) {
      const path = join(checkpoint, name);
      const bytes = await readFile(path);
      const flipped = Buffer.from(bytes);
      flipped[Math.floor(bytes.length / 2)]! ^= 1;
      await writeFile(path, flipped);
      await assert.rejects(run(folder), {
        code: "ERR_FORMAT",
        message: new RegExp(`step-000004/${name}: expected`),
      });
      await writeFile(path, bytes);
    }
    assert.equal(await run(folder), undefined);
    const metrics = join(folder, "metrics.jsonl");
    await writeFile(metrics, (await readFile(metrics, "utf8")).replace('"step":1', '"step":3'));
    await assert.rejects(run(folder), { code: "ERR_FORMAT", message: /metrics\.jsonl: expected SHA-256/ });
  });
});

test("other data, seeds or settings are refused with both values; more steps and checkpoints are not", async () => {
  await withFolder(async (folder) => {
    const settings = { "--learning-rate": 0.001, "--model": "sha256 12ab" };
    await run(folder, {}, { folder, settings });
    const changed = { ...settings, "--learning-rate": 0.002 };
    await assert.rejects(run(folder, {}, { folder, settings: changed }), {
      code: "ERR_STATE",
      message:
        /begun with other options:\n {2}--learning-rate: expected 0\.001, got 0\.002\nRemedy: give the same again/,
    });
    const others = epochs(sequences.slice(1), { batchSize: 1, epochs: 2 });
    await assert.rejects(run(folder, others, { folder, settings }), {
      code: "ERR_STATE",
      message: /^ {2}data: expected "[0-9a-f]{64}", got "[0-9a-f]{64}"$/m,
    });
    const more = { folder, settings, checkpointEvery: 1, keep: 5, tensorBoard: false };
    assert.equal((await run(folder, { steps: 6 }, more))?.step, 6);
  });
});

test("reinforcement learning is not gone on with by another algorithm or on other questions", async () => {
  await withFolder(async (folder) => {
    const bandit = { algorithm: algorithms.reinforce, steps: 1, folder };
    await runBandit(bandit);
    await assert.rejects(runBandit({ ...bandit, algorithm: { ...bandit.algorithm, epochs: 7 } }), {
      code: "ERR_STATE",
      message: /algorithm\.epochs: expected (none|\d+), got 7/,
    });
    await assert.rejects(runBandit({ ...bandit, samples: 4 }), /batch\.samples: expected 8, got 4/);
    await runBandit({ ...bandit, steps: 2 });
    const message = /steps: expected at least the 2 that the run has done, got 1/;
    await assert.rejects(runBandit(bandit), { code: "ERR_STATE", message });
  });
});

test("the checkpoint that evaluated best stays, and `best` leads to it, also after a resume", async () => {
  await withFolder(async (folder) => {
    const values = [3, 1, 2, 2, 2, 0.5];
    const evaluate = async (step: number) => ({ "eval/loss": values[step - 1]! });
    const best = { metric: "eval/loss", mode: "min" } as const;
    const kept = { folder, checkpointEvery: 1, keep: 1, best };
    await run(folder, { evaluation: { every: 1, evaluate } }, kept);
    assert.deepEqual(await checkpoints(folder), ["best", "step-000002", "step-000004"]);
    assert.equal(await readlink(join(folder, "checkpoints", "best")), "step-000002");
    await using model = await Model.load(join(folder, "checkpoints", "best"));
    assert.ok(model.config);
    await run(folder, { evaluation: { every: 1, evaluate }, steps: 6 }, kept);
    assert.deepEqual(await checkpoints(folder), ["best", "step-000006"]);
  });
});

test("the options stand in the folder as YAML, beside the model that the run ended with", async () => {
  await withFolder(async (folder) => {
    const config = { out: folder, learningRate: 0.001, questions: ["a.jsonl"] };
    await run(folder, {}, { folder, config });
    assert.deepEqual(parse(await readFile(join(folder, "config.yaml"), "utf8")), config);
    const [last, model] = await Promise.all(
      ["checkpoints/step-000004", "model"].map((name) => readFile(join(folder, name, "model.safetensors"))),
    );
    assert.ok(last!.equals(model!));
  });
});

test("what killed processes left half written is removed by the next run", async () => {
  await withFolder(async (folder) => {
    await mkdir(join(folder, "model"));
    await mkdir(join(folder, "checkpoints", ".writing-step-000002"), { recursive: true });
    await symlink("step-000001", join(folder, "checkpoints", ".writing-best"));
    const left = ["config.yaml.4711-0a1b2c3d.tmp", "model/model.safetensors.4711-0.tmp"];
    for (const name of left) await writeFile(join(folder, name), "half");
    await writeFile(join(folder, "notes.tmp"), "mine");
    await run(folder);
    const all = await readdir(folder, { recursive: true });
    const stray = all.filter((name) => name.endsWith(".tmp") || name.includes(".writing"));
    assert.deepEqual(stray, ["notes.tmp"]);
  });
});
