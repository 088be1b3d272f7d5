/** Agents that are told to answer with what they have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { defaultMemory } from "../../../lib/rollout/memory.ts";
import type { SequenceSource } from "../../../lib/rollout/seams.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { characters, ForgetfulSequence, recordedSearch, ScriptedSequence } from "../doubles.ts";
import { environment, single } from "../scripted.ts";
import { format as stackFormat } from "../stack/play.ts";

const announcement = single.lastTurn;

async function ask(
  sequence: ReturnType<SequenceSource["open"]>,
  answerNow: AbortSignal,
  changes: Partial<AgentParts> = {},
): Promise<Trajectory> {
  const around = environment(changes);
  const format = { ...around.format, prompt: () => "Q" };
  const agent = searchAgent({ ...around, format, engine: { open: () => sequence } });
  return agent({ question: "q" }, { answerNow });
}

function written({ segments }: Trajectory): string[] {
  return segments.slice(1).map(({ kind, text }) => `${kind}: ${text}`);
}

/** Its second turn is cut by the signal of its request, as an engine cuts a span. */
class SlowSequence extends ScriptedSequence {
  override async generate(request: Parameters<ScriptedSequence["generate"]>[0]) {
    const { signal } = request;
    const span = await super.generate({ ...request, signal: undefined });
    if (this.requests.length !== 2) return span;
    await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
    return { ...span, stop: "aborted" as const };
  }
}

test("a search under way is given up, counted as failed, and the next turn is announced as the last", async () => {
  const due = new AbortController();
  const search: AgentParts["search"] = () => {
    due.abort();
    return new Promise(() => {});
  };
  const sequence = new ScriptedSequence("<search> a </search>", "<answer> b </answer>");
  const played = await ask(sequence, due.signal, { search });
  assert.deepEqual([played.answer, played.stop, played.failures], ["b", "answer", 1]);
  assert.match(played.failureReasons?.[0] ?? "", /answer now/);
  assert.deepEqual(sequence.appended, [single.failure + announcement]);
});

test("a turn under way is cut, and the last one follows behind the announcement alone", async () => {
  const due = new AbortController();
  const sequence = new SlowSequence("<search> a </search>", "<think> I won", "<answer> b </answer>");
  const asked = ask(sequence, due.signal);
  while (sequence.requests.length < 2) await new Promise((resolve) => setImmediate(resolve));
  due.abort();
  const played = await asked;
  assert.deepEqual([played.answer, played.turns, played.invalidActions], ["b", 3, 0]);
  assert.equal(sequence.appended.at(-1), announcement);
  assert.equal(sequence.requests[2]?.signal, undefined, "nothing cuts the last turn");
});

test("before the first turn it is announced behind the prompt; another search then ends the rollout", async () => {
  const sequence = new ScriptedSequence("<search> a </search>");
  const played = await ask(sequence, AbortSignal.abort());
  assert.deepEqual(written(played), [`observation: ${announcement}`, "policy: <search> a </search>"]);
  assert.deepEqual([played.stop, played.answer, played.rounds], ["max_turns", undefined, 0]);
});

test("a format that announces nothing lets the turn end by itself, and has one more", async () => {
  const due = new AbortController();
  const format = { ...single, lastTurn: "" };
  const search: AgentParts["search"] = async (...asked) => {
    due.abort();
    return recordedSearch()(...asked);
  };
  const sequence = new ScriptedSequence("<search> a </search>", "<answer> b </answer>");
  const played = await ask(sequence, due.signal, { format, search });
  assert.deepEqual([played.answer, played.turns], ["b", 2]);
  assert.deepEqual(
    sequence.requests.map(({ signal }) => signal),
    [undefined, undefined],
  );
});

test("on a memory stack the announcement belongs to the frame on top, or stands alone above the prompt", async () => {
  const memory = { ...defaultMemory, stateValue: "none" as const };
  const format = { ...stackFormat, memory };
  const sequence = new ForgetfulSequence("Q", "<answer> b </answer>");
  const played = await ask(sequence, AbortSignal.abort(), { format, tokenizer: characters });
  assert.deepEqual([played.answer, sequence.seen], ["b", ["QLAST"]]);
  assert.deepEqual(written(played), ["observation: LAST", "policy: <answer> b </answer>"]);
});
