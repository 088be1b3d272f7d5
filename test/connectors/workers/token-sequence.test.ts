/** Sequences over a server beside those of the engine: the same tokens whatever is done to them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openServer } from "../../../connectors/workers/servers/open-server.ts";
import { turnEnd } from "../../../connectors/workers/stop-cut.ts";
import { tokenSource } from "../../../connectors/workers/token-sequence.ts";
import type { OpenSequence } from "../../../lib/rollout/seams.ts";
import { localWorld, workerWorld } from "./served-worker.ts";

test("forks, observations, cuts with a new seed and shared prefixes give what the engine's sequences give", async (t) => {
  const { engine, tokenizer } = await localWorld(t);
  const { url } = await workerWorld(t);
  const { eosIds, vocabSize } = tokenizer;
  const server = await openServer({ url, maxConcurrent: 8, eosIds, vocabSize });
  const there = tokenSource({ server, table: tokenizer, maxTokens: engine.maxTokens, version: 0 });
  const prompt = tokenizer.encode("Question: who directed Nightwinter?");
  const request = { maxTokens: 10, stop: ["e", "</search>"], temperature: 1.5 };
  const play = async (sequence: OpenSequence) => {
    const spans = [await sequence.generate(request)];
    await sequence.append(tokenizer.encode(" it was "));
    const copy = await sequence.fork({ seed: 9 });
    spans.push(await sequence.generate(request), await copy.generate(request));
    await sequence.truncate?.(prompt.length + 1, { seed: 77 });
    spans.push(await sequence.generate({ ...request, temperature: 0 }), await sequence.generate(request));
    await Promise.all([sequence.close(), copy.close()]);
    return spans.map(({ ids, logprobs, stop }) => ({ ids: [...ids], logprobs: [...logprobs], stop }));
  };
  const here = await play(engine.open(prompt, { seed: 3 }));
  assert.deepEqual(await play(await there.open(prompt, { seed: 3 })), here);
  assert.ok(here.some(({ stop }) => stop === "stop"));
});

test("what only a local engine can tell is refused by name", async (t) => {
  const { tokenizer } = await localWorld(t);
  const { url } = await workerWorld(t);
  const { eosIds, vocabSize } = tokenizer;
  const server = await openServer({ url, maxConcurrent: 1, eosIds, vocabSize });
  const sequence = await tokenSource({ server, table: tokenizer, maxTokens: 9, version: 0 }).open(
    Int32Array.of(5),
    { seed: 1 },
  );
  await assert.rejects(sequence.generate({ maxTokens: 1, stop: [], entropies: true }), {
    code: "ERR_ARGUMENT",
    message: /entropies: worker .* tells none\. Remedy/,
  });
});

test("a turn ends with the token that completes a stop string within it, across tokens and characters, or at an end", () => {
  const bytes = ["</se", "arch> and", "é".slice(0, 1), "x", "</", "end>"].map((text) => Buffer.from(text));
  const [half, other] = [Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1)];
  const table = {
    eosIds: [8],
    tokenBytes: (id: number) => [...bytes, half, other, Buffer.from("<|e|>")][id]!,
  };
  const end = (ids: number[], stop: string[]) => turnEnd(Int32Array.from(ids), stop, table);
  assert.deepEqual(end([3, 0, 1, 3], ["</search>"]), { length: 3, stop: "stop" });
  assert.deepEqual(end([3, 6, 7, 3], ["é"]), { length: 3, stop: "stop" });
  assert.deepEqual(end([0, 8, 1], ["</search>"]), { length: 2, stop: "eos" });
  assert.deepEqual(end([0, 3, 1], ["</search>"]), undefined);
  assert.deepEqual(end([4, 4, 5], ["</end>", "never"]), { length: 3, stop: "stop" });
  assert.deepEqual(end([3, 3], []), undefined);
});
