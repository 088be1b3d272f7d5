/** A tiny random model, a corpus of two passages and three questions. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { writeTinyModel } from "./tiny-folder.ts";

export const folder = await mkdtemp(join(tmpdir(), "seekrl-"));

after(() => rm(folder, { recursive: true }));

export const [model, corpus, index, questions] = ["model", "corpus.jsonl", "index", "questions.jsonl"].map(
  (name) => join(folder, name),
) as [string, string, string, string];

export const noScores = { em: 0, f1: 0, acc: 0, precision: 0, recall: 0 };

export function jsonLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

await writeTinyModel(model);

await writeFile(
  corpus,
  jsonLines([
    { id: "1", title: "Paris", text: "Paris is the capital of France." },
    { id: "2", title: "Rome", text: "Rome is the capital of Italy." },
  ]),
);

await writeFile(
  questions,
  jsonLines([
    { question: "capital of France?", answers: ["Paris"] },
    { question: "capital of Italy?", golden_answers: "Rome" },
    { question: "capital of Peru?", answers: ["Lima"] },
  ]),
);
