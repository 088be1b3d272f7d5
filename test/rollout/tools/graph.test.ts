/** The knowledge graph: facts from files, neighbours, shortest paths. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { graphTool } from "../../../lib/rollout/tools/built-in/graph.ts";
import type { Triple } from "../../../lib/rollout/tools/built-in/triple.ts";
import { TripleStore } from "../../../lib/rollout/tools/built-in/triples.ts";
import { toolBox } from "../../../lib/rollout/tools/tool-box.ts";
import { randomFrom } from "../../dice.ts";
import { processorMs } from "../../processor-time.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const facts = [
  "Aspirin\ttreats\theadache",
  "ibuprofen\ttreats\theadache",
  "Aspirin\tmade by\tBayer",
  "Bayer\tseat\tLeverkusen",
  "aspirin\ttreats\tHeadache",
  "Carthage, Texas\tin\tTexas",
  "C\tkind of\tlanguage",
  "C++\tkind of\tlanguage",
];
const triplesOf = (lines: readonly string[]): Triple[] =>
  lines.map((line) => {
    const [head = "", relation = "", tail = ""] = line.split("\t");
    return { head, relation, tail };
  });

test("facts come from tab-separated columns and from JSON Lines, each once", async () => {
  const files = {
    "facts.tsv": `${facts.join("\r\n")}\n\n`,
    "facts.jsonl": triplesOf(facts)
      .map((each) => JSON.stringify(each))
      .join("\n"),
    "facts.tsv.gz": gzipSync(facts.join("\n")),
  };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(folder, name), content);
    const store = await TripleStore.open(join(folder, name));
    assert.equal(store.size, facts.length - 1, name);
    assert.deepEqual(store.neighbours(" bayer"), triplesOf(facts.slice(2, 4)), name);
  }
});

test("a line that is no fact is named with its file and number", async () => {
  for (const [line, expected] of [
    ["a\tb", "three columns"],
    ["a\tb\tc\td", "three columns"],
    ["a\t \tc", "three columns"],
    ['{"head": "a", "relation": "b"}', "head, relation and tail"],
  ]) {
    const path = join(folder, "bad.tsv");
    await writeFile(path, `x\ty\tz\n${line}\n`);
    await assert.rejects(TripleStore.open(path), (error: Error & { code?: string }) => {
      assert.equal(error.code, "ERR_FORMAT");
      assert.ok(error.message.includes(`bad.tsv:2: expected ${expected}`), error.message);
      return true;
    });
  }
  await assert.rejects(TripleStore.open(join(folder, "none.tsv")), { code: "ERR_IO" });
});

/** All shortest paths by trying every walk, for graphs of a few facts. */
function pathsByTrial(triples: readonly Triple[], from: string, to: string, maxHops: number): string[] {
  let walks: { readonly at: string; readonly path: Triple[] }[] = [{ at: from, path: [] }];
  for (let hop = 0; hop <= maxHops; hop += 1) {
    const arrived = walks.filter(({ at }) => at === to).map(({ path }) => JSON.stringify(path));
    if (arrived.length > 0) return arrived.sort();
    walks = walks.flatMap(({ at, path }) =>
      triples
        .filter(({ head, tail }) => head === at || tail === at)
        .map((each) => ({ at: each.head === at ? each.tail : each.head, path: [...path, each] })),
    );
  }
  return [];
}

test("shortest paths are those that trying every walk finds", async () => {
  const random = randomFrom(3);
  const pick = (count: number): string => String(Math.floor(random() * count));
  for (let round = 0; round < 60; round += 1) {
    const unique = new Map<string, Triple>();
    for (let i = 0; i < 9; i += 1) {
      const fact = { head: pick(7), relation: `r${pick(2)}`, tail: pick(7) };
      unique.set(JSON.stringify(fact), fact);
    }
    const triples = [...unique.values()];
    const store = await TripleStore.of(triples);
    const all = { maxHops: 4, maxPaths: 1000 };
    const found = store.paths("0", "1", all).map((path) => JSON.stringify(path));
    const known = store.nameOf("0") !== undefined && store.nameOf("1") !== undefined;
    assert.deepEqual(found.sort(), known ? pathsByTrial(triples, "0", "1", 4) : []);
    assert.ok(store.paths("0", "1", { ...all, maxPaths: 2 }).length <= 2);
  }
});

test("a look for paths is bounded on a dense graph", async () => {
  const names = Array.from({ length: 400 }, (_, i) => `n${i}`);
  const triples = names.flatMap((head, i) =>
    names.slice(i + 1).map((tail) => ({ head, relation: "beside", tail })),
  );
  const far = { head: "n0", relation: "beside", tail: "x" };
  const store = await TripleStore.of([...triples, far, { head: "y", relation: "beside", tail: "z" }]);
  const spent = processorMs(() => {
    assert.equal(store.paths("x", "n1").length, 1);
    assert.deepEqual(store.paths("x", "z"), []);
    assert.deepEqual(store.paths("x", "n1", { maxVisited: 2 }), []);
    assert.deepEqual(store.paths("x", "n1", { maxHops: 1 }), []);
  });
  assert.ok(spent < 5000, `${spent} ms`);
});

test("the tool answers with facts and paths, and helps with names that it does not know", async () => {
  const { run } = toolBox([graphTool(await TripleStore.of(triplesOf(facts)), { maxFacts: 2 })]);
  const ask = async (input: unknown): Promise<string> =>
    (await run([{ name: "knowledge_graph", input, text: "" }]))[0]?.text ?? "";
  assert.equal(
    await ask({ entity: "ibuprofen", to: "leverkusen" }),
    "ibuprofen --treats--> headache <--treats-- Aspirin --made by--> Bayer --seat--> Leverkusen",
  );
  assert.equal(await ask("ibuprofen | Bayer"), await ask({ entity: "ibuprofen", to: "Bayer" }));
  assert.equal(await ask("Aspirin"), "Aspirin --treats--> headache\nAspirin --made by--> Bayer");
  assert.equal(await ask({ entity: "headache", relation: "Treats" }), await ask("headache"));
  assert.equal(
    await ask({ entity: "Bayer", relation: "eats" }),
    'No fact of the relation "eats" is known; there are made by, seat.',
  );
  assert.equal(await ask("Carthage, Texas"), "Carthage, Texas --in--> Texas");
  assert.equal(await ask("Carthage, Texas -> Texas"), "Carthage, Texas --in--> Texas");
  assert.equal(await ask("Bayer, Leverkusen"), "Bayer --seat--> Leverkusen");
  assert.equal(await ask("Texas -> aspirin"), "No path of at most 4 facts leads from Texas to Aspirin.");
  assert.equal(await ask("Bayer -> bayer"), "Bayer and Bayer are the same entity.");
  assert.equal(await ask("C++"), "C++ --kind of--> language");
  assert.equal(await ask("Bayer AG"), 'There is no entity "Bayer AG" in the graph. Similar names: Bayer.');
  assert.equal(await ask("->"), 'There is no entity "->" in the graph.');
});
