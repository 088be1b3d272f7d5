/** Runs that are stopped and resumed from the studio. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { ControlResult, RunDetail, RunList, RunOutput } from "../../../apps/studio/api.ts";
import { commandOf } from "../../../apps/studio/runs/control.ts";
import { lines } from "../../runs/logs.ts";
import { type Asked, withFolder, withStudio } from "./asked.ts";

const holder = new URL("./held-run.js", import.meta.url).pathname;

async function idOf({ get }: Asked): Promise<string> {
  return (await get<RunList>("/runs")).runs[0]!.id;
}

const jsonPost = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };

test("stop is one Ctrl-C for the process that holds the run, however often it is asked for", async () => {
  await withFolder(async (folder) => {
    await writeFile(join(folder, "metrics.jsonl"), lines([{ step: 1, loss: 1 }]));
    const child = spawn(process.execPath, [holder, folder], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk;
    });
    await once(child.stdout, "data");
    await withStudio({ roots: [folder] }, async (asked) => {
      const id = await idOf(asked);
      const live = await asked.get<RunDetail>(`/runs/${id}`);
      assert.deepEqual([live.state, live.process?.pid, live.whyNotStop], ["live", child.pid, null]);
      assert.match(live.whyNotResume ?? "", /running/);
      for (const _ of [1, 2]) {
        const result = await asked.post<ControlResult>(`/runs/${id}/stop`, {});
        assert.deepEqual(result, { done: "stopping", pid: child.pid });
      }
      // The second signal would end the process without its last words.
      const [code] = await once(child, "close");
      assert.deepEqual([code, said], [0, "held\nSIGINT\nended\n"]);
      assert.equal((await asked.get<RunDetail>(`/runs/${id}`)).state, "stopped");
      assert.equal((await asked.status(`/runs/${id}/stop`, jsonPost)).status, 409);
    });
  });
});

test("a run of which the command is not known is not resumed, and the reason is told", async () => {
  await withFolder(async (folder) => {
    await writeFile(join(folder, "metrics.jsonl"), lines([{ step: 1, loss: 1 }]));
    await writeFile(join(folder, "config.yaml"), "steps: 4\nworld: {seed: 0}\n");
    await withStudio({ roots: [folder] }, async (asked) => {
      const refused = await asked.status(`/runs/${await idOf(asked)}/resume`, jsonPost);
      assert.deepEqual([refused.status, /which command/.test(refused.message)], [409, true]);
    });
  });
});

test("the command of a run follows from its options", () => {
  const train = { questions: ["q.jsonl"], recipe: { name: "world" } };
  assert.equal(
    commandOf(train, "/runs/a")?.text,
    "npx seekrl train --config /runs/a/config.yaml --out /runs/a",
  );
  assert.equal(commandOf({ data: "d.jsonl", epochs: 1 }, "/runs/b")?.args[0], "sft");
  assert.equal(commandOf({ steps: 3 }, "/runs/c"), undefined);
  const stage = { ...train, recipe: { name: "r1-searcher", stage: 1 } };
  assert.equal(commandOf(stage, "/runs/auto/stage1"), undefined);
});

test("resume starts the command again, and what it prints is kept and told", async () => {
  await withFolder(async (folder) => {
    await writeFile(join(folder, "metrics.jsonl"), lines([{ step: 1, loss: 1 }]));
    // The command refuses what it finds here, which is enough to see that it was started with this file.
    await writeFile(join(folder, "config.yaml"), "data: none.jsonl\nepochs: 1\nmodell: x\n");
    await withStudio({ roots: [folder] }, async (asked) => {
      const id = await idOf(asked);
      const { done, pid } = await asked.post<ControlResult>(`/runs/${id}/resume`, {});
      assert.deepEqual([done, pid > 0], ["started", true]);
      let output = await asked.get<RunOutput>(`/runs/${id}/output`);
      while (output.isRunning) output = await asked.get<RunOutput>(`/runs/${id}/output`);
      assert.match(output.text, /modell/);
      assert.equal(output.exitCode, 2);
      assert.equal(output.text, await readFile(join(folder, "output.log"), "utf8"));
      const rest = await asked.get<RunOutput>(`/runs/${id}/output?after=${output.next - 1}`);
      assert.deepEqual([rest.text, rest.next], ["\n", output.size]);
    });
  });
});
