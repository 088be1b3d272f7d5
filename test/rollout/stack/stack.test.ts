/** The memory stack: what each action does to the frames, within which limits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentParts } from "../../../lib/rollout/agents/search-agent.ts";
import { defaultMemory } from "../../../lib/rollout/memory.ts";
import { type ToolCall, toolBox } from "../../../lib/rollout/tools/tool-box.ts";
import { characters, ForgetfulSequence } from "../doubles.ts";
import { answer, back, format, plan, play, search, think, views } from "./play.ts";

const other = "<reasoning> c </reasoning>";
const sum = "<summary> g </summary>";
const found = format.observation(
  ["d", "e"],
  [[{ title: "d", text: "about d" }], [{ title: "e", text: "about e" }]],
  (text) => text,
);

test("thoughts, searches and their results pile up", async () => {
  const { views: seen, trajectory } = await views([plan, think, search, answer]);
  assert.deepEqual(seen.at(-1), `Q${plan}${think}${search}${found}${answer}`);
  assert.deepEqual([trajectory.stop, trajectory.answer, trajectory.rounds], ["answer", "h", 1]);
  assert.deepEqual(trajectory.queries, [["d", "e"]]);
  assert.ok(trajectory.segments.every((segment) => segment.visible === undefined));
  assert.deepEqual(
    trajectory.memory?.actions.map(({ kind, popped }) => [kind, popped]),
    [
      ["plan", 0],
      ["reasoning", 0],
      ["search", 0],
      ["answer", 0],
    ],
  );
});

test("a backtrack takes the place of the thought or of the whole search before it", async () => {
  const { views: seen, trajectory } = await views([think, search, back, other, back, answer]);
  assert.deepEqual(seen, [
    "Q",
    `Q${think}`,
    `Q${think}${search}${found}`,
    `Q${think}${back}`,
    `Q${think}${back}${other}`,
    `Q${think}${back}${back}`,
    `Q${think}${back}${back}${answer}`,
  ]);
  const { segments, memory } = trajectory;
  assert.deepEqual(
    segments.map(({ visible }) => visible),
    [undefined, undefined, undefined, undefined, undefined, [0, 1, 4], [0, 1, 4, 5], [0, 1, 4, 6]],
  );
  assert.deepEqual(
    memory?.actions.map(({ popped }) => popped),
    [0, 0, 1, 0, 1, 0],
  );
});

test("a backtrack pops an earlier one, but neither the plan nor the prompt", async () => {
  assert.equal((await views([back, back, answer])).views.at(-2), `Q${back}`);
  assert.equal((await views([plan, back, answer])).views.at(-2), `Q${plan}${back}`);
});

test("a summary takes the place of all down to the last summary or the plan", async () => {
  const { views: seen } = await views([plan, think, search, sum, other, think, sum, sum, answer]);
  assert.equal(seen[4], `Q${plan}${sum}`);
  assert.equal(seen[7], `Q${plan}${sum}${sum}`);
  assert.equal(seen[8], `Q${plan}${sum}${sum}`, "one summary after another replaces it");
});

test("a summary can be made to take the place of the frame before it alone", async () => {
  const { views: seen } = await views([think, search, sum, answer], { memory: { condenses: "previous" } });
  assert.equal(seen[3], `Q${think}${sum}`);
});

test("a plan is the first frame, and another plan takes its place below what is there", async () => {
  const again = "<plan> z </plan>";
  const { views: seen, trajectory } = await views([think, plan, search, again, answer]);
  assert.equal(seen[2], `Q${plan}${think}`);
  assert.equal(seen[4], `Q${again}${think}${search}${found}`);
  assert.deepEqual(trajectory.segments.at(-1)?.visible, [0, 5, 1, 3, 4]);
  assert.equal(trajectory.memory?.actions[3]?.popped, 1);
});

test("invalid turns are told so and counted, and a backtrack takes them away", async () => {
  const { views: seen, trajectory } = await views([think, "hm", back, answer]);
  assert.equal(seen[2], `Q${think}hm${format.invalid}`);
  assert.equal(seen[3], `Q${think}${back}`);
  assert.equal(trajectory.invalidActions, 1);
});

test("a failing search is a counted observation, which a backtrack takes away", async () => {
  const changes = { search: () => Promise.reject(new Error("offline")) };
  const { views: seen, trajectory } = await views([search, back, answer], { changes });
  assert.equal(seen[1], `Q${search}${format.failure}`);
  assert.equal(seen[2], `Q${back}`);
  assert.deepEqual([trajectory.failures, trajectory.failureReasons], [1, ["search: offline"]]);
});

test("a box of tools gets all calls of a turn, and some of them may fail", async () => {
  const calls: (readonly string[])[] = [];
  const tools = {
    ...toolBox([]),
    run: async (asked: readonly ToolCall[]) => {
      calls.push(asked.map(({ text }) => text));
      return [
        { text: "about d" },
        { text: "late", failure: { kind: "timed out", message: "late" } as const },
      ];
    },
  };
  const readCall = (text: string) => ({ name: "", input: text, text });
  const called = { ...format, readCall, memory: defaultMemory };
  const { views: seen, trajectory } = await views([search, answer], { changes: { tools, format: called } });
  assert.deepEqual(calls, [["d", "e"]]);
  assert.match(seen[1]!, /about d.*late/s);
  assert.deepEqual(trajectory.failureReasons, ["timed out: late"]);
});

test("what is visible is bounded, not what was said: forgetting makes room", async () => {
  const long = `<reasoning> ${"x".repeat(60)} </reasoning>`;
  const turns = [long, sum, long, sum, long, answer];
  const { trajectory } = await views(turns, { limits: { maxTokens: 170 } });
  const { totalTokens, peakTokens, finalTokens } = trajectory.memory!;
  assert.equal(trajectory.stop, "answer");
  assert.ok(totalTokens > 250 && peakTokens < 170 && finalTokens <= peakTokens);
  const full = await views([long, long, answer], { limits: { maxTokens: 100 } });
  assert.equal(full.trajectory.stop, "context");
  assert.equal(full.trajectory.memory?.finalTokens, 100);
});

test("a signal ends it in the middle of a turn or of a search, with its record", async () => {
  const abort = new AbortController();
  const changes: Partial<AgentParts> = {
    search: () => {
      abort.abort();
      return new Promise(() => {});
    },
  };
  const { trajectory } = await views([think, search], { changes, signal: abort.signal });
  assert.deepEqual([trajectory.stop, trajectory.memory?.actions.length], ["aborted", 2]);
  const cut = await views([{ ids: characters.encode("<re"), stop: "aborted" }]);
  assert.deepEqual([cut.trajectory.stop, cut.trajectory.memory?.actions.length], ["aborted", 1]);
});

test("a sequence that cannot forget or score is refused at once", async () => {
  const sequence = new ForgetfulSequence("Q", answer);
  await assert.rejects(play(sequence, { memory: { stateValue: "cppl" } }), {
    code: "ERR_ARGUMENT",
    message: /score/,
  });
  Object.assign(sequence, { truncate: undefined });
  await assert.rejects(play(sequence), { code: "ERR_ARGUMENT", message: /truncate/ });
});

test("every cut brings a seed of its own, which follows from that of the prompt", async () => {
  const seedsOf = async (seed: number): Promise<(number | undefined)[]> => {
    const sequence = new ForgetfulSequence("Q", think, back, other, back, answer);
    await play(sequence, { seed });
    return sequence.seeds;
  };
  const [first, again, another] = await Promise.all([seedsOf(1), seedsOf(1), seedsOf(2)]);
  assert.deepEqual(again, first);
  assert.equal(new Set([...first, ...another]).size, 4);
});
