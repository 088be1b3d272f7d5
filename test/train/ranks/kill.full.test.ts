/** A rank that is killed ends the training with an error that names it, and the training goes on with the same bits (law 5). */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runRanks } from "../../comm/ranks.ts";
import { steadyMetrics, withFolder } from "../run/kill.ts";

const size = 2;
const train = (folder: string) =>
  runRanks("./training-rank.js", import.meta.url, { size, args: ["ppo", folder] });

async function endOf(folder: string): Promise<Buffer[]> {
  const files = ["model", "trainer", "critic/model", "critic/trainer"].map((name) => `${name}.safetensors`);
  return Promise.all(files.map((file) => readFile(join(folder, "checkpoints", "step-000004", file))));
}

for (const killed of [0, 1]) {
  test(`rank ${killed} is killed after a step: the other one names it, and both go on to the same bytes`, async () => {
    await withFolder(async (folder) => {
      const [whole, broken] = [join(folder, "whole"), join(folder, "broken")];
      await train(whole);
      const ranks = await runRanks("./training-rank.js", import.meta.url, {
        ...{ size, args: ["ppo", broken] },
        onLine: (rank, line, children) => {
          if (rank === killed && (line as { step?: number }).step === 3) children[killed]!.kill("SIGKILL");
        },
      });
      assert.equal(ranks[killed]!.signal, "SIGKILL");
      const survivor = ranks[1 - killed]!;
      const { code, message } = survivor.lines.at(-1) as { code: string; message: string };
      assert.deepEqual([survivor.code, code], [1, "ERR_REMOTE"]);
      assert.match(message, killed === 0 ? /rank 0/ : /rank 1 has not been heard of for 4 s/);
      const again = await train(broken);
      for (const { code, lines, stderr } of again)
        assert.equal(code, 0, `${JSON.stringify(lines.at(-1))} ${stderr}`);
      assert.deepEqual(await endOf(broken), await endOf(whole));
      assert.deepEqual(await steadyMetrics(broken), await steadyMetrics(whole));
    });
  });
}
