/** The grammars of all systems: what holds for each of them, on any text, and the quirks of the originals one by one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { agenticFormat } from "../../../lib/rollout/formats/agentic-rag.ts";
import { type Format, ragFormat } from "../../../lib/rollout/formats/format.ts";
import { originalRagFormat, searchR1Observation } from "../../../lib/rollout/formats/original-rag.ts";
import { r1SearcherFormat } from "../../../lib/rollout/formats/r1-searcher.ts";
import { reSearchFormat } from "../../../lib/rollout/formats/re-search.ts";
import { toolFormat } from "../../../lib/rollout/formats/tool-format.ts";
import { dice } from "../../dice.ts";
import { processorMs } from "../../processor-time.ts";

const families: Readonly<Record<string, Format>> = {
  "rag single": ragFormat("single"),
  "rag multi": ragFormat("multi"),
  "original rag single": originalRagFormat("single", "rag-r1"),
  "original rag multi": originalRagFormat("multi", "rag-r1"),
  "original search-r1": originalRagFormat("single", "search-r1"),
  "re-search": reSearchFormat(),
  "re-search base": reSearchFormat({ template: "base" }),
  "original re-search": reSearchFormat({ faithful: true }),
  searcher: r1SearcherFormat(),
  "searcher base": r1SearcherFormat({ template: "base" }),
  "original searcher": r1SearcherFormat({ faithful: true }),
};
const all = Object.entries(families);

const pieces = [
  ..."<search> </search> <answer> </answer> <think> </think> <result> </result>".split(" "),
  ..."<|begin_of_query|> <|end_of_query|> <|begin_of_documents|> <|end_of_documents|>".split(" "),
  ..."<information> </information> \\boxed{ \\boxed } { , \" ' < > | é 😀 a".split(" "),
  " ",
  "\n",
  "\ud800",
  "\u0000",
];

function randomText(roll: (below: number) => number, length: number): string {
  return Array.from({ length }, () => pieces[roll(pieces.length)]).join("");
}

const read = (format: Format, text: string) => format.parse(text, format);

test("any text is an action or invalid in every grammar, and never throws", () => {
  for (const [name, format] of all) {
    const roll = dice(name.length);
    const kinds = new Set<string>();
    for (let i = 0; i < 4000; i++) {
      const text = randomText(roll, roll(24));
      const action = read(format, text);
      kinds.add(action.kind);
      if (action.kind === "search") {
        assert.ok(action.queries.length <= format.maxQueries, name);
        assert.ok(
          action.end <= text.length && format.turnEnds.some((end) => text.slice(0, action.end).endsWith(end)),
        );
        for (const query of action.queries) assert.equal(query, query.trim());
      }
    }
    assert.ok(kinds.has("search") && kinds.size >= 2, `${name}: ${[...kinds]}`);
  }
});

test("random bytes are read in every grammar", () => {
  const roll = dice(3);
  const decoder = new TextDecoder();
  for (let i = 0; i < 500; i++) {
    const bytes = Uint8Array.from({ length: roll(200) }, () => roll(256));
    for (const [, format] of all) {
      const text = `${decoder.decode(bytes)}${format.turnEnds[0]}`;
      assert.ok(["search", "answer", "end", "invalid"].includes(read(format, text).kind));
    }
  }
});

test("every grammar reads a text in time linear in its length", () => {
  const size = 300_000;
  for (const [name, format] of all) {
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(size / piece.length));
      const spent = processorMs(() => {
        for (const end of ["", ...format.turnEnds]) read(format, text + end);
      });
      assert.ok(spent < 1500, `${name}: ${JSON.stringify(piece)} took ${spent} ms`);
    }
  }
});

test("every observation is written in time linear in what was found", () => {
  const formats = [...all, ["agentic", agenticFormat()] as const, ["tools", toolFormat([])] as const];
  for (const [name, format] of formats) {
    for (const piece of [" ", "\n", " \n", "<tool_call>", "\ufffd", "é"]) {
      const text = `a${piece.repeat(Math.ceil(200_000 / piece.length))}b`;
      const spent = processorMs(() => format.observation(["q"], [[{ title: "t", text }]], (list) => list));
      assert.ok(spent < 1500, `${name}: ${JSON.stringify(piece)} took ${spent} ms`);
    }
  }
});

test("nothing that the environment says is an action", () => {
  const found = [[{ title: "Rome", text: "a city" }]];
  for (const [name, format] of all) {
    if (name.startsWith("original")) continue;
    const said = [
      format.invalid,
      format.failure,
      format.lastTurn,
      format.observation(["q"], found, (text) => text),
    ];
    for (const text of said) assert.equal(read(format, text).kind, "invalid", `${name}: ${text}`);
  }
});

test("every grammar announces the last turn, except those of the originals", () => {
  for (const [name, { lastTurn }] of all) assert.equal(lastTurn === "", name.startsWith("original"), name);
});

test("ReSearch's answer is what its last box holds, and empty without one", () => {
  const { parse } = families["re-search"]!;
  const answer = (text: string): unknown => parse(`<answer>${text}</answer>`, {});
  assert.deepEqual(answer("It is \\boxed{ \\text{Rome} }."), {
    kind: "answer",
    answer: "\\text{Rome}",
    end: 45,
  });
  assert.deepEqual(answer("Rome"), { kind: "answer", answer: "", end: 21 });
});

test("ReSearch faithfully: the last pair of search tags counts, an unopened one asks for nothing, all else ends", () => {
  const { parse, turnEnds } = families["original re-search"]!;
  assert.deepEqual(turnEnds, ["</search>"]);
  const query = (text: string): unknown => {
    const action = parse(text, {});
    return action.kind === "search" ? action.queries : action;
  };
  assert.deepEqual(query("<search> a </search> <search> b </search>"), ["b"]);
  assert.deepEqual(query("<search> a <search> b </search>\n"), ["b"]);
  assert.deepEqual(query("nothing opened </search>"), [""]);
  assert.deepEqual(query("<answer> \\boxed{Rome} </answer> and \\boxed{Oslo}"), {
    kind: "end",
    answer: "Rome",
  });
  assert.deepEqual(query("<answer> Rome </answer>"), { kind: "end" });
});

test("ReSearch's observation follows the search at once and holds titles in quotes", () => {
  const documents = [
    [
      { title: "Rome", text: "a city" },
      { title: "Oslo", text: "another" },
    ],
  ];
  const text = families["re-search"]!.observation(["q"], documents, (list) => list);
  assert.equal(text, ' <result>\n"Rome"\na city\n\n"Oslo"\nanother\n</result>');
});

test("ReSearch's templates may be replaced; the base one as Python's format would fill it", () => {
  const base = reSearchFormat({ template: "base", templateText: "\\boxed{{x}} {prompt}. Assistant:" });
  assert.equal(base.prompt("who? {prompt}"), "\\boxed{x} who? {prompt}. Assistant:");
  assert.equal(reSearchFormat({ templateText: "{as it is}" }).system, "{as it is}");
});

test("R1-Searcher's query loses quotes and line breaks; the thought goes on behind the documents", () => {
  const { parse, observation } = families.searcher!;
  const text = '<|begin_of_query|> "Rome"\n mayor\'s  name <|end_of_query|>';
  assert.deepEqual(parse(text, {}), {
    kind: "search",
    queries: ["Rome mayors name"],
    dropped: 0,
    end: text.length,
  });
  const found = [
    [
      { title: "Rome", text: "a\ncity" },
      { title: "Oslo", text: "b" },
    ],
  ];
  assert.equal(
    observation(["q"], found, (list) => list),
    "\n\n<|begin_of_documents|>\n(1)Rome a city\n(2)Oslo b\n<|end_of_documents|>\n\n",
  );
  assert.equal(
    observation(["q"], [[]], (list) => list),
    "\n\n<|begin_of_documents|>\nNone\n<|end_of_documents|>\n\n",
  );
});

test("R1-Searcher faithfully: an empty query or a turn without one ends the conversation", () => {
  const { parse } = families["original searcher"]!;
  assert.deepEqual(parse("a <|begin_of_query|> ' <|end_of_query|>", {}), { kind: "end" });
  assert.deepEqual(parse("</think><answer> Rome </answer>", {}), { kind: "end", answer: "Rome" });
  assert.equal(parse("<|begin_of_query|> a <|begin_of_query|> b <|end_of_query|>", {}).kind, "search");
  assert.deepEqual(families.searcher!.parse("<|begin_of_query|> ' <|end_of_query|>", {}), {
    kind: "invalid",
    reason: "no query",
  });
});

test("RAG-R1 faithfully: queries are cut at every comma and are as many as there are", () => {
  const original = families["original rag multi"]!;
  const action = read(original, '<search>"Paris, Texas", b, c, d</search>');
  assert.deepEqual(action.kind === "search" && action.queries, ['"Paris', 'Texas"', "b", "c", "d"]);
  const mended = read(families["rag multi"]!, '<search>"Paris, Texas", b, c, d</search>');
  assert.deepEqual(mended.kind === "search" && [mended.queries, mended.dropped], [
    ["Paris, Texas", "b", "c"],
    1,
  ]);
});

test("RAG-R1 faithfully: a search for nothing is a search", () => {
  const action = read(families["original rag single"]!, "<search> </search>");
  assert.deepEqual(action.kind === "search" && action.queries, []);
  assert.equal(
    families["original rag single"]!.observation([], [], (text) => text),
    "\n<information>\n\n</information>\n",
  );
});

test("RAG-R1 faithfully: the turn is cut at its first closed search, and its first block is the action", () => {
  const { parse } = families["original rag single"]!;
  assert.equal(parse("<answer> a </answer> <search> q </search>", {}).kind, "answer");
  assert.equal(parse("</search> <search> q </search>", {}).kind, "invalid");
  assert.equal(parse("<search> q </answer> <answer> a </answer>", {}).kind, "invalid");
});

test("RAG-R1 faithfully: letters beyond ASCII are escaped in parallel observations", () => {
  const text = families["original rag multi"]!.observation(
    ["é"],
    [[{ title: "中", text: "😀\u007f\n" }]],
    (list) => list,
  );
  const body = JSON.stringify({ query: ["é"], documents: ["Doc 1: 中   😀\u007f"] }, null, 2);
  const expected = body.replace("é", "\\u00e9").replace("中", "\\u4e2d").replace("😀", "\\ud83d\\ude00");
  assert.equal(text, `\n<information>\n${expected.replace("\u007f", "\\u007f")}\n</information>\n`);
});

test("RAG-R1 faithfully: a passage begins with its title and three spaces, as a line of its corpus does", () => {
  const found = [
    { title: "Rome", text: "Rome Rome is a city" },
    { title: "", text: "untitled" },
  ];
  assert.equal(
    families["original rag single"]!.observation(["q"], [found], (text) => text),
    "\n<information>\nDoc 1: Rome   Rome Rome is a city\nDoc 2: untitled\n</information>\n",
  );
});

test("a long observation loses its closing tag faithfully, and keeps it otherwise", () => {
  const documents = [[{ title: "Rome", text: "a city" }]];
  const cut = (text: string): string => text.slice(0, 24);
  for (const name of ["original rag single", "original search-r1"]) {
    assert.ok(!families[name]!.observation(["q"], documents, cut).includes("</information>"), name);
  }
  assert.ok(searchR1Observation(["q"], documents, cut).endsWith("</information>\n\n"));
  assert.equal(
    searchR1Observation(["q"], documents, (text) => text),
    '\n\n<information>Doc 1(Title: "Rome") a city</information>\n\n',
  );
});
