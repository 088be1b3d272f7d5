/** The same attacks on servers of searches and of rewards. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli } from "../cli/run-cli.ts";
import { type Attack, asked, attack, list, serverOf } from "./attack.ts";

async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "attacks-"));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

const queriesOf: Readonly<Record<string, () => readonly string[]>> = {
  "500,000 texts": () => Array.from({ length: 500_000 }, () => "a"),
  "290,000 texts": () => Array.from({ length: 290_000 }, () => "a"),
  "4,000 texts": () => Array.from({ length: 4000 }, (_, i) => `passage ${i} of ${i % 7}`),
  "combining marks": () => Array.from({ length: 60 }, (_, i) => `${i}a${"\u0301\u0316".repeat(16_000)}`),
  words: () => Array.from({ length: 120 }, (_, i) => `w${i} `.repeat(6000)),
  "words of 32,000 characters": () => Array.from({ length: 120 }, (_, i) => `${i}${"a".repeat(32_000)}`),
  "Han of 30,000 characters": () =>
    Array.from({ length: 40 }, (_, i) => `${i}${"\u4e00\u4e01\u3042".repeat(10_000)}`),
  "a text of 4 MB": () => ["a".repeat(4_000_000)],
};

test("a retriever server answers hostile requests, and /health beside them", async (t) => {
  const folder = await temporary(t);
  const passages = Array.from({ length: 500 }, (_, i) => ({
    id: `${i}`,
    title: `${i}`,
    text: `passage ${i} of words`,
  }));
  await writeFile(join(folder, "passages.jsonl"), passages.map((each) => JSON.stringify(each)).join("\n"));
  const index = join(folder, "index");
  assert.equal(
    (await runCli("index", "build", "--corpus", join(folder, "passages.jsonl"), "--out", index)).code,
    0,
  );
  const bodies = Object.entries(queriesOf).flatMap(([name, texts]): [string, Attack][] => [
    [`${name}, /retrieve`, { path: "/retrieve", bodies: [asked({ queries: texts(), topk: 20 })] }],
    [`${name}, /batch_search`, { path: "/batch_search", bodies: [asked({ query: texts() })] }],
    [`${name}, /queries`, { path: "/queries", bodies: [asked({ queries: texts() })] }],
  ]);
  await attack(t, await serverOf(t, "retriever", "serve", "--index", index), {
    ...Object.fromEntries(bodies),
    "deep JSON": { path: "/retrieve", bodies: [`{"queries":${"[".repeat(100_000)}${"]".repeat(100_000)}}`] },
  });
});

test("a reward server answers hostile requests, and /health beside them", async (t) => {
  const folder = await temporary(t);
  const questions = join(folder, "questions.jsonl");
  await writeFile(questions, JSON.stringify({ question: "what is it?", answers: ["a"] }));
  const known = "Question: what is it?\nAssistant: ";
  const texts: Readonly<Record<string, (i: number) => string>> = {
    "65,000 texts": () => `${known}<answer> a </answer>`,
    "unknown questions": () => "Question: what is it".repeat(12_000),
    "long answers": (i) => `${known}<answer>${i} ${"hello ".repeat(42_000)}</answer>`,
    "combining marks": (i) => `${known}<answer>${i}${"\u0301\u0316".repeat(60_000)}</answer>`,
    "open tags": () => `${known}${"<answer>".repeat(30_000)}`,
    searches: () => `${known}${"<search> a </search>".repeat(12_000)}<answer> a </answer>`,
  };
  const bodyOf = (name: string, text: (i: number) => string): string =>
    asked({ query: Array.from({ length: name.startsWith("65") ? 65_000 : 20 }, (_, i) => text(i)) });
  await attack(t, await serverOf(t, "reward", "serve", "--questions", questions), {
    ...Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [
        name,
        { path: "/get_reward", bodies: [bodyOf(name, text)] },
      ]),
    ),
    "500,000 texts": { path: "/get_reward", bodies: [`{"query":${list('"a"', 500_000)}}`] },
    "deep JSON": {
      path: "/get_reward",
      bodies: [`{"query":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}`],
    },
  });
});
