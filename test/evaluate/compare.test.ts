/** Files of two runs. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { compareRuns } from "../../lib/evaluate/compare.ts";
import { holdsAnswer } from "../../lib/evaluate/question-result.ts";
import { PhraseTable } from "../../lib/text/words/phrases.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

async function write(name: string, rows: readonly object[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return path;
}

const row = (id: string, em: number, more: object = {}) => ({
  set: "s",
  id,
  question: `${id}?`,
  em,
  ...more,
});

test("runs are matched question by question, in any order, over the measures that both have", async () => {
  const first = await write("first", [
    row("a", 1, { rounds: 1, f1: 1, acc: 1 }),
    row("b", 0, { rounds: 2, f1: 0, acc: 1 }),
  ]);
  const second = await write("second", [
    row("b", 1, { rounds: 2, f1: null }),
    row("a", 1, { rounds: 3, f1: 1 }),
  ]);
  const { questions, differences, mcnemar } = await compareRuns(first, second);
  assert.equal(questions, 2);
  // One question has no F1 in the second run, and nobody measured accuracy there.
  assert.deepEqual(Object.keys(differences), ["em", "f1", "rounds"]);
  assert.deepEqual([differences.f1?.questions, differences.em?.questions], [1, 2]);
  assert.deepEqual(mcnemar, { onlyFirst: 0, onlySecond: 1, pValue: 1 });
  const { first: before, second: then, difference } = differences.rounds ?? {};
  assert.deepEqual([before, then, difference], [1.5, 2.5, 1]);
});

test("runs over other questions, and rows without scores, are refused by their place", async () => {
  const some = await write("some", [row("a", 1), row("b", 0), row("c", 0)]);
  const fewer = await write("fewer", [row("a", 1)]);
  await assert.rejects(compareRuns(some, fewer), {
    code: "ERR_ARGUMENT",
    message: /fewer: expected the questions of the other run, got none like .*some:2 and 1 more/,
  });
  const plain = await write("plain", [{ id: "a", question: "a?" }]);
  await assert.rejects(compareRuns(plain, some), { code: "ERR_FORMAT", message: /plain:1: expected "em"/ });
  await assert.rejects(compareRuns(await write("empty", []), some), { code: "ERR_FORMAT" });
});

test("an answer is found in passages by the rule of a corpus's check", async () => {
  const answers = ["New York", "the U.S.", "a", "yes", "Beyoncé", "don't", "İstanbul", "東京", "x-ray"];
  const texts = [
    ...[
      "In the new, york!",
      "NewYork news",
      "york new",
      "The US and U. S.",
      "an a the",
      "Yes-men say yes.",
      "eyes",
    ],
    ...["BEYONCÉ sang", "Beyonce", "dont", "don t", "i̇stanbul", "in 東京 today", "東京都", "Xray X ray", ""],
  ];
  const found = await (await PhraseTable.of(answers)).findIn(texts);
  for (const [i, text] of texts.entries()) {
    const ours = answers.flatMap((answer, k) => (holdsAnswer([text], [answer]) ? [k] : []));
    assert.deepEqual(ours, found[i], text);
  }
  assert.ok(found.flat().length >= 8);
});
