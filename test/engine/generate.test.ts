/** What is generated does not depend on how it was computed. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Engine } from "../../lib/engine/engine.ts";
import type { Model } from "../../lib/model/model.ts";
import { generateOnce, prompt, sameSpans, tinyModel } from "./models.ts";

const forms = [
  { dtype: "float32" },
  { dtype: "bfloat16" },
  { dtype: "float32", weights: "int8" },
  { dtype: "bfloat16", weights: "int4" },
  { dtype: "bfloat16", weights: "nf4" },
] as const;

for (const form of forms)
  suite(Object.values(form).join(" "), () => {
    let model: Model;
    let engine: Engine;

    before(async () => {
      model = await tinyModel(form);
      engine = await Engine.open(model);
    });

    after(async () => {
      await engine.close();
      model.close();
    });

    /** The log-probabilities of the last tokens of `ids`, from one forward over all of them. */
    async function forward(ids: Int32Array, numLast: number): Promise<number[]> {
      const logprobs = await model.scoreLogprobs(ids);
      return logprobs.slice(-numLast).map(Number);
    }

    test("greedy takes the likeliest token at each step", async () => {
      const { ids } = await generateOnce(engine, prompt(9), { maxTokens: 12, temperature: 0 });
      const all = [...prompt(9)];
      for (const id of ids) {
        const scores = await Promise.all(
          Array.from({ length: 97 }, async (_, candidate) =>
            Number((await model.scoreLogprobs(Int32Array.from([...all, candidate]))).at(-1)),
          ),
        );
        assert.equal(id, scores.indexOf(Math.max(...scores)));
        all.push(id);
      }
    });

    test("log-probabilities are bit for bit those of one forward over the whole sequence", async () => {
      const sequence = engine.open(prompt(21), { seed: 5 });
      const { logprobs } = await sequence.generate({ maxTokens: 60 });
      assert.deepEqual([...logprobs], await forward(sequence.tokens, 60));
      sequence.close();
    });

    test("a result does not depend on what else is in the batch", async () => {
      const options = { maxTokens: 30, seed: 11 };
      const alone = await generateOnce(engine, prompt(13), options);
      const others = Array.from({ length: 63 }, (_, i) =>
        generateOnce(engine, prompt(3 + i, i), { maxTokens: 10 + i, seed: i }),
      );
      const together = await generateOnce(engine, prompt(13), options);
      await Promise.all(others);
      assert.deepEqual(together, alone);
    });

    test("a result does not depend on the size of prefill chunks", async () => {
      const options = { maxTokens: 10, seed: 2 };
      const whole = await generateOnce(engine, prompt(200), options);
      for (const maxBatchTokens of [1, 7, 64]) {
        await using chunked = await Engine.open(model, { maxBatchTokens, blockTokens: 16 });
        assert.deepEqual(await generateOnce(chunked, prompt(200), options), whole);
      }
    });

    test("a full pool preempts and computes again, with the same results", async () => {
      const spans = (on: Engine) =>
        Promise.all(
          Array.from({ length: 16 }, (_, i) =>
            generateOnce(on, prompt(10 + i, i), { maxTokens: 25, seed: i }),
          ),
        );
      await using small = await Engine.open(model, { numBlocks: 6, blockTokens: 16, maxBatchTokens: 40 });
      sameSpans(await spans(small), await spans(engine));
      const { numPreemptions, numUsedBlocks } = await small.stats();
      assert.ok(numPreemptions > 0);
      assert.equal(numUsedBlocks, 0);
    });

    test("waiting sequences give way to running ones and go on as if nothing had happened", async () => {
      const turns = async (on: Engine) => {
        const sequences = Array.from({ length: 8 }, (_, i) => on.open(prompt(12, i), { seed: i }));
        const spans = [];
        for (let turn = 0; turn < 3; ++turn) {
          spans.push(await Promise.all(sequences.map((each) => each.generate({ maxTokens: 6 }))));
          for (const each of sequences) each.append(prompt(5, turn));
        }
        for (const each of sequences) each.close();
        return spans;
      };
      await using small = await Engine.open(model, { numBlocks: 5, blockTokens: 16 });
      sameSpans(await turns(small), await turns(engine));
      assert.ok((await small.stats()).numPreemptions > 0);
    });

    test("append goes on as if everything had been read in one go", async () => {
      const sequence = engine.open(prompt(10), { seed: 4 });
      await sequence.generate({ maxTokens: 7 });
      sequence.append(prompt(9, 3));
      sequence.append([]);
      const context = sequence.tokens;
      const span = await sequence.generate({ maxTokens: 8 });
      assert.equal(context.length, 26);
      sameSpans(await generateOnce(engine, context, { maxTokens: 8, seed: 4 }), span);
      assert.deepEqual(sequence.tokens, Int32Array.from([...context, ...span.ids]));
      sequence.close();
    });

    test("a sequence may begin without tokens and get its prompt by append", async () => {
      const sequence = engine.open([], { seed: 1 });
      await assert.rejects(sequence.generate({ maxTokens: 1 }), { code: "ERR_RANGE" });
      sequence.append(prompt(6));
      const span = await sequence.generate({ maxTokens: 4 });
      sameSpans(await generateOnce(engine, prompt(6), { maxTokens: 4, seed: 1 }), span);
      sequence.close();
    });

    test("nothing is computed twice over the turns of a conversation", async () => {
      await using fresh = await Engine.open(model);
      const sequence = fresh.open(prompt(40), { seed: 1 });
      await sequence.generate({ maxTokens: 10 });
      sequence.append(prompt(20, 1));
      await sequence.generate({ maxTokens: 10 });
      const { numPrefilled, numGenerated } = await fresh.stats();
      assert.equal(numGenerated, 20);
      // The last token of each read part is run by the step that samples; the tenth token is read with the second part.
      assert.equal(numPrefilled + numGenerated, 40 + 9 + 1 + 20 + 9);
    });

    test("stream hands out the same tokens as generate", async () => {
      const options = { maxTokens: 15 };
      const expected = await generateOnce(engine, prompt(8), { ...options, seed: 6 });
      const sequence = engine.open(prompt(8), { seed: 6 });
      const stream = sequence.stream(options);
      const ids: number[] = [];
      let next = await stream.next();
      for (; !next.done; next = await stream.next()) ids.push(...next.value.ids);
      assert.deepEqual(ids, [...expected.ids]);
      assert.deepEqual(next.value, expected);
      sequence.close();
    });
  });
