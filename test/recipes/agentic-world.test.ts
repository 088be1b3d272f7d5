/** Agentic-RAG-R1 on the built-in world: what the teacher shows is what a rollout on the memory stack makes of it. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Library } from "../../apps/world/library.ts";
import { agenticWorldRecipe } from "../../apps/world/recipes/agentic-world.ts";
import { worldMemorySpeech } from "../../apps/world/recipes/world-speech.ts";
import { fitToWorld, worldSizes } from "../../apps/world/recipes/world-training.ts";
import { drawCast, inventFacts } from "../../apps/world/story/facts.ts";
import { writePassages } from "../../apps/world/story/passages.ts";
import { askQuestion } from "../../apps/world/story/questions.ts";
import { volumeOf, withVolumes } from "../../apps/world/story/volumes.ts";
import { demonstrateMemory, kTidyHabits, visibleRows } from "../../apps/world/teachers/agentic-teacher.ts";
import { memoryDemonstrationBatch } from "../../apps/world/teachers/memory-demonstrations.ts";
import { kCarefulHabits } from "../../apps/world/teachers/teacher.ts";
import { writeWorldTokenizer } from "../../apps/world/tokenizer-files.ts";
import { createWorld } from "../../apps/world/world.ts";
import { Dice } from "../../lib/base/random.ts";
import { recipeTotalReward } from "../../lib/recipes/recipe.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import type { GenerateRequest } from "../../lib/rollout/seams.ts";
import type { Hit } from "../../lib/search/search.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
writeWorldTokenizer(folder);
const tokenizer = await Tokenizer.load(folder);
const chatTemplate = await ChatTemplate.load(folder);
await rm(folder, { recursive: true });

const fitted = fitToWorld(agenticWorldRecipe(), worldSizes["agentic-rag-r1"]);
const speech = worldMemorySpeech(fitted);
const dice = new Dice(5, 0);
const facts = inventFacts(dice, drawCast(dice, { person: 24, city: 16, country: 8, company: 8, work: 12 }));
const library = new Library(writePassages(dice, facts));
const search = withVolumes(async (queries, { topK }) =>
  queries.map((query) => library.search(query, topK).map((passage): Hit => ({ ...passage, score: 1 }))),
);

/** Says the turns of a script, and remembers the ids that were in sight before each. */
class Recorder {
  readonly seen: number[][] = [];
  #held: number[];
  readonly #turns: Int32Array[];

  constructor(prompt: Int32Array, turns: readonly string[]) {
    this.#held = [...prompt];
    this.#turns = turns.map((text) => tokenizer.encode(text));
  }

