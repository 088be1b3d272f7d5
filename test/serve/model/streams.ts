/** Streams of one served model: what is asked, and what the engine says alone. */
import assert from "node:assert/strict";
import type { LanguageModel } from "../../../apps/serve/model/language-model.ts";
import type { servedWorld } from "./served.ts";

type Served = Awaited<ReturnType<typeof servedWorld>>;

/** What the `i`-th client asks. */
export function asked(i: number) {
  return {
    model: "world",
    messages: [{ role: "user" as const, content: `Who directed the film of Nightwinter number ${i}?` }],
    seed: i,
    temperature: 1.5,
    max_tokens: 24 + (i % 5) * 8,
    return_token_ids: true,
  };
}

type Asked = ReturnType<typeof asked>;

/** What the engine samples for it with no server around. */
export async function ownIds({ engine, tokenizer, policy }: Served, { messages, seed, ...body }: Asked) {
  const prompt = policy.chatTemplate?.render(messages, { addGenerationPrompt: true, now: new Date() }) ?? "";
  using sequence = engine.open(tokenizer.encode(prompt, { beginsText: true }), { seed });
  const { ids } = await sequence.generate({ maxTokens: body.max_tokens, temperature: body.temperature });
  return [...ids];
}

export function ask(url: string, body: object | string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify({ ...body, stream: true }),
    ...(signal ? { signal } : {}),
  });
}

/** The chunks of a stream that ended as it should. */
async function chunksOf(response: Response) {
  assert.equal(response.status, 200);
  const events = (await response.text()).trimEnd().split("\n\n");
  assert.equal(events.pop(), "data: [DONE]");
  return events.map((event) => {
    const { choices } = JSON.parse(event.slice("data: ".length)) as {
      choices: { index: number; token_ids: number[]; finish_reason: string | null }[];
    };
    return choices[0]!;
  });
}

/** Of one choice. */
export async function idsOf(response: Response, index = 0): Promise<number[]> {
  const chunks = (await chunksOf(response)).filter((chunk) => chunk.index === index);
  assert.equal(chunks.filter(({ finish_reason }) => finish_reason !== null).length, 1);
  return chunks.flatMap(({ token_ids }) => token_ids);
}

/** Whether nothing runs, waits or holds memory. */
export async function isIdle({ engine, models }: Served): Promise<boolean> {
  const { numSequences, numUsedBlocks } = await engine.stats();
  const { admission } = models[0] as LanguageModel;
  return [numSequences, numUsedBlocks, admission.numReserved, admission.numRunning].every((num) => num === 0);
}
