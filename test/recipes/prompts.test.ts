/** Prompts in faithful mode are those of the published training data, byte for byte. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readParquetGroups } from "../../lib/data/files/parquet.ts";
import { readQuestions } from "../../lib/data/question.ts";
import { r1Searcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import { projectRoot } from "../project.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

const golden = JSON.parse(readFileSync(join(projectRoot, "test/golden/recipes/prompts.json"), "utf8")) as {
  readonly question: string;
  readonly prompts: Readonly<Record<"single" | "multi", string>>;
};

test("a faithful prompt is the published one, with a question mark added where it is missing", () => {
  for (const queries of ["single", "multi"] as const) {
    const { prompt } = ragR1({ queries, faithful: true }).format;
    assert.equal(prompt(golden.question), golden.prompts[queries]);
    assert.equal(prompt(` ${golden.question.slice(0, -1)} `), golden.prompts[queries]);
  }
});

test("Search-R1's prompt is RAG-R1's with one query", () => {
  assert.equal(searchR1({ faithful: true }).format.prompt(golden.question), golden.prompts.single);
});

interface Row {
  readonly question: string;
  readonly golden_answers: string;
  readonly prompt: readonly { readonly role: string; readonly content: string }[];
}

test("every prompt of the published training data is ours", { skip: skipWithoutData }, async () => {
  const folders = { single: "hotpotqa_train_filter", multi: "hotpotqa_train_filter_mq" } as const;
  let count = 0;
  for (const queries of ["single", "multi"] as const) {
    const path = sharedData("qa/rag-r1", folders[queries], "test.parquet");
    const { prompt } = ragR1({ queries, faithful: true }).format;
    const rows: Row[] = [];
    for await (const group of readParquetGroups(path, (columns) => columns)) {
      rows.push(...group.map(({ value }) => value as unknown as Row));
    }
    for (const row of rows) {
      assert.deepEqual(row.prompt, [{ role: "user", content: prompt(row.question) }]);
      count += 1;
    }
    let i = 0;
    for await (const { question, answers } of readQuestions(path)) {
      assert.deepEqual([question, answers], [rows[i]?.question, [rows[i]?.golden_answers]]);
      i += 1;
    }
  }
  assert.equal(count, 252 + 351);
});

test("what R1-Searcher reads in its published conversations is what we write, byte for byte", {
  skip: skipWithoutData,
}, () => {
  const path = sharedData("qa/r1-searcher/predictions/bamboogle_qwen.jsonl");
  const { observation } = r1Searcher({ stage: "zero", faithful: true }).format;
  const said = readFileSync(path, "utf8").trim().split("\n");
  const texts = said.map((line) => (JSON.parse(line) as { gen_text_store: string }).gen_text_store);
  const found = texts.flatMap(
    (text) => text.match(/\n\n<\|begin_of_documents\|>\n[\s\S]*?<\|end_of_documents\|>\n\n/g) ?? [],
  );
  for (const text of found) {
    const lines = [...text.matchAll(/^\(\d\)(.*?) {3}(.*)$/gm)];
    const documents = lines.map(([, title = "", passage = ""]) => ({ title, text: passage }));
    assert.equal(documents.length, 5, text);
    assert.equal(
      observation(["q"], [documents], (list) => list),
      text,
    );
  }
  assert.equal(found.length, 248);
});
