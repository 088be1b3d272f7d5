/** What `npm run pack:check` has a stranger do, on a machine that only notes it. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import { importScript } from "../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-pack-check-"));
after(() => rm(folder, { recursive: true }));

const { consume } = await importScript("scripts/pack/check/consumer.mjs");

interface Where {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Installs with npm where everything goes well and the project that was begun says something. */
async function consumed(said: string): Promise<string[]> {
  const noted: string[] = [];
  const run = async ([, , ...words]: readonly string[], { cwd, env }: Where) => {
    const call = words.filter((word) => !word.startsWith("--")).join(" ");
    noted.push(`${basename(cwd)}: ${call.replace(folder, "")}`);
    if (call === "") return { stdout: "{}", stderr: "" };
    if (call === "run start") assert.equal(env.STEPS, "3");
    return { stdout: call === "run start" ? said : "scored with the same bits", stderr: "" };
  };
  const machine = { makePath: async (bin: string) => bin, run };
  await consume("npm", { machine, tools: folder, folder, url: "http://127.0.0.1/", node: process.execPath });
  return noted;
}

test("a stranger begins a project with the installed package, installs what it asks for and trains in it", async () => {
  const noted = await consumed("step 3: reward 0.5\nanswer: Loromos, right is Loromos; searches: 1\n");
  assert.deepEqual(noted.slice(-3), ["project: seekrl init /begun", "begun: install", "begun: run start"]);
});

test("a project that trains without an answer fails the check", async () => {
  await assert.rejects(consumed("step 3: reward 0.5\n"), /npm: npm start of the project said\nstep 3/);
});
