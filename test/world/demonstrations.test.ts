/** Demonstrations and tokenizer of the built-in world: correct, categorised, spelt without loss. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { worldPrompt } from "../../apps/world/prompt.ts";
import { type Demonstration, demonstrations } from "../../apps/world/teachers/demonstrations.ts";
import { kCarefulHabits } from "../../apps/world/teachers/teacher.ts";
import { writeWorldTokenizer } from "../../apps/world/tokenizer-files.ts";
import { createWorld } from "../../apps/world/world.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-world-"));
writeWorldTokenizer(folder);
const tokenizer = await Tokenizer.load(folder);
after(() => rmSync(folder, { recursive: true }));

function answerIn({ segments }: Demonstration): string | undefined {
  return /<answer> (.*) <\/answer>/.exec(segments.at(-1)!.text)?.[1];
}

const observed = ({ segments }: Demonstration): string =>
  segments
    .filter(({ kind }) => kind === "observation")
    .map(({ text }) => text)
    .join("");

describe("demonstrations of the built-in world", () => {
  it("are the same for the same seed", () => {
    assert.deepEqual(
      [...demonstrations({ seed: 4, count: 100 })],
      [...demonstrations({ seed: 4, count: 100 })],
    );
  });

  it("end in the right answer", () => {
    for (const demonstration of demonstrations({ seed: 4, count: 500 })) {
      assert.equal(answerIn(demonstration), demonstration.answer);
    }
  });

  it("of a careful teacher show every answer in what was retrieved", () => {
    for (const demonstration of demonstrations({ seed: 4, count: 500, habits: kCarefulHabits })) {
      assert.ok(
        observed(demonstration).includes(demonstration.answer),
        JSON.stringify(demonstration.segments),
      );
    }
  });

  it("begin with a careful teacher when asked to", () => {
    const careful = [...demonstrations({ seed: 4, count: 240, careful: 240 })];
    const usual = [...demonstrations({ seed: 4, count: 240 })];
    const recalled = (all: readonly Demonstration[]): number =>
      all.filter(({ kind, segments }) => kind !== "famous" && segments[1]!.text.includes("I remember"))
        .length;
    assert.ok(recalled(careful) < recalled(usual) / 4, `${recalled(careful)} of ${recalled(usual)}`);
  });

  it("need fewer rounds of retrieval with several queries at a time", () => {
    const rounds = (mode: "single" | "multi"): number =>
      [...demonstrations({ seed: 4, count: 400, mode, habits: kCarefulHabits })]
        .flatMap(({ segments }) => segments)
        .filter(({ kind }) => kind === "observation").length;
    assert.ok(rounds("multi") < rounds("single") * 0.75);
  });
});

describe("the tokenizer of the built-in world", () => {
  const named = (text: string): number => tokenizer.encode(text).length;

  it("spells every demonstration and prompt back without loss", () => {
    for (const { segments } of demonstrations({ seed: 8, count: 300 })) {
      for (const { text } of segments) assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    }
    for (const { question } of createWorld({ seed: 5 }).questions.test) {
      const text = worldPrompt(question, "multi");
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    }
  });

  it("has one piece for a name, a tag and the skeleton of a JSON observation", () => {
    const [demonstration] = demonstrations({ seed: 8, count: 1 });
    assert.equal(named(` ${demonstration!.answer}`), 1);
    assert.equal(named(" </search>"), 1);
    assert.equal(named('"\n  ],\n  "documents": [\n    "'), 1);
  });

  it("spells words it has never seen in bytes", () => {
    assert.equal(tokenizer.decode(tokenizer.encode("Zürich, 東京!")), "Zürich, 東京!");
  });
});
