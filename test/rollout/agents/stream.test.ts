/** Agents that are heard while they work, on the real engine and over scripted sequences. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { native } from "../../../lib/base/addon/native.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Model } from "../../../lib/model/model.ts";
import { ownAgent } from "../../../lib/rollout/agents/agent.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { defaultLimits } from "../../../lib/rollout/limits.ts";
import type { AgentEvent } from "../../../lib/rollout/session/events.ts";
import { characters, recordedSearch, ScriptedSequence } from "../doubles.ts";

await native().setNumThreads(1);

const tokenizer = {
  vocabSize: 128,
  eosIds: [],
  tokenBytes: (id: number) => Uint8Array.of(id),
  isSpecial: () => false,
  ...characters,
};
const shape = {
  vocabSize: 128,
  hiddenSize: 16,
  intermediateSize: 32,
  numLayers: 1,
  numHeads: 2,
  maxPosition: 4096,
};
const model = await Model.create(shape, { seed: 5, std: 0.1 });
const engine = await Engine.open(model, { tokenizer });
after(async () => {
  await engine.close();
  model.close();
});

async function eventsOf(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const textOf = (events: readonly AgentEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

test("a search agent tells of text, queries, documents and its answer, and ends with the trajectory", async () => {
  const agent = searchAgent({
    engine: { open: () => new ScriptedSequence("<search> Rome </search>", "<answer> Italy </answer>") },
    ...{ tokenizer: characters, search: recordedSearch(), format: ragFormat("single") },
    ...{ limits: defaultLimits, sampling: {} },
  });
  const events = await eventsOf(agent.stream({ question: "who?" }));
  assert.deepEqual(
    events.map(({ type }) => type),
    ["text", "turn", "queries", "documents", "text", "turn", "answer", "done"],
  );
  const [, turn, queries, documents] = events;
  assert.ok(turn?.type === "turn" && turn.stop === "stop" && turn.session === 0);
  assert.deepEqual(queries?.type === "queries" && queries.queries, ["Rome"]);
  assert.equal(documents?.type === "documents" && documents.documents[0]?.[0]?.title, "Rome");
  const last = events.at(-1);
  assert.ok(
    last?.type === "done" && last.trajectory.answer === "Italy" && last.trajectory.id === "question#0",
  );
});

test("the engine's tokens are told as they come, and streaming does not change what is sampled", async () => {
  const agent = ownAgent({ engine, tokenizer }, async (rollout, { question }) => {
    const session = await rollout.open({ prompt: question });
    return (await session.generate({ maxTokens: 40 })).text;
  });
  const events = await eventsOf(agent.stream({ question: "who?" }, { seed: 4 }));
  const { answer } = await agent({ question: "who?" }, { seed: 4 });
  assert.ok(events.filter(({ type }) => type === "text").length > 10, "token by token");
  assert.equal(textOf(events), answer);
});

test("leaving the loop, or a signal, aborts the rollout and frees its sequences", async () => {
  const agent = ownAgent({ engine, tokenizer }, async (rollout, { question }) => {
    const session = await rollout.open({ prompt: question });
    for (let turn = 0; turn < 100 && !rollout.isAborted; turn += 1) await session.generate({ maxTokens: 30 });
    return undefined;
  });
  let count = 0;
  for await (const { type } of agent.stream({ question: "who?" })) {
    if (type === "text") count += 1;
    if (count === 3) break;
  }
  assert.equal((await engine.stats()).numSequences, 0);
  const stop = new AbortController();
  const events: AgentEvent[] = [];
  for await (const event of agent.stream({ question: "who?" }, { signal: stop.signal })) {
    events.push(event);
    if (events.length === 3) stop.abort();
  }
  const last = events.at(-1);
  assert.ok(last?.type === "done" && last.trajectory.stop === "aborted");
  assert.equal((await engine.stats()).numSequences, 0);
});

test("what the agent throws, the loop throws", async () => {
  const agent = ownAgent({ engine, tokenizer }, async () => {
    throw new Error("by itself");
  });
  await assert.rejects(eventsOf(agent.stream({ question: "who?" })), /by itself/);
});
