/** Agents by Anthropic's messages: their searches, passages and citations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FoundPassage, ReplyEvent } from "../../../apps/serve/reply/reply.ts";
import { clientOf, hello } from "./anthropic.ts";
import { type ReplayedModel, replaying, say, whole } from "./doubles.ts";

const passage: FoundPassage = { id: "p1", title: "Rome", text: "Rome is the capital of Italy." };
const searching: readonly ReplyEvent[] = whole([
  say("I search.", "reasoning"),
  { type: "search", choice: 0, id: "s1", queries: ["capital of Italy", "Italy"] },
  {
    type: "search",
    choice: 0,
    id: "s1",
    queries: ["capital of Italy", "Italy"],
    passages: [[passage], [{ ...passage, url: "https://example.org/rome" }]],
  },
  say("Rome."),
  { type: "citation", choice: 0, passage, quote: "capital of Italy", start: 0, end: 5 },
]);

test("an agent's searches are web searches, its passages results, and its text cites them", async (t) => {
  const { client } = await clientOf(t, replaying(searching));
  for (const message of [
    await client.messages.create(hello),
    await client.messages.stream(hello).finalMessage(),
  ]) {
    const result = {
      type: "web_search_result",
      title: "Rome",
      page_age: null,
      encrypted_content: passage.text,
    };
    assert.deepEqual(message.content.slice(1), [
      {
        type: "server_tool_use",
        id: "srvtoolu_s1_0",
        name: "web_search",
        input: { query: "capital of Italy" },
      },
      { type: "server_tool_use", id: "srvtoolu_s1_1", name: "web_search", input: { query: "Italy" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_s1_0",
        content: [{ ...result, url: "passage:p1" }],
      },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_s1_1",
        content: [{ ...result, url: "https://example.org/rome" }],
      },
      {
        type: "text",
        text: "Rome.",
        citations: [
          {
            type: "web_search_result_location",
            url: "passage:p1",
            title: "Rome",
            cited_text: "capital of Italy",
            encrypted_index: "p1",
          },
        ],
      },
    ]);
    assert.equal(message.usage.server_tool_use?.web_search_requests, 2);
  }
});

test("the blank line between two thoughts is none within a block", async (t) => {
  const again = [say("\n\nI know", "reasoning"), say("\n\nnow.", "reasoning")];
  const [begun, ended] = [searching.slice(0, 4), searching.slice(4)];
  const { client } = await clientOf(t, replaying([...begun, ...again, ...ended]));
  const { content } = await client.messages.create(hello);
  const thoughts = content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : []));
  assert.deepEqual(thoughts, ["I search.", "I know\n\nnow."]);
});

test("an agent's answer can be sent back, and Anthropic's search says how often it may search", async (t) => {
  const agent = replaying(searching);
  const { client } = await clientOf(t, agent);
  const { content } = await client.messages.create(hello);
  const turn = { role: "assistant", content } as const;
  await client.messages.create({
    ...hello,
    messages: [...hello.messages, turn, { role: "user", content: "Sure?" }],
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }],
  });
  const { messages, budget, tools } = agent.asked[1] as ReplayedModel["asked"][number];
  assert.deepEqual(messages[1], {
    role: "assistant",
    content: "Rome.",
    reasoning_content: "I search.",
  });
  assert.deepEqual([budget, tools], [{ maxSearches: 3 }, []]);
});
