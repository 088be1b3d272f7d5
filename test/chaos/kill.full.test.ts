/** kill -9 at 20 moments drawn at random, of a training and of saves of models and adapters. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { randomFrom } from "../dice.ts";
import { steadyMetrics, withFolder } from "../train/run/kill.ts";
import { runBandit } from "../train/run/rl-run.ts";
import { saveVariant, variants } from "./save-run.ts";

const numKills = 20;

/** Runs a program and kills it so long after it has begun to speak; whether it came to that. */
async function killAfter(ms: number, program: string, ...args: string[]): Promise<boolean> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let timer: NodeJS.Timeout | undefined;
  child.stdout.once("data", () => {
    timer = setTimeout(() => child.kill("SIGKILL"), ms);
  });
  child.stdout.resume();
  const signal = await new Promise((resolve) => child.on("close", (_, name) => resolve(name)));
  clearTimeout(timer);
  return signal === "SIGKILL";
}

/** Files that a reader opens, by name. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.(safetensors|json)$/.test(name));
  const read = async (name: string) => [name, (await readFile(join(folder, name))).toString("latin1")];
  return Object.fromEntries(await Promise.all(names.sort().map(read)));
}

for (const [kind, config] of [
  ["model", "config.json"],
  ["adapter", "adapter_config.json"],
] as const) {
  test(`${kind}s saved over each other: after a kill one of them is there, or none that could be opened`, async () => {
    await withFolder(async (root) => {
      const expected: Record<string, string>[] = [];
      for (const variant of variants) {
        const whole = join(root, `whole-${variant}`);
        await saveVariant(kind, variant, whole);
        expected.push(await contentOf(whole));
      }
      const random = randomFrom(3);
      let numOpened = 0;
      for (let i = 0; i < numKills; i += 1) {
        const folder = join(root, `killed-${i % 2}`);
        assert.ok(await killAfter(150 * random(), "save-run.js", kind, folder));
        const found = await contentOf(folder);
        if (found[config] === undefined) continue;
        numOpened += 1;
        const same = expected.filter((each) => JSON.stringify(each) === JSON.stringify(found));
        assert.equal(same.length, 1, `after kill ${i} files of both are there: ${Object.keys(found)}`);
      }
      assert.ok(numOpened > 0);
    });
  });
}

test("a training killed at random moments, again and again, ends with the bytes of one that was not", async () => {
  await withFolder(async (root) => {
    const [whole, killed, steps] = [join(root, "whole"), join(root, "killed"), 160];
    await runBandit({ algorithm: algorithms.ppo, steps, folder: whole });
    const random = randomFrom(4);
    let numKilled = 0;
    for (let i = 0; i < numKills; i += 1) {
      // The first step of a life is told.
      const isKilled = await killAfter(150 * random(), "../train/run/rl-run.js", killed, String(steps));
      numKilled += Number(isKilled);
    }
    await runBandit({ algorithm: algorithms.ppo, steps, folder: killed });
    const step = join("checkpoints", `step-${String(steps).padStart(6, "0")}`);
    for (const file of ["model", "trainer", "critic/model", "critic/trainer"]) {
      const read = (run: string) => readFile(join(run, step, `${file}.safetensors`));
      assert.ok((await read(whole)).equals(await read(killed)), `${file} differs after ${numKilled} kills`);
    }
    assert.deepEqual(await steadyMetrics(killed), await steadyMetrics(whole));
    assert.ok(numKilled > 0);
  });
});
