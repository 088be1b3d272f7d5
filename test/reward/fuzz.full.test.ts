/** Every reward and every rule takes time linear in the text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerRules, type RulesName, scoreAnswer } from "../../lib/reward/metrics/rules.ts";
import { processorMs } from "../processor-time.ts";
import { pieces, rewards } from "./rewards.ts";
import { segment, trajectory } from "./spoken.ts";

test("every reward and every rule reads a text in time linear in its length", () => {
  for (const piece of pieces) {
    const text = piece.repeat(Math.ceil(100_000 / piece.length));
    const each = trajectory(segment("prompt", text), segment("policy", text), segment("observation", text));
    for (const [name, score] of rewards) {
      const spent = processorMs(() => score(each));
      assert.ok(spent < 1500, `${name}: ${JSON.stringify(piece)} took ${spent} ms`);
    }
    for (const name of Object.keys(answerRules) as RulesName[]) {
      // Where accepted answers are patterns, they are the data set's and short.
      const accepted = name === "curatedtrec" ? ["Rome"] : [text, "Rome"];
      const spent = processorMs(() => scoreAnswer(text, accepted, name));
      assert.ok(spent < 1500, `${name}: ${JSON.stringify(piece)} took ${spent} ms`);
    }
  }
});
