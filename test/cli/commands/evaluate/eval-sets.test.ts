/** `eval` from outside: several sets, baselines, and a run that goes on. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runCli, runJson } from "../../run-cli.ts";
import { corpus, folder, index, jsonLines, model, questions } from "../../tiny-corpus.ts";

test("several sets are evaluated in one command, which goes on where it was stopped", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const other = join(folder, "other.jsonl");
  await writeFile(other, jsonLines([{ question: "capital of Chile?", answers: ["Santiago"] }]));
  const out = join(folder, "sets.jsonl");
  const options = ["--model", model, "--index", index, "--questions", questions, "--questions", other];
  const given = ["eval", ...options, "--limits", "maxTurns=1,maxResponseTokens=8", "--out", out];
  const whole = await runJson(...given);
  const sets = whole.sets as { name: string; questions: number }[];
  assert.deepEqual(
    sets.map(({ name, questions: count }) => [name, count]),
    [
      ["questions", 3],
      ["other", 1],
    ],
  );
  assert.deepEqual([whole.questions, whole.meanOfSets], [4, { em: 0, f1: 0, acc: 0 }]);
  const lines = await readFile(out, "utf8");
  await writeFile(out, lines.slice(0, lines.indexOf("\n") + 20));
  const { code, stdout, stderr } = await runCli(...given, "--resume");
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^mean of sets +0\.000 +0\.000 +0\.000 *$/m);
  assert.match(stdout, /^em: 0 \(0 to 0\)$/m);
  const again = await readFile(out, "utf8");
  assert.equal(again.trim().split("\n").length, 4);
  assert.ok(again.startsWith(lines.slice(0, lines.indexOf("\n") + 1)));

  const warmer = await runCli(...given, "--resume", "--temperature", "1");
  assert.deepEqual([warmer.code, warmer.stdout], [1, ""]);
  assert.match(warmer.stderr, /^ERR_FORMAT: .*sets\.jsonl:1: expected "settings"/m);

  const careless = await runCli(...given);
  assert.deepEqual([careless.code, await readFile(out, "utf8")], [1, again]);
  assert.match(careless.stderr, /^ERR_STATE: .*sets\.jsonl: has answers of an earlier run: --resume/m);

  const { questions: count, mcnemar } = await runJson("eval", "compare", out, out);
  assert.deepEqual([count, mcnemar], [4, { onlyFirst: 0, onlySecond: 0, pValue: 1 }]);
  const table = await runCli("eval", "compare", out, out);
  assert.match(table.stdout, /^em +0\.0000 +0\.0000 +0\.0000 +0\.0000 +0\.0000 +1\.0000$/m);
});

test("baselines are evaluated by the same command, without an index where they do not search", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const given = ["eval", "--model", model, "--questions", questions, "--limits", "maxResponseTokens=8"];
  const direct = await runJson(...given, "--baseline", "direct");
  assert.deepEqual([direct.questions, direct.rounds, direct.retrievalRecall], [3, 0, 0]);
  const rag = await runJson(...given, "--baseline", "rag", "--index", index, "--limits", "topK=1");
  // Of Paris, Rome and Lima the corpus knows two.
  assert.deepEqual([rag.questions, rag.rounds, rag.retrievalRecall], [3, 1, 2 / 3]);
  assert.ok(Number(rag.observedTokens) > 0);
});
