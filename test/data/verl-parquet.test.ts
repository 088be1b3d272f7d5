/** Parquet for verl: the published columns and types, and questions that come back. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, type SchemaElement } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { prepareQuestions } from "../../lib/data/prepare.ts";
import type { Question } from "../../lib/data/question.ts";
import { writeVerlParquet } from "../../lib/data/verl-parquet.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const questions: Question[] = [
  { id: "nq/test_0", question: "Who?", answers: ["Ada", "A. B."], split: "test", source: "nq" },
  { id: "musique/2hop_1", question: "Où ça\u2028?", answers: ["é"], split: "dev", source: "musique" },
  { id: "nq/test_1", question: "When?", answers: ["1902"], source: "nq" },
];

async function rowsOf(path: string): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
}

test("questions written for Search-R1 come back, and each row has an index of its own", async () => {
  const path = join(folder, "train.parquet");
  await writeVerlParquet(path, questions, { prompt: (question) => `Question: ${question}\n` });
  assert.deepEqual((await prepareQuestions([{ path }], { format: "verl" })).questions, questions);
  const [first, ...others] = await rowsOf(path);
  assert.deepEqual(first, {
    id: "nq/test_0",
    question: "Who?",
    data_source: "nq",
    golden_answers: ["Ada", "A. B."],
    prompt: [{ content: "Question: Who?\n", role: "user" }],
    ability: "fact-reasoning",
    reward_model: { ground_truth: { target: ["Ada", "A. B."] }, style: "rule" },
    extra_info: { index: 0n, split: "test" },
  });
  const indices = others.map((row) => (row.extra_info as { readonly index: bigint }).index);
  assert.deepEqual(indices, [1n, 2n]);
});

test("questions written for ReSearch have no prompt, and come back", async () => {
  const path = join(folder, "research.parquet");
  await writeVerlParquet(path, questions, { layout: "research", prompt: (question) => question });
  assert.deepEqual((await prepareQuestions([{ path }], { format: "verl" })).questions, questions);
  assert.deepEqual((await rowsOf(path))[1], {
    id: "musique/2hop_1",
    question: "Où ça\u2028?",
    data_source: "musique",
    ability: "qa",
    reward_model: { ground_truth: ["é"], style: "rule" },
    extra_info: { id: "musique/2hop_1", split: "dev" },
  });
});

test("RAG-R1's layout has one answer as a text, no id, and no room for several", async () => {
  const path = join(folder, "rag-r1.parquet");
  const prompt = (question: string): string => question;
  await writeVerlParquet(path, questions.slice(1), { layout: "rag-r1", prompt });
  const [first] = await rowsOf(path);
  assert.deepEqual([first?.golden_answers, first?.id], ["é", undefined]);
  assert.deepEqual(first?.reward_model, { ground_truth: { target: "é" }, style: "rule" });
  await assert.rejects(writeVerlParquet(path, questions, { layout: "rag-r1", prompt }), {
    code: "ERR_ARGUMENT",
    message: /question "nq\/test_0": expected one answer .* got 2/,
  });
});

test("a question without a source is refused, because verl's rows name their set", async () => {
  const path = join(folder, "none.parquet");
  const nameless = [{ id: "1", question: "a?", answers: ["x"] }];
  await assert.rejects(writeVerlParquet(path, nameless, { prompt: (question) => question }), {
    code: "ERR_ARGUMENT",
    message: /question "1": expected a source/,
  });
});

/** A schema's columns as paths with their types, whatever their order. */
async function columnsOf(path: string): Promise<string[]> {
  const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  const found: string[] = [];
  const walk = (at: number, prefix: string): number => {
    const { name, type, num_children: count = 0 } = schema[at] as SchemaElement;
    const here = at === 0 ? "" : `${prefix}/${name}`;
    if (type !== undefined) found.push(`${here}: ${type}`);
    let next = at + 1;
    for (let i = 0; i < count; i += 1) next = walk(next, here);
    return next;
  };
  walk(0, "");
  return found.sort();
}

test("RAG-R1's JSON becomes RAG-R1's parquet: rows, prompts, columns and their types", {
  skip: skipWithoutData,
}, async () => {
  for (const queries of ["single", "multi"] as const) {
    const source = queries === "single" ? "hotpotqa_train_filter" : "hotpotqa_train_filter_mq";
    const at = (base: string): string => sharedData("qa", "rag-r1", source, base);
    const files = [{ path: at("test_data.json"), source, split: "test" }];
    const { questions } = await prepareQuestions(files, { format: "seekrl" });
    const path = join(folder, `${queries}.parquet`);
    const { prompt } = ragR1({ queries, faithful: true }).format;
    await writeVerlParquet(path, questions, { prompt, layout: "rag-r1" });
    assert.deepEqual(await columnsOf(path), await columnsOf(at("test.parquet")));
    const theirs = await rowsOf(at("test.parquet"));
    for (const [i, row] of (await rowsOf(path)).entries()) {
      // Some questions of theirs have blanks around them.
      const { question: _, ...rest } = theirs[i] ?? {};
      for (const key of Object.keys(rest)) assert.deepEqual(row[key], rest[key]);
      assert.deepEqual(Object.keys(row).sort(), Object.keys(theirs[i] ?? {}).sort());
    }
    assert.equal(theirs.length, questions.length);
  }
});
