/** The check of a corpus on a handful of passages counted by hand, and on real data where it is there. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Question, readQuestions } from "../../../lib/data/question.ts";
import { checkCorpus } from "../../../lib/search/corpus-check/check-corpus.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { runCli } from "../../cli/run-cli.ts";
import { sharedData, skipWithoutData } from "../../shared-data.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-check-test-"));
after(() => rm(folder, { recursive: true }));

const passages = [
  { id: "0", title: "Lima", text: "The largest city of Peru, on the coast." },
  { id: "1", title: "Rome", text: "Rome is the capital of Italy; the emperor lived in Rome." },
  { id: "2", title: "Rome", text: "rome is the capital of italy; the emperor lived in rome." },
  { id: "3", title: "Nothing", text: " " },
  { id: "4", title: "Emperor", text: "An emperor's palace: emperor, empress and their court lived, U.S.A." },
];
const easy = [
  { question: "capital of Italy?", answers: ["Paris", "the Rome!"] },
  { question: "city of Peru?", answers: ["Lima"] }, // in a title alone
  { question: "emperor palace", answers: ["USA"] },
];
const hard = [
  { question: "where lived the emperor", answers: ["Italy the emperor"] },
  { question: "who?", answers: ["The", "capital Italy"] },
];
const jsonLines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const [corpus, easyPath, hardPath] = ["corpus.jsonl", "easy.jsonl", "hard.jsonl"].map((name) =>
  join(folder, name),
) as [string, string, string];
await writeFile(corpus, jsonLines(passages));
await writeFile(easyPath, jsonLines(easy));
await writeFile(hardPath, jsonLines(hard));

const questionsOf = async (path: string): Promise<Question[]> => {
  const questions: Question[] = [];
  for await (const question of readQuestions(path)) questions.push(question);
  return questions;
};

test("one file gives its object, counted by hand", async () => {
  const { code, stdout, stderr } = await runCli(
    ...["corpus", "check", "--corpus", corpus, "--questions", easyPath, "--top-k", "1,2", "--json"],
    ...["--max-words", "10"],
  );
  assert.equal(code, 0, stderr);
  const { recall, corpus: report, ...counts } = JSON.parse(stdout);
  assert.deepEqual(counts, { questions: 3, answerable: 2, emCeiling: 2 / 3 });
  assert.deepEqual(Object.keys(recall), ["bm25", "dense", "hybrid"]);
  assert.deepEqual(recall.bm25, { "1": 2 / 3, "2": 2 / 3 });
  const { numPassages, numDuplicates, numEmpty, numOverLong } = report;
  assert.deepEqual([numPassages, numDuplicates, numEmpty, numOverLong], [5, 1, 1, 2]);
});

test("several files give totals and a list, people a table", async () => {
  const files = ["--questions", easyPath, "--questions", hardPath];
  const { stdout } = await runCli("corpus", "check", "--corpus", corpus, ...files, "--json");
  const { sets, ...totals } = JSON.parse(stdout);
  assert.deepEqual([totals.questions, totals.answerable, totals.emCeiling], [5, 3, 0.6]);
  const counts = sets.map(({ name, questions, answerable }: Record<string, unknown>) => [
    name,
    questions,
    answerable,
  ]);
  assert.deepEqual(counts, [
    ["easy", 3, 2],
    ["hard", 2, 1],
  ]);
  const table = await runCli("corpus", "check", "--corpus", corpus, ...files);
  assert.match(table.stdout, /easy +3 +2 +66\.7 % +bm25 +66\.7 %/);
  assert.match(table.stdout, /all sets +5 +3 +60\.0 % +bm25/);
});

test("an index folder is checked as it is: added passages count, removed ones do not", async () => {
  const out = join(folder, "index");
  await buildIndex({ corpus: passages.slice(0, 3), out, dense: false });
  const sets = [{ name: "easy", questions: await questionsOf(easyPath) }];
  const first = await checkCorpus({ corpus: out, sets, depths: [1] });
  assert.deepEqual([first.answerable, first.recall], [1, { bm25: { "1": 1 / 3 } }]);
  await addToIndex(out, passages.slice(4));
  assert.equal((await checkCorpus({ corpus: out, sets })).answerable, 2);
  await removeFromIndex(out, ["1", "2"]);
  assert.equal((await checkCorpus({ corpus: out, sets })).answerable, 1);
});

test("a check that is stopped leaves nothing behind", async () => {
  const stop = new AbortController();
  const before = (await readdir(tmpdir())).filter((name) => name.startsWith("seekrl-check-")).length;
  const checking = checkCorpus({
    corpus,
    sets: [{ name: "easy", questions: await questionsOf(easyPath) }],
    onProgress: () => stop.abort(),
    signal: stop.signal,
  });
  await assert.rejects(checking, { code: "ERR_ABORTED" });
  const left = (await readdir(tmpdir())).filter((name) => name.startsWith("seekrl-check-")).length;
  assert.ok(left <= before);
  await assert.rejects(checkCorpus({ corpus, sets: [], depths: [0] }), { code: "ERR_RANGE" });
  await assert.rejects(checkCorpus({ corpus: join(folder, "none"), sets: [] }), { code: "ERR_IO" });
});

test("on 9,733 real passages coverage and BM25's recall are those counted by a Python script", {
  skip: skipWithoutData,
}, async () => {
  const sets = await Promise.all(
    ["nq", "triviaqa", "popqa", "bamboogle"].map(async (name) => ({
      name,
      questions: await questionsOf(sharedData(`qa/flashrag-format/${name}_test.jsonl`)),
    })),
  );
  const check = await checkCorpus({ corpus: sharedData("corpora/wiki18/passages.jsonl"), sets });
  // Plain float64 BM25 over the same terms, answers by the usual Python normaliser. It knew no term for a title of stop words,
  // by which two, three and three more of PopQA's questions are found.
  assert.deepEqual(
    check.sets.map(({ questions, answerable, recall }) => [
      answerable,
      ...Object.values(recall.bm25 ?? {}).map((share) => Math.round(share * questions)),
    ]),
    [
      [801, 413, 625, 681],
      [857, 563, 720, 753],
      [690, 318 + 2, 440 + 3, 496 + 3],
      [90, 6, 27, 55],
    ],
  );
});
