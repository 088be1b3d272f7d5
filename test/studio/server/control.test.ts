/** Runs that are stopped and resumed from the studio. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { ControlResult, RunDetail, RunList, RunOutput } from "../../../apps/studio/api.ts";
import { commandOf } from "../../../apps/studio/runs/control.ts";
import { writeRecord } from "../../../lib/train/run/run-record.ts";
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
    await writeRecord(folder, { data: "none.jsonl", epochs: 1, modell: "x" }, undefined);
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

/** A run as somebody else may have sent it, whose tools would leave a mark. */
async function foreignRun(folder: string): Promise<void> {
  const tools = { mcpServers: { shell: { command: "touch", args: [join(folder, "started")] } } };
  await writeFile(join(folder, "tools.json"), JSON.stringify(tools));
  await writeFile(join(folder, "metrics.jsonl"), lines([{ step: 1, "reward/mean": 1 }]));
  const config = { recipe: { name: "research" }, questions: ["q.jsonl"], tools: join(folder, "tools.json") };
  await writeFile(
    join(folder, "config.yaml"),
    JSON.stringify({ ...config, steps: 4, rewardUrl: "http://e.example" }),
  );
}

test("a run that no command of this user wrote is not resumed by a click: what it names is told", async () => {
  await withFolder(async (folder) => {
    await foreignRun(folder);
    await withStudio({ roots: [folder] }, async (asked) => {
      const id = await idOf(asked);
      const { whyNotResume, state } = await asked.get<RunDetail>(`/runs/${id}`);
      assert.equal(state, "stopped");
      const named = [
        `program tools.mcpServers.shell: touch ${join(folder, "started")}`,
        "address rewardUrl: http://e.example",
        `path tools: ${join(folder, "tools.json")}`,
        `Remedy: npx seekrl train --config ${join(folder, "config.yaml")} --out ${folder} --trust`,
      ];
      for (const line of named) assert.ok(whyNotResume?.includes(line), `${line}: ${whyNotResume}`);
      const refused = await asked.status(`/runs/${id}/resume`, jsonPost);
      assert.deepEqual([refused.status, refused.message.includes(named[0]!)], [409, true]);
      const trusting = { ...jsonPost, body: JSON.stringify({ trust: true }) };
      assert.equal((await asked.status(`/runs/${id}/resume`, trusting)).status, 400);
      assert.deepEqual(
        [existsSync(join(folder, "started")), existsSync(join(folder, "output.log"))],
        [false, false],
      );
    });
  });
});

test("the output of a run is neither read from a link out of its folder nor written to one", async () => {
  await withFolder(async (outside) => {
    await withFolder(async (folder) => {
      await writeFile(join(outside, "own.txt"), "mine\n");
      await symlink(join(outside, "own.txt"), join(folder, "output.log"));
      await writeFile(join(folder, "metrics.jsonl"), lines([{ step: 1, loss: 1 }]));
      await writeRecord(folder, { data: "none.jsonl", epochs: 1, steps: 3 }, undefined);
      await withStudio({ roots: [folder] }, async (asked) => {
        const id = await idOf(asked);
        const shown = await asked.status(`/runs/${id}/output`);
        assert.match(shown.message, /output\.log: expected a file of .*, got a link out of it/);
        const resumed = await asked.status(`/runs/${id}/resume`, jsonPost);
        assert.match(resumed.message, /output\.log: expected a file, got a link/);
        assert.equal(await readFile(join(outside, "own.txt"), "utf8"), "mine\n");
      });
    });
  });
});

test("a run with something else in the place of a file is listed with the reason, beside the others", async () => {
  await withFolder(async (root) => {
    for (const name of ["good", "odd"]) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, "metrics.jsonl"), lines([{ step: 1, loss: 1 }]));
    }
    execFileSync("mkfifo", [join(root, "odd", "config.yaml")]);
    await withStudio({ roots: [root] }, async ({ get }) => {
      const { runs } = await get<RunList>("/runs");
      const warnings = Object.fromEntries(runs.map(({ name, warning }) => [name, warning]));
      assert.equal(warnings.good, null);
      assert.match(warnings.odd ?? "", /config\.yaml: expected a file, got a FIFO/);
    });
  });
});