  async generate(_: GenerateRequest) {
    this.seen.push([...this.#held]);
    const ids = this.#turns.shift()!;
    this.#held.push(...ids);
    const entropies = new Float32Array(ids.length);
    return {
      ids,
      entropies,
      logprobs: new Float32Array(ids.length),
      stop: "stop" as const,
      weightsVersion: 1,
    };
  }

  append(ids: Int32Array): void {
    this.#held.push(...ids);
  }

  truncate(length: number): void {
    this.#held = this.#held.slice(0, length);
  }

  fork(): never {
    throw new Error("one sample needs no fork");
  }

  close(): void {}
}

test("a demonstration played on the memory stack has its tokens, its sight and the whole reward", async () => {
  const reward = recipeTotalReward(fitted, tokenizer);
  const counts = { backtrack: 0, summary: 0 };
  for (let i = 0; i < 24; i++) {
    const asked = askQuestion(dice, facts, `q${i}`);
    const shown = demonstrateMemory(dice, { facts, library }, asked, {
      ...{
        topK: fitted.limits.topK,
        habits: kCarefulHabits,
        memoryHabits: kTidyHabits,
        speech,
      },
    });
    const policy = shown.flatMap(({ kind, text }) => (kind === "policy" ? [text] : []));
    let recorder: Recorder | undefined;
    const engine = {
      open: (ids: Int32Array) => {
        recorder = new Recorder(ids, policy);
        return recorder;
      },
    };
    const { format, limits, sampling } = fitted;
    const [trajectory] = await searchAgent({
      format,
      limits,
      sampling,
      tokenizer,
      chatTemplate,
      search,
      engine,
    }).rollouts(asked);
    assert.ok(trajectory?.memory);
    assert.deepEqual(
      trajectory.segments.map(({ kind, text }) => ({ kind, text })),
      shown.map(({ kind, text }) => ({ kind, text })),
    );
    assert.deepEqual([trajectory.stop, trajectory.invalidActions], ["answer", 0]);
    assert.ok(Math.abs(((await reward(trajectory, asked)) ?? 0) - 4) < 1e-9);
    // Each row of the demonstration, cut before the words of the policy, is what a turn of the rollout saw.
    const rows = visibleRows(shown);
    const seen = rows.flatMap((row) =>
      row.flatMap(({ kind }, j) =>
        kind === "policy" ? [row.slice(0, j).flatMap(({ text }) => [...tokenizer.encode(text)])] : [],
      ),
    );
    assert.deepEqual(recorder?.seen, seen);
    for (const kind of ["backtrack", "summary"] as const) {
      counts[kind] += trajectory.memory.actions.filter((action) => action.kind === kind).length;
    }
    assert.ok(trajectory.memory.peakTokens <= trajectory.memory.totalTokens);
  }
  assert.ok(counts.backtrack > 5 && counts.summary > 2, JSON.stringify(counts));
});

const demonstrated = (count: number, options = {}) =>
  Array.from({ length: count }, (_, i) =>
    memoryDemonstrationBatch(i, { seed: 4, speech, ...options }),
  ).flat();

test("demonstrations are the same for the same seed and end in the right answer", () => {
  assert.deepEqual(demonstrated(3), demonstrated(3));
  for (const { segments, answer } of demonstrated(8)) {
    assert.equal(segments.at(-1)?.text, `\n<answer> ${answer} </answer><|end|>`);
  }
});

test("the teacher plans first, and takes back only searches that found nothing about what was asked", () => {
  for (const { segments } of demonstrated(8)) {
    assert.match(segments[1]?.text ?? "", /^<plan> \w/);
    for (const [i, { text }] of segments.entries()) {
      const [, name, volume] =
        /<backtrack> Little is known of (\w+) in \[([AB])\]\. <\/backtrack>/.exec(text) ?? [];
      if (name === undefined) continue;
      assert.ok(segments[i - 2]?.text.includes(`[${volume}]`) && segments[i - 2]?.text.includes(name));
      assert.ok(!segments[i - 1]?.text.includes(`- ${name}:`));
    }
  }
});

test("a tidy teacher takes back every useless search; the usual one only some, and remembers instead", () => {
  const shareOf = (how: object): number => {
    const all = demonstrated(8, how).flatMap(({ segments }) => segments);
    const useless = all.filter(({ kind, text }, i) => {
      const [, name] =
        /<search> \[[AB]\] .*?(\w+?)(?: born| work| released| based| in)? <\/search>/.exec(
          all[i - 1]?.text ?? "",
        ) ?? [];
      return kind === "observation" && name !== undefined && !text.includes(`- ${name}:`);
    });
    return all.filter(({ text }) => text.includes("<backtrack>")).length / useless.length;
  };
  assert.equal(shareOf({ memoryHabits: kTidyHabits, careful: 1e6 }), 1);
  const usual = shareOf({});
  assert.ok(usual > 0.55 && usual < 0.85, String(usual));
});

test("rows train each word of the policy once, behind what was then in sight", () => {
  const segments = [
    { kind: "prompt", text: "p" },
    { kind: "policy", text: "a" },
    { kind: "observation", text: "b" },
    { kind: "policy", text: "c", keeps: 1 },
    { kind: "policy", text: "d" },
  ] as const;
  const shown = visibleRows(segments).map((row) => row.map(({ kind, text }) => `${kind} ${text}`));
  assert.deepEqual(shown, [
    ["prompt p", "policy a", "observation b", "policy c"],
    ["prompt p", "prompt c", "policy d"],
  ]);
});

test("a volume holds one half of the passages, which the name of a thing does not tell", async () => {
  const { passages } = createWorld({ seed: 3 });
  const inA = passages.filter(({ id }) => volumeOf(id) === "A").length;
  assert.ok(Math.abs(inA - passages.length / 2) <= 1);
  const asked: string[][] = [];
  const both = withVolumes(async (queries, { topK }) => {
    asked.push([...queries, String(topK)]);
    return queries.map(() =>
      ["1", "2", "3", "4"].map((id): Hit => ({ id, title: id < "3" ? "Jade" : "Iron", text: "", score: 1 })),
    );
  });
  const found = await both(["[A] who directed Jade", "[B] who directed Iron?", "Jade", "[A] Jad"], {
    topK: 1,
  });
  assert.deepEqual(
    found.map((hits) => hits.map(({ id }) => id)),
    [["2"], ["3"], ["2"], []],
  );
  assert.deepEqual(asked, [["who directed Jade", "who directed Iron?", "Jade", "Jad", "8"]]);
});
