/** `seekrl world` from outside: its files are what the other commands read. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createWorld } from "../../../../apps/world/world.ts";
import { readJsonRows } from "../../../../lib/data/files/jsonl.ts";
import { readQuestions } from "../../../../lib/data/question.ts";
import { runCli } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

test("the world's files hold its passages, its questions and demonstrations in the recipe's tags", async () => {
  const args = ["--recipe", "r1-searcher", "--demonstrations", "30", "--seed", "3"];
  const { code, stdout } = await runCli("world", "--out", folder, ...args, "--json");
  assert.equal(code, 0);
  const { passages, questions } = createWorld({ seed: 3 });
  const counts = { passages: passages.length, questions: 2400 + 200 + 500, demonstrations: 30 };
  assert.deepEqual(JSON.parse(stdout), { out: folder, ...counts });
  const ids: string[] = [];
  for await (const { id } of readQuestions(join(folder, "test.jsonl"))) ids.push(id);
  assert.deepEqual(
    ids,
    questions.test.map(({ id }) => id),
  );
  const [first] = (await readFile(join(folder, "corpus.jsonl"), "utf8")).split("\n");
  assert.deepEqual(JSON.parse(first ?? ""), passages[0]);
  let numQueries = 0;
  for await (const { value } of readJsonRows(join(folder, "demonstrations.jsonl"))) {
    const segments = value.segments as { kind: string; text: string }[];
    assert.match(segments[0]?.text ?? "", /<think>$/);
    assert.match(segments.at(-1)?.text ?? "", /<\/think>\n<answer> .+ <\/answer><\|end\|>$/);
    numQueries += segments.filter(({ text }) => text.endsWith("<|end_of_query|>")).length;
  }
  assert.ok(numQueries > 10);
});
