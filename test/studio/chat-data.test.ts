/** Replies put together from a stream, conversations that branch, and the Markdown in them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  besides,
  type ChatMessage,
  noMessages,
  pathOf,
  requestMessages,
  turned,
  withMessage,
} from "../../web/base/chat/branches.ts";
import { parseInline, parseMarkdown, withMarks } from "../../web/base/chat/markdown.ts";
import { afterChunk, citedPassage, emptyReply, textOf } from "../../web/base/chat/reply.ts";

const passage = { id: "p1", title: "Oslo", text: "Oslo is the capital.", url: "seekrl:p1" };

const chunks = [
  { id: "chatcmpl-1", choices: [{ delta: { reasoning_content: "Let me " } }] },
  { choices: [{ delta: { reasoning_content: "look." } }] },
  { choices: [{ delta: { seekrl: { search: { id: "s1", queries: ["capital"] } } } }] },
  { choices: [{ delta: { seekrl: { search: { id: "s1", queries: ["capital"], hits: [[passage]] } } } }] },
  { choices: [{ delta: { content: "It is " } }] },
  { choices: [{ delta: { content: "Oslo." } }] },
  {
    choices: [
      {
        delta: {
          annotations: [
            {
              type: "url_citation",
              url_citation: { url: "seekrl:p1", title: "Oslo", start_index: 6, end_index: 10 },
              quote: "the capital",
            },
          ],
        },
      },
    ],
  },
  { choices: [{ delta: {}, finish_reason: "stop" }] },
  {
    choices: [],
    usage: { prompt_tokens: 9, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
  },
];

test("a reply is thoughts, searches and text in the order in which they came", () => {
  const reply = chunks.reduce(afterChunk, emptyReply);
  assert.deepEqual(reply, {
    id: "chatcmpl-1",
    parts: [
      { kind: "reasoning", text: "Let me look." },
      { kind: "search", id: "s1", queries: ["capital"], hits: [[passage]] },
      { kind: "text", text: "It is Oslo." },
    ],
    citations: [{ passage: { title: "Oslo", url: "seekrl:p1" }, quote: "the capital", start: 6, end: 10 }],
    ...{ finish: "stop", promptTokens: 9, completionTokens: 5, cachedTokens: 4 },
  });
  assert.equal(textOf(reply), "It is Oslo.");
  assert.deepEqual(citedPassage(reply, reply.citations[0]!), passage);
});

const said = (
  id: string,
  parent: string | null,
  role: ChatMessage["role"],
  content: string,
): ChatMessage => ({
  ...{ id, parent, role, content },
});

test("an edited message stands beside the one before, and both can be turned to", () => {
  const branches = [
    said("a", null, "user", "one"),
    said("b", "a", "assistant", "first"),
    said("c", null, "user", "one, edited"),
    said("d", "c", "assistant", "second"),
  ].reduce(withMessage, noMessages);
  const shown = (each: typeof branches): string[] => pathOf(each).map(({ id }) => id);
  assert.deepEqual(shown(branches), ["c", "d"]);
  assert.deepEqual(
    besides(branches, null).map(({ id }) => id),
    ["a", "c"],
  );
  const back = turned(branches, branches.messages[2]!, -1);
  assert.deepEqual(shown(back), ["a", "b"]);
  assert.equal(turned(back, branches.messages[0]!, -1), back);
  assert.deepEqual(requestMessages(pathOf(back), "Be brief."), [
    { role: "system", content: "Be brief." },
    { role: "user", content: "one" },
    { role: "assistant", content: "first" },
  ]);
});

test("Markdown becomes blocks; a fence that is open goes to the end", () => {
  const kinds = parseMarkdown("# Title\nsome *text*\n\n- a\n- **b**\n1. c\n```js\nx = 1;\n\ny").map(
    ({ kind }) => kind,
  );
  assert.deepEqual(kinds, ["heading", "paragraph", "list", "list", "code"]);
  assert.deepEqual(parseMarkdown("```js\nx\n```\nafter"), [
    { kind: "code", language: "js", text: "x" },
    { kind: "paragraph", lines: [{ kind: "text", text: "after" }] },
  ]);
  assert.deepEqual(parseInline("a `b` **c** <img>"), [
    { kind: "text", text: "a " },
    { kind: "code", text: "b" },
    { kind: "text", text: " " },
    { kind: "strong", text: "c" },
    { kind: "text", text: " <img>" },
  ]);
});

test("marks of citations stand behind what is cited", () => {
  const marked = withMarks("It is Oslo.", [{ end: 10 }, { end: 2 }]);
  assert.deepEqual(parseInline(marked), [
    { kind: "text", text: "It" },
    { kind: "citation", number: 1 },
    { kind: "text", text: " is Oslo" },
    { kind: "citation", number: 0 },
    { kind: "text", text: "." },
  ]);
});
