/** Every request shown in docs/serving.md gets the answer that stands below it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Passage } from "../../lib/search/corpus/passage.ts";
import { buildIndex } from "../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../lib/search/index-folder/open.ts";
import { projectRoot } from "../project.ts";
import { get, post, served } from "./doubles.ts";

const page = readFileSync(join(projectRoot, "docs", "serving.md"), "utf8");
const [, lines = ""] = /```jsonl\n([\s\S]*?)```/.exec(page) ?? [];
const corpus = lines
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Passage);
const requests = [...page.matchAll(/^curl -s localhost:8000(\/\S*)(?: -d '(.*)')?\n(.*)$/gm)].map(
  ([, path = "", body, answer = ""]) => ({ path, body, answer }),
);

test("the requests of the page get the answers of the page", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  t.after(() => rm(folder, { recursive: true }));
  await buildIndex({ corpus, out: join(folder, "cities") });
  const search = await openIndex(join(folder, "cities"));
  t.after(() => search.close());
  const server = await served(t, { search });
  assert.ok(requests.length >= 8);
  for (const { path, body, answer } of requests) {
    const { text } = body === undefined ? await get(server, path) : await post(server, path, body);
    assert.equal(text, answer, path);
  }
});
