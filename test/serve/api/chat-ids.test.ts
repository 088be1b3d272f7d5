/** The ids of chat completions, in the order in which they were drawn. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { chatRoutes } from "../../../apps/serve/api/chat/routes.ts";
import type { ServedModel } from "../../../apps/serve/reply/reply.ts";
import { scripted } from "../agent/asking.ts";
import { post } from "../doubles.ts";
import { replaying, say, servedRoutes, servingOf, whole } from "./doubles.ts";

interface Told {
  readonly choices: readonly { readonly index: number; readonly token_ids: number[] }[];
}

/** The ids of each choice, at once and put together from the chunks of a stream. */
async function idsOf(t: TestContext, model: ServedModel): Promise<number[][][]> {
  const server = await servedRoutes(t, chatRoutes(servingOf([model])));
  const body = { messages: [{ role: "user", content: "who?" }], return_token_ids: true, n: 2 };
  const { json } = await post(server, "/v1/chat/completions", body);
  const { text } = await post(server, "/v1/chat/completions", { ...body, stream: true });
  const streamed: number[][] = [];
  for (const [, data = ""] of text.matchAll(/^data: (\{.*)$/gm)) {
    for (const { index, token_ids } of (JSON.parse(data) as Told).choices) {
      streamed[index] = [...(streamed[index] ?? []), ...token_ids];
    }
  }
  return [(json as Told).choices.map(({ token_ids }) => token_ids), streamed];
}

test("an agent's ids are those that it drew, tags and queries in their places, streamed or not", async (t) => {
  const turns = ["<think> hm </think><search> a </search>", "<search> b </search>", "<answer> c </answer>"];
  // Of the scripted model every character is a token.
  const drawn = [...turns.join("")].map((char) => char.codePointAt(0) ?? 0);
  for (const ids of await idsOf(t, scripted(turns))) assert.deepEqual(ids, [drawn, drawn]);
});

test("a language model's ids come as it draws them", async (t) => {
  const [begin, ...rest] = whole([say("Hm", "reasoning"), say("Hi")]);
  const start = { ...begin, promptIds: Int32Array.of(1, 2) } as (typeof rest)[number];
  const [one, streamed] = await idsOf(t, replaying([start, ...rest]));
  assert.deepEqual([one, streamed], [[[7, 7]], [[7, 7]]]);
});
