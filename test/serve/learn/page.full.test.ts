/** The server, client and feedback by curl of docs/train-from-traffic.md, as they stand there. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, symlinkSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import ts from "typescript";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Model } from "../../../lib/model/model.ts";
import { CliCall } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";
import { withCallsJoined } from "../../site/code-blocks.ts";
import { client, page, temporary, workIn } from "./page-client.ts";

const calls = [...withCallsJoined(page).matchAll(/^npx seekrl (.*)$/gm)].map(([, call = ""]) =>
  call.replaceAll('"', ""),
);
const [serve = "", serveLearnt = ""] = calls;

/** Starts a server of the page, at a port that is free. */
async function start(t: TestContext, words: string) {
  const call = new CliCall(words.replace("--port 8000", "--port 0").split(" "));
  t.after(() => call.interrupt());
  const [line = ""] = (await call.until(/\n/)).split("\n");
  return { url: line.split(" ").at(-1) ?? "", stop: () => call.interrupt() };
}

/** Runs the page's client against a server, on fewer questions. */
async function play(t: TestContext, url: string): Promise<string> {
  // Inside of the package, so that "seekrl" is the package itself.
  const folder = join(projectRoot, "dist", "train-from-traffic");
  await mkdir(folder, { recursive: true });
  t.after(() => rm(folder, { recursive: true }));
  const short = client
    .replace("http://localhost:8000", url)
    .replace("train.entries()", "train.slice(0, 80).entries()");
  assert.notEqual(short, client);
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const file = join(folder, "client.mjs");
  await writeFile(file, ts.transpileModule(short, { compilerOptions }).outputText);
  return (await promisify(execFile)(process.execPath, [file])).stdout;
}

test("a server learns from the page's client, curl scores what it asked, and the adapter is served", async (t) => {
  const folder = await temporary(t);
  symlinkSync(join(projectRoot, "world"), join(folder, "world"));
  {
    await using model = await Model.load(join(folder, "world", "hasty"));
    // In the place of one that was promoted, which takes longer.
    await using adapter = await Adapter.create(model, { rank: 16 });
    await adapter.save(join(folder, "learnt"));
  }
  workIn(t, folder);
  const { url, stop } = await start(t, serve);
  const shown = await play(t, url);
  assert.equal(shown.trim().split("\n").length, 80);
  const messages = [{ role: "user", content: "Who directed Nightwinter?" }];
  const asked = JSON.stringify({ model: "agent/world-learning", temperature: 1, messages });
  const reply = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: asked });
  const { id } = (await reply.json()) as { id: string };
  const [, path = "", body = ""] = /^curl -s localhost:8000(\S+) -d '(.*)'$/m.exec(page) ?? [];
  const scored = await fetch(`${url}${path}`, { method: "POST", body: body.replace("chatcmpl-ID", id) });
  assert.deepEqual(await scored.json(), { object: "feedback", response_id: id, reward: 1, choice: 0 });
  await stop();
  const written = [...page.matchAll(/^\| `((?:learnt|records)\/[\w.]+)`/gm)].map(([, file = ""]) => file);
  assert.ok(written.length >= 4, `${written}`);
  for (const file of written) assert.ok(existsSync(join(folder, file)), file);
  const history = (await readFile(join(folder, "learnt", "history.jsonl"), "utf8")).trim().split("\n");
  assert.deepEqual(
    history.slice(0, 2).map((line) => JSON.parse(line).type),
    ["opened", "step"],
  );
  const learnt = await start(t, serveLearnt);
  const question = { method: "POST", body: JSON.stringify({ model: "agent/world", messages }) };
  const { status } = await fetch(`${learnt.url}/v1/chat/completions`, question);
  assert.equal(status, 200);
  await learnt.stop();
});
