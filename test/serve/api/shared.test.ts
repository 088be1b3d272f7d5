/** What every protocol tells alike: tokens, and where passages stand. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import type { FoundPassage, ReplyEvent } from "../../../apps/serve/reply/reply.ts";
import { post } from "../doubles.ts";
import { replaying, say, whole } from "./doubles.ts";

const messages = [{ role: "user", content: "Hi" }];
const bodies = {
  "/v1/chat/completions": { messages },
  "/v1/messages": { model: "small", messages, max_tokens: 5 },
  "/v1/responses": { input: "Hi" },
};

/** The answer of each protocol to the same reply. */
async function answersOf(t: TestContext, reply: readonly ReplyEvent[]): Promise<Map<string, unknown>> {
  const server = await serveModels({ models: [replaying(reply)], port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  const answers = new Map<string, unknown>();
  for (const [path, body] of Object.entries(bodies)) answers.set(path, (await post(server, path, body)).json);
  return answers;
}

test("a passage without an address is cited under one valid address in every protocol", async (t) => {
  const passage: FoundPassage = { id: "notes 1/ü#2?", title: "Rome", text: "Rome is in Italy." };
  const queries = ["Rome"];
  const reply = whole([
    { type: "search", choice: 0, id: "s1", queries },
    { type: "search", choice: 0, id: "s1", queries, passages: [[passage]] },
    say("Rome."),
    { type: "citation", choice: 0, passage, quote: "Rome", start: 0, end: 4 },
  ]);
  for (const [path, answer] of await answersOf(t, reply)) {
    const urls = [...JSON.stringify(answer).matchAll(/"url":"([^"]*)"/g)].map(([, url = ""]) => url);
    assert.ok(urls.length > 0, path);
    for (const url of urls) {
      assert.equal(url, "passage:notes%201%2F%C3%BC%232%3F", path);
      assert.equal(decodeURIComponent(new URL(url).pathname), passage.id, path);
    }
  }
});

test("tokens that an agent reads after its prompt are counted alike in every protocol", async (t) => {
  const answers = await answersOf(t, whole([say("Hi")], { numPromptTokens: 40 }));
  const counts = [...answers.values()].map((answer) => {
    const { usage } = answer as { usage: Record<string, number> };
    const read = usage.prompt_tokens ?? (usage.input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
    return [read, usage.completion_tokens ?? usage.output_tokens];
  });
  // Anthropic counts cached tokens beside the others, not among them.
  assert.deepEqual(counts, Array(3).fill([40, 5]));
});
