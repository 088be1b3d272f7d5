/** The built-in world: deterministic, disjoint between splits, every answer found in its passages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Library } from "../../apps/world/library.ts";
import { follow } from "../../apps/world/story/facts.ts";
import { kFamousCities, kNames } from "../../apps/world/story/names.ts";
import type { WorldQuestion } from "../../apps/world/story/questions.ts";
import { createWorld, type WorldSplit } from "../../apps/world/world.ts";
import { Dice } from "../../lib/base/random.ts";

const kSplits: readonly WorldSplit[] = ["train", "validation", "test"];
const world = createWorld({ seed: 11 });

function entitiesOf(split: WorldSplit): Set<string> {
  const { cast } = world.facts[split];
  const shared = new Set([...cast.country, ...kFamousCities.keys()]);
  return new Set(
    Object.values(cast)
      .flat()
      .filter((name) => !shared.has(name)),
  );
}

function entitiesAsked({ program }: WorldQuestion, split: WorldSplit): string[] {
  return program.starts.flatMap((start) =>
    program.path.map((_, depth) => follow(world.facts[split], start, program.path.slice(0, depth))),
  );
}

describe("the built-in world", () => {
  it("is the same for the same seed and another for another", () => {
    assert.deepEqual(createWorld({ seed: 11 }), world);
    assert.notDeepEqual(createWorld({ seed: 12 }).passages, world.passages);
  });

  it("has as many questions as asked for, no two alike within a split", () => {
    assert.deepEqual(
      kSplits.map((split) => world.questions[split].length),
      [2400, 200, 500],
    );
    for (const split of kSplits) {
      const texts = world.questions[split].map(({ question }) => question);
      assert.equal(new Set(texts).size, texts.length);
    }
  });

  it("shares no entity between splits but countries and famous cities", () => {
    for (const [a, b] of [
      ["train", "validation"],
      ["train", "test"],
      ["validation", "test"],
    ] as const) {
      const other = entitiesOf(b);
      assert.deepEqual(
        [...entitiesOf(a)].filter((name) => other.has(name)),
        [],
      );
    }
  });

  it("states every fact a question needs in one passage about that entity", () => {
    for (const split of kSplits) {
      for (const asked of world.questions[split].slice(0, 200)) {
        const { starts, path } = asked.program;
        for (const start of starts) {
          for (const [depth, relation] of path.entries()) {
            const entity = follow(world.facts[split], start, path.slice(0, depth));
            const value = follow(world.facts[split], entity, [relation]);
            const found = world.passages.some(({ title, text }) => title === entity && text.includes(value));
            assert.ok(found, `${entity} ${relation} ${value}`);
          }
        }
      }
    }
  });

  it("answers every question by the program that made it", () => {
    for (const { program, answers, question } of world.questions.test) {
      const ends = program.starts.map((start) => follow(world.facts.test, start, program.path));
      const best = ends.indexOf(ends.toSorted()[0]!);
      assert.deepEqual(answers, [program.shape === "chain" ? ends[0] : program.starts[best]], question);
    }
  });

  it("asks about the entities of its own split only", () => {
    const own = entitiesOf("test");
    for (const asked of world.questions.test) {
      for (const entity of entitiesAsked(asked, "test"))
        assert.ok(own.has(entity) || kFamousCities.has(entity), entity);
    }
  });

  it("keeps famous cities in their country and names each thing once", () => {
    for (const split of kSplits) {
      for (const [city, country] of kFamousCities) {
        assert.equal(world.facts[split].of.get(city)!.get("country"), country);
      }
    }
    const names = Object.values(kNames).flat();
    assert.equal(new Set(names).size, names.length);
  });
});

describe("the teacher's library", () => {
  it("finds the passage that answers a query among the best two", () => {
    const library = new Library(world.passages);
    const dice = new Dice(3);
    for (const person of dice.sample(world.facts.test.cast.person, 50)) {
      const found = library.search(`where was ${person} born`, 2);
      const city = world.facts.test.of.get(person)!.get("birthCity")!;
      assert.ok(found.some(({ title, text }) => title === person && text.includes(city)));
    }
  });
});
