/** Search, documents and pages as tools. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pageTool } from "../../../connectors/tools/page.ts";
import { documentTool } from "../../../lib/rollout/tools/built-in/document.ts";
import { Library } from "../../../lib/rollout/tools/built-in/library.ts";
import { searchTool } from "../../../lib/rollout/tools/built-in/search.ts";
import type { Tool } from "../../../lib/rollout/tools/tool.ts";
import { type ToolResult, toolBox } from "../../../lib/rollout/tools/tool-box.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import type { Hit } from "../../../lib/search/search.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const passages = [
  { id: "p1", title: "Paris", text: "Paris lies on the Seine." },
  { id: "p2", title: "Paris", text: "Its tower is of iron." },
  { id: "l1", title: "Lyon", text: "Lyon lies on the Rhône." },
  { id: "p3", title: "Paris", text: "Kings were buried nearby." },
];

async function ask(tool: Tool, input: unknown): Promise<ToolResult> {
  const [result] = await toolBox([tool], { timeoutMs: 5000 }).run([{ name: tool.name, input, text: "" }]);
  assert.ok(result);
  return result;
}

test("a document is read in parts, by title or by the id of a passage, from memory and from an index", async () => {
  const index = join(folder, "index");
  await buildIndex({ corpus: passages.slice(0, 3), out: index });
  await addToIndex(index, passages.slice(3));
  await writeFile(join(folder, "corpus.jsonl"), passages.map((each) => JSON.stringify(each)).join("\n"));
  for (const path of [index, join(folder, "corpus.jsonl")]) {
    const library = await Library.open(path);
    const tool = documentTool(library, { maxParts: 2 });
    const text = async (input: unknown) => (await ask(tool, input)).text;
    assert.equal(
      await text("PARIS"),
      "Paris, part 1 of 3:\nParis lies on the Seine.\n\nParis, part 2 of 3:\nIts tower is of iron.",
    );
    assert.equal(
      await text({ document: "Paris", part: 3 }),
      "Paris, part 3 of 3:\nKings were buried nearby.",
    );
    assert.equal(await text({ document: "p3" }), "Paris, part 3 of 3:\nKings were buried nearby.");
    assert.equal(await text({ document: "Paris", part: 4 }), "Paris has 3 parts, and no part 4.");
    assert.equal(
      await text({ document: "Paris", about: "the burials of a king" }),
      "Paris, part 3 of 3:\nKings were buried nearby.",
    );
    assert.equal(
      await text({ document: "Paris", about: "zebra" }),
      "No part of Paris has any of these words.",
    );
    assert.equal(await text("Rome"), 'There is no document "Rome".');
    const { documents } = await ask(tool, "Lyon");
    assert.deepEqual(documents, [passages[2]]);
    library.close();
  }
});

test("passages that were removed from an index are no longer read", async () => {
  const index = join(folder, "changed");
  await buildIndex({ corpus: passages, out: index });
  await removeFromIndex(index, ["p2"]);
  const library = await Library.open(index);
  const { text } = await ask(documentTool(library), "Paris");
  assert.equal(
    text,
    "Paris, part 1 of 2:\nParis lies on the Seine.\n\nParis, part 2 of 2:\nKings were buried nearby.",
  );
  assert.equal((await ask(documentTool(library), "p2")).text, 'There is no document "p2".');
  library.close();
  assert.equal((await ask(documentTool(library), "Paris")).failure?.kind, "failed");
});

test("a search tool asks for as many documents as the call says, within bounds", async () => {
  const asked: number[] = [];
  const search = async (queries: readonly string[], { topK }: { topK: number }): Promise<Hit[][]> => {
    asked.push(topK);
    return queries.map((query) =>
      query === "none" ? [] : [{ id: "1", title: query, text: "found", score: 1 }],
    );
  };
  const tool = searchTool(search, { topK: 2 });
  assert.deepEqual(await ask(tool, "who?"), {
    text: "Doc 1: who?\nfound",
    documents: [{ id: "1", title: "who?", text: "found", score: 1 }],
  });
  assert.equal((await ask(tool, { query: "none", topK: 5 })).text, "Nothing was found.");
  assert.equal((await ask(tool, { query: "a", topK: 11 })).failure?.kind, "invalid input");
  assert.equal((await ask(tool, { query: " " })).failure?.kind, "invalid input");
  assert.deepEqual(asked, [2, 5]);
});

test("a page is read in parts that end at words, and one that cannot be read is a failure", async () => {
  const words = Array.from({ length: 30 }, (_, i) => `word${i}`).join(" ");
  const tool = pageTool(
    async (urls) =>
      urls.map((url) =>
        url === "bad:" ? { url, failure: "bad: refused" } : { url, title: "", text: words },
      ),
    { partChars: 100 },
  );
  const first = await ask(tool, "http://a");
  assert.match(first.text, /^http:\/\/a, part 1 of 3:\nword0 .*word\d+$/);
  const rest = await Promise.all([2, 3].map((part) => ask(tool, { url: "http://a", part })));
  const read = [first, ...rest].map(({ text }) => text.split("\n")[1]).join(" ");
  assert.equal(read, words);
  assert.equal((await ask(tool, { url: "http://a", part: 4 })).text, "http://a has 3 parts, and no part 4.");
  assert.deepEqual((await ask(tool, "bad:")).failure, { kind: "failed", message: "read_page: bad: refused" });
});
