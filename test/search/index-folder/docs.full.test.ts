/** docs/retrieval.md: its five commands lead from documents to answers. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runJson, startServing } from "../../cli/run-cli.ts";
import { projectRoot } from "../../project.ts";
import { wordsOf } from "../../site/code-blocks.ts";

const page = readFileSync(join(projectRoot, "docs", "retrieval.md"), "utf8");
const root = await mkdtemp(join(tmpdir(), "seekrl-docs-"));
after(() => rm(root, { recursive: true }));

test("the five commands lead from a folder of documents to a served retriever", async (t) => {
  process.chdir(root);
  t.after(() => process.chdir(projectRoot));
  const tale =
    "Ada keeps the lighthouse of Perrin. She trims the lamp at dusk and writes the log at dawn.\n\n";
  await mkdir(join(root, "documents"));
  await mkdir(join(root, "more"));
  await writeFile(
    join(root, "documents", "perrin.txt"),
    tale + "The harbour has room for nine boats. ".repeat(30),
  );
  await writeFile(join(root, "more", "ferry.txt"), "The ferry to Oban leaves at noon, if the fog allows.");
  await writeFile(
    join(root, "questions.jsonl"),
    `${JSON.stringify({ question: "who keeps the lighthouse", answers: ["Ada"] })}\n`,
  );
  const [, block = ""] = /```\n(npx seekrl index build[\s\S]*?)```/.exec(page) ?? [];
  const commands = block
    .trim()
    .split("\n")
    .map((line) => wordsOf(line).slice(2));
  assert.equal(commands.length, 5);
  const [build, check, search, add, serve] = commands as [string[], string[], string[], string[], string[]];
  assert.ok(Number((await runJson(...build)).passages) >= 2);
  assert.equal((await runJson(...check)).answerable, 1);
  const { results } = (await runJson(...search)) as { results: { hits: { text: string }[] }[] };
  assert.match(results[0]?.hits[0]?.text ?? "", /Ada keeps/);
  assert.equal((await runJson(...add)).segments, 2);
  const { url } = await startServing(t, serve);
  const body = JSON.stringify({ queries: ["when does the ferry leave"], topk: 1 });
  const response = await fetch(`${url}/retrieve`, { method: "POST", body });
  assert.match(await response.text(), /leaves at noon/);
});
