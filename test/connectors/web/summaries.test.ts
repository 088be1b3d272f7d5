/** Pages summed up by a language model behind an OpenAI-compatible server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Chat } from "../../../connectors/remote/chat.ts";
import { withSummaries } from "../../../connectors/web/summaries.ts";
import type { Search } from "../../../lib/search/search.ts";
import { type Asked, startFaultServer } from "../remote/fault-server.ts";

const titles = ["Cooking", "Paris", "France"];
const pages: Search = async (queries) =>
  queries.map(() =>
    titles.map((title, i) => ({ id: title, title, text: `A page on ${title}.`, score: 1 / (i + 1) })),
  );

/** Answers None about cooking, and otherwise names the query and the page that it was shown. */
function modelReply({ body }: Asked): unknown {
  const { messages } = body as { messages: { content: string }[] };
  const message = messages[0]?.content ?? "";
  const [, query] = /for: (.*)/.exec(message) ?? [];
  const [, title] = /Title: (.*)/.exec(message) ?? [];
  const content = title === "Cooking" ? " None.\n" : `${title} about ${query}`;
  return { choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] };
}

test("useful pages are summed up with the query in mind, others are left out", async () => {
  await using server = await startFaultServer(modelReply);
  await using chat = await Chat.open({ url: server.url, model: "m", transport: { retries: 0 } });
  const write = chat.ask.bind(chat);
  const all = await withSummaries(pages, { write })(["a", "b"], { topK: 3 });
  assert.deepEqual(
    all.map((hits) => hits.map(({ id, text, score }) => [id, text, score])),
    [
      [
        ["Paris", "Paris about a", 1 / 2],
        ["France", "France about a", 1 / 3],
      ],
      [
        ["Paris", "Paris about b", 1 / 2],
        ["France", "France about b", 1 / 3],
      ],
    ],
  );
  const [first = []] = await withSummaries(pages, { write, keep: 1 })(["c"], { topK: 3 });
  assert.deepEqual(
    first.map(({ text }) => text),
    ["Paris about c"],
  );
  server.otherwise = { status: 500 };
  await assert.rejects(withSummaries(pages, { write })(["d"], { topK: 3 }), { code: "ERR_REMOTE" });
});

test("None is understood however it is dressed, and nothing else is taken for it", async () => {
  for (const [reply, isKept] of [
    ["none", false],
    ["**None**", false],
    ["", false],
    ['"None."', false],
    ["None of them won.", true],
  ] as const) {
    const [hits] = await withSummaries(pages, { write: async () => reply })(["q"], { topK: 3 });
    assert.equal(hits?.length, isKept ? 3 : 0, reply);
  }
});
