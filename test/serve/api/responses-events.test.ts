/** Events of a response: their order, what they name, what they add up to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRequest } from "../../../apps/serve/api/responses/request.ts";
import { headOf } from "../../../apps/serve/api/responses/resource.ts";
import { type ResponseEvent, ResponseWriter } from "../../../apps/serve/api/responses/writer.ts";
import { Refusal } from "../../../apps/serve/http/refusal.ts";
import type { FoundPassage, ReplyEvent } from "../../../apps/serve/reply/reply.ts";
import { called, finish, start, thoughts, words } from "./replies.ts";

function writerOf(body: object = {}): ResponseWriter {
  const head = headOf(createRequest().parse(body), { id: "resp_1", model: { id: "small" } });
  return new ResponseWriter(head, { logprobs: false, sealedThoughts: false });
}

/** All events of a reply, as clients get them. */
function told(reply: readonly ReplyEvent[], writer = writerOf()): ResponseEvent[] {
  const events = [...writer.begin(), ...reply.flatMap((event) => writer.take(event))];
  return JSON.parse(JSON.stringify(events)) as ResponseEvent[];
}

const typesOf = (events: readonly ResponseEvent[]): string[] =>
  events.map(({ type }) => type.replace(/^response\./, ""));

interface Told {
  readonly [field: string]: unknown;
}

/** What the deltas of each item add up to, by the item's place. */
function textsOf(events: readonly ResponseEvent[]): string[] {
  const texts: string[] = [];
  for (const { type, output_index, delta } of events) {
    const at = output_index as number;
    if (type === "response.output_item.added") texts[at] = "";
    if (type.endsWith(".delta")) texts[at] += delta as string;
  }
  return texts;
}

const passage: FoundPassage = { id: "p1", title: "Bonn", text: "Bonn is on the Rhine.", score: 2 };

/** Everything that a reply may hold. */
const whole: ReplyEvent[] = [
  start,
  ...thoughts("Where ", "is it?"),
  { type: "search", choice: 0, id: "s1", queries: ["Bonn", "Rhine"] },
  { type: "search", choice: 0, id: "s1", queries: ["Bonn", "Rhine"], passages: [[passage], []] },
  ...thoughts("On the Rhine."),
  ...words("Bonn is on ", "the Rhine."),
  { type: "citation", choice: 0, passage, quote: "on the Rhine", start: 8, end: 20 },
  ...called({ index: 0, id: "c1", name: "draw" }, '{"a":', "1}"),
  ...words("Done."),
  finish(),
];

test("each item is added, goes on and is done before the next one of the model's", () => {
  const part = ["content_part.added", "output_text.delta"];
  const end = ["output_text.done", "content_part.done", "output_item.done"];
  const [thought, summary] = ["reasoning_summary_part", "reasoning_summary_text"];
  assert.deepEqual(typesOf(told(whole)), [
    ...["created", "in_progress"],
    ...["output_item.added", `${thought}.added`, `${summary}.delta`, `${summary}.delta`],
    ...[`${summary}.done`, `${thought}.done`, "output_item.done"],
    ...["output_item.added", "web_search_call.in_progress", "web_search_call.searching"],
    ...["web_search_call.completed", "output_item.done"],
    ...["output_item.added", `${thought}.added`, `${summary}.delta`],
    ...[`${summary}.done`, `${thought}.done`, "output_item.done"],
    ...["output_item.added", ...part, "output_text.delta", "output_text.annotation.added", ...end],
    ...["output_item.added", "function_call_arguments.delta", "function_call_arguments.delta"],
    ...["function_call_arguments.done", "output_item.done"],
    ...["output_item.added", ...part, ...end],
    "completed",
  ]);
});

test("events are numbered without a gap, and name their item by one id from first to last", () => {
  const events = told(whole);
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, i) => i),
  );
  const { output } = (events.at(-1) as Told).response as { output: Told[] };
  for (const { type, output_index, item_id, item } of events) {
    if (output_index === undefined) continue;
    const id = (item as Told | undefined)?.id ?? item_id;
    assert.equal(id, output[output_index as number]?.id, type);
  }
  assert.equal(new Set(output.map(({ id }) => id)).size, output.length);
});

test("the deltas, the items that are done and the last response say the same", () => {
  const events = told(whole);
  const { output } = (events.at(-1) as Told).response as { output: Told[] };
  const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  assert.deepEqual(done, output);
  assert.deepEqual(textsOf(events), [
    ...["Where is it?", "", "On the Rhine.", "Bonn is on the Rhine.", '{"a":1}', "Done."],
  ]);
  const texts = output.map(({ content, arguments: text }) => text ?? (content as Told[])?.[0]?.text ?? "");
  assert.deepEqual(texts, textsOf(events));
});

