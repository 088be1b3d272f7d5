/** Many conversations with forks, aborts and early closes in pools of odd sizes: nothing is lost, nothing hangs. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SeekError } from "../../lib/base/errors.ts";
import { Engine } from "../../lib/engine/engine.ts";
import type { Sequence } from "../../lib/engine/sequence.ts";
import type { Model } from "../../lib/model/model.ts";
import { dice } from "../dice.ts";
import { letters, prompt, tinyModel } from "./models.ts";

let model: Model;

before(async () => {
  model = await tinyModel({ maxPosition: 300 });
});

after(() => model.close());

/** A few turns, some of which are aborted, branch, are forgotten, or end with the sequence closed under way. */
async function converse(sequence: Sequence, below: (bound: number) => number, depth: number): Promise<void> {
  const numTurns = 1 + below(3);
  const playing: Promise<void>[] = [];
  try {
    for (let turn = 0; turn < numTurns; ++turn) {
      const signal = below(5) === 0 ? AbortSignal.timeout(below(20)) : undefined;
      if (below(10) === 0) setTimeout(() => sequence.close(), below(30));
      const stop = below(2) === 0 ? ["a", "bc"] : [];
      await sequence.generate({ maxTokens: 1 + below(30), stop, signal });
      const numForks = depth < 2 && below(3) === 0 ? 1 + below(4) : 0;
      const forks = Array.from({ length: numForks }, () => sequence.fork());
      sequence.append(prompt(below(15), below(9)));
      playing.push(...forks.map((fork) => converse(fork, below, depth + 1)));
      if (below(3) === 0) sequence.truncate(1 + below(sequence.length));
      if (below(3) === 0) await sequence.score(prompt(1 + below(20), below(9)));
      await Promise.all(playing);
      if (below(3) === 0) await sleep(below(8));
    }
  } catch (error) {
    const expected = ["ERR_ABORTED", "ERR_STATE", "ERR_MEMORY"];
    if (!(error instanceof SeekError && expected.includes(error.code))) throw error;
  } finally {
    sequence.close();
    await Promise.all(playing);
  }
}

for (const [seed, blockTokens, numTokens] of [
  [1, 1, 120],
  [2, 3, 201],
  [3, 4, 92],
  [4, 16, 64],
  [5, 16, 400],
  [6, 64, 128],
] as const) {
  test(`conversations in ${numTokens} tokens of cache by blocks of ${blockTokens} all end`, async () => {
    const below = dice(seed);
    await using engine = await Engine.open(model, {
      tokenizer: letters,
      blockTokens,
      numBlocks: numTokens / blockTokens,
      maxBatchTokens: 16 + below(50),
      maxBatchSequences: 1 + below(20),
    });
    const conversations = Array.from({ length: 30 }, (_, i) =>
      converse(engine.open(prompt(1 + below(60), i)), below, 0),
    );
    await Promise.all(conversations);
    const { numUsedBlocks, numSequences } = await engine.stats();
    assert.equal(numUsedBlocks, 0);
    assert.equal(numSequences, 0);
  });
}