test("a search tells its queries first, and what was found in the end", () => {
  const searches = told(whole).flatMap(({ item }) => {
    const { type, status, action } = (item ?? {}) as Told;
    return type === "web_search_call" ? [[status, action]] : [];
  });
  const asked = { type: "search", query: "Bonn", queries: ["Bonn", "Rhine"] };
  const sources = [{ type: "url", url: "passage:p1", title: "Bonn", score: 2 }];
  assert.deepEqual(searches, [
    ["in_progress", asked],
    ["completed", { ...asked, sources }],
  ]);
});

test("a search that failed, and one that the reply ended before, say so", () => {
  const search = (id: string): ReplyEvent => ({ type: "search", choice: 0, id, queries: [id] });
  const failed: ReplyEvent = { ...search("a"), passages: [[]], hasFailed: true } as ReplyEvent;
  const events = told([start, search("a"), failed, search("b"), finish("length")]);
  assert.ok(!typesOf(events).includes("web_search_call.completed"));
  const { output } = (events.at(-1) as unknown as Told).response as { output: Told[] };
  assert.deepEqual(
    output.map(({ status }) => status),
    ["failed", "failed"],
  );
});

test("the blank line between two thoughts is none within an item", () => {
  const [first, search, found] = [thoughts("One."), ...whole.slice(3, 5).map((each) => [each])];
  const events = told([
    start,
    ...first,
    ...(search ?? []),
    ...(found ?? []),
    ...thoughts("\n\nTwo,", "\n\nthree."),
    finish(),
  ]);
  assert.deepEqual(textsOf(events), ["One.", "", "Two,\n\nthree."]);
});

test("a citation's place is counted within its own message", () => {
  const cite = (begin: number, end: number): ReplyEvent => {
    return {
      type: "citation",
      choice: 0,
      passage: { ...passage, url: "http://b" },
      quote: "q",
      start: begin,
      end,
    };
  };
  const calls = called({ index: 0, id: "c1", name: "draw" }, "{}");
  const reply = [
    start,
    ...words("One.", "Two."),
    cite(4, 8),
    ...calls,
    ...words("Three."),
    cite(8, 13),
    finish(),
  ];
  const cited = told(reply).flatMap(({ annotation }) =>
    annotation === undefined ? [] : [annotation as Told],
  );
  assert.deepEqual(cited, [
    { type: "url_citation", url: "http://b", title: "Bonn", start_index: 4, end_index: 8, quote: "q" },
    { type: "url_citation", url: "http://b", title: "Bonn", start_index: 0, end_index: 5, quote: "q" },
  ]);
});

test("a reply in which nothing is said is an empty message", () => {
  const { output } = (told([start, finish()]).at(-1) as Told).response as { output: Told[] };
  assert.deepEqual(
    output.map(({ type, content }) => [type, (content as Told[])[0]?.text]),
    [["message", ""]],
  );
});

test("tokens whose character is still to come are told with it", () => {
  const head = headOf(createRequest().parse({}), { id: "resp_1", model: { id: "small" } });
  const writer = new ResponseWriter(head, { logprobs: true, sealedThoughts: false });
  const half = (byte: number) => ({ id: byte, logprob: -1, bytes: Uint8Array.of(byte) });
  const events = told(
    [
      start,
      { type: "text", choice: 0, text: "", tokens: [half(0xc3)] },
      { type: "text", choice: 0, text: "ä", tokens: [half(0xa4)] },
      finish(),
    ],
    writer,
  );
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  assert.deepEqual(
    deltas.map(({ delta, logprobs }) => [delta, (logprobs as Told[]).map(({ bytes }) => bytes)]),
    [["ä", [[0xc3], [0xa4]]]],
  );
});

test("what fails on the way is told by an error and a failed response that has what was said", () => {
  const writer = writerOf();
  const events = [...writer.begin(), ...[start, ...words("Hel")].flatMap((event) => writer.take(event))];
  const last = writer.failed(new Refusal("internal", "it failed"));
  assert.deepEqual(
    last.map(({ type, sequence_number }) => [type, sequence_number]),
    [
      ["error", events.length],
      ["response.failed", events.length + 1],
    ],
  );
  const { status, error, output, usage } = writer.response;
  assert.deepEqual([status, error], ["failed", { code: "internal", message: "it failed" }]);
  assert.equal(output[0]?.type === "message" && output[0].content[0]?.text, "Hel");
  assert.equal(output[0]?.status, "incomplete");
  assert.deepEqual((usage as unknown as Told).input_tokens, 7);
});
