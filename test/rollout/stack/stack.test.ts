/** The memory stack: what each action does to the frames, and that the sequence always holds just those. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { stackParser, stackTurnEnds } from "../../../lib/rollout/grammars/stack-grammar.ts";
import { defaultLimits, type Limits } from "../../../lib/rollout/limits.ts";
import { defaultMemory, type Memory } from "../../../lib/rollout/memory.ts";
import {
  afterAction,
  type Frame,
  type FrameKind,
  visibleSegments,
} from "../../../lib/rollout/stack/frames.ts";
import { tokenAt } from "../../../lib/rollout/stack/state-value.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { type ToolCall, toolBox } from "../../../lib/tools/tool-box.ts";
import { dice } from "../../dice.ts";
import { characters, ForgetfulSequence, recordedSearch, type ScriptedTurn } from "../doubles.ts";

const format = {
  ...{ ...ragFormat("multi"), prompt: () => "Q", turnEnds: stackTurnEnds(), parse: stackParser() },
  lastTurn: "LAST",
};

interface Around {
  readonly memory?: Partial<Memory>;
  readonly limits?: Partial<Limits>;
  readonly changes?: Partial<AgentParts>;
  readonly signal?: AbortSignal;
  readonly seed?: number;
}

async function play(
  sequence: ForgetfulSequence,
  { memory, limits, changes, ...options }: Around = {},
): Promise<Trajectory> {
  const agent = searchAgent({
    engine: { open: () => sequence },
    tokenizer: characters,
    search: recordedSearch(),
    format: { ...format, memory: { ...defaultMemory, demoted: "NO", ...memory } },
    sampling: {},
    ...changes,
    limits: { ...defaultLimits, maxTurns: 50, ...limits },
  });
  return agent({ question: "q" }, options);
}

/** Plays turns and gives what was visible before each, and at the end. */
async function views(turns: readonly ScriptedTurn[], around: Around = {}) {
  const sequence = new ForgetfulSequence("Q", ...turns);
  const trajectory = await play(sequence, around);
  return { views: [...sequence.seen, sequence.text], trajectory, sequence };
}

const plan = "<plan> a </plan>";
const think = "<reasoning> b </reasoning>";
const other = "<reasoning> c </reasoning>";
const search = "<search> d, e </search>";
const back = "<backtrack> f </backtrack>";
const sum = "<summary> g </summary>";
const answer = "<answer> h </answer>";
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

test("an answer that is too uncertain becomes a thought, which a backtrack pops", async () => {
  // Entropies of the double fall from turn to turn: 1, 1/2, 1/3, ...
  const { views: seen, trajectory } = await views([answer, think, answer, back, answer], {
    memory: { sigma: 0.3 },
  });
  assert.equal(seen[1], `Q${answer}NO`);
  assert.equal(seen[3], `Q${answer}NO${think}${answer}NO`);
  assert.equal(seen[4], `Q${answer}NO${think}${back}`);
  const { actions } = trajectory.memory!;
  assert.deepEqual(
    actions.map(({ isDemoted }) => isDemoted ?? false),
    [true, false, true, false, false],
  );
  const values = actions.flatMap(({ value }) => (value === undefined ? [] : [value]));
  assert.deepEqual(
    values.map((value) => Math.round(1 / value)),
    [1, 2, 3, 5],
  );
  assert.deepEqual([trajectory.stop, trajectory.answer], ["answer", "h"]);
});

test("an answer before the least number of actions becomes a thought", async () => {
  const { trajectory, views: seen } = await views([think, answer, answer], { memory: { minActions: 2 } });
  assert.equal(seen[2], `Q${think}${answer}NO`);
  assert.equal(trajectory.turns, 3);
});

test("the last action is announced, and an answer there counts however uncertain it is", async () => {
  const around = { memory: { sigma: 0 }, limits: { maxTurns: 3 } };
  const { trajectory, views: seen } = await views([answer, think, answer], around);
  assert.equal(seen[2], `Q${answer}NO${think}LAST`);
  assert.deepEqual([trajectory.stop, trajectory.answer, trajectory.turns], ["answer", "h", 3]);
  const none = await views([think, think, think], around);
  assert.deepEqual([none.trajectory.stop, none.trajectory.answer], ["max_turns", undefined]);
});

test("the announcement leaves with the frame that it stands on", async () => {
  const { sequence } = await views([think, plan, answer], { limits: { maxTurns: 3 } });
  assert.equal(sequence.seen[2], `Q${plan}${think}LAST`);
});

test("conditional perplexity is that of the answer after the prompt alone", async () => {
  const asked: [string, number][] = [];
  const scoring = (turns: readonly string[]) => {
    const sequence = new ForgetfulSequence("Q", ...turns);
    sequence.score = async (ids, { after = 0 } = {}) => {
      asked.push([characters.decode(ids), after]);
      // The opening tag is as unlikely as can be and does not count.
      return { logprobs: Float32Array.from(ids, (_, i) => (i < "<answer>".length ? -100 : -Math.LN2)) };
    };
    return sequence;
  };
  const memory = { stateValue: "cppl", sigma: 2.1 } as const;
  const trajectory = await play(scoring([think, search, answer]), { memory });
  assert.deepEqual(asked, [[answer, 1]]);
  assert.ok(Math.abs(trajectory.memory!.actions[2]!.value! - 2) < 1e-6);
  const doubted = await play(scoring([answer, think]), {
    memory: { ...memory, sigma: 1.9 },
    limits: { maxTurns: 2 },
  });
  assert.equal(doubted.memory?.actions[0]?.isDemoted, true);
});

test("without a state value nothing is measured, and only the number of actions holds an answer back", async () => {
  const memory = { stateValue: "none", sigma: 0, minActions: 1 } as const;
  const { trajectory } = await views([answer, answer], { memory });
  assert.deepEqual(
    trajectory.memory?.actions.map(({ isDemoted, value }) => [isDemoted, value]),
    [
      [true, undefined],
      [undefined, undefined],
    ],
  );
});

test("an answer of nothing is infinitely uncertain", async () => {
  const { trajectory } = await views([{ ids: characters.encode("<answer>"), stop: "eos" }, answer]);
  assert.equal(trajectory.memory?.actions[0]?.kind, "invalid");
  const cut = tokenAt(characters, characters.encode("ab"), 2);
  assert.equal(cut, 2);
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

// The table of the specification, played on a list of texts with nothing of the code under test.
class Model {
  stack: { kind: string; text: string }[] = [];

  get text(): string {
    return `Q${this.stack.map(({ text }) => text).join("")}`;
  }

  take(kind: string, text: string): void {
    const { stack } = this;
    const top = stack.at(-1)?.kind;
    if (kind === "plan") {
      this.stack = [{ kind, text }, ...stack.filter((frame) => frame.kind !== "plan")];
      return;
    }
    if (kind === "backtrack" && top !== undefined && top !== "plan") stack.pop();
    if (kind === "summary" && top === "summary") stack.pop();
    else
      while (kind === "summary" && !["plan", "summary", undefined].includes(stack.at(-1)?.kind)) stack.pop();
    stack.push({ kind, text });
  }
}

test("whatever the actions, the sequence holds just the prompt and the frames of the stack", async () => {
  const roll = dice(3);
  for (let round = 0; round < 300; round += 1) {
    const kinds = Array.from({ length: 1 + roll(25) }, () => {
      return ["plan", "reasoning", "search", "backtrack", "summary", "answer", "none"][roll(7)]!;
    });
    const turns = kinds.map((kind, i) => (kind === "none" ? `${i}` : `<${kind}> ${i} </${kind}>`));
    const model = new Model();
    const expected = kinds.map((kind, i) => {
      const view = model.text;
      const replies: Record<string, string> = {
        search: format.observation([`${i}`], [[{ title: `${i}`, text: `about ${i}` }]], (text) => text),
        answer: "NO",
        none: format.invalid,
      };
      model.take(kind, turns[i]! + (replies[kind] ?? ""));
      return view;
    });
    const sequence = new ForgetfulSequence("Q", ...turns, answer);
    const limits = { maxTurns: kinds.length + 2 };
    const { segments, memory } = await play(sequence, {
      memory: { minActions: kinds.length },
      limits: { ...limits, maxTokens: 1e6 },
    });
    assert.deepEqual(sequence.seen, [...expected, model.text]);
    // The record says the same: what was visible to each turn is what the sequence held.
    const policy = segments.flatMap((segment, i) => (segment.kind === "policy" ? [{ segment, i }] : []));
    for (const [turn, { segment, i }] of policy.entries()) {
      const visible = segment.visible ?? Array.from({ length: i }, (_, j) => j);
      assert.equal(visible.map((j) => segments[j]!.text).join(""), sequence.seen[turn]);
    }
    assert.equal(memory?.actions.length, turns.length + 1);
  }
});

test("the frames after an action end with it, unless it is a plan, and hold every other frame once", () => {
  const roll = dice(9);
  const kinds: FrameKind[] = ["plan", "reasoning", "search", "backtrack", "summary", "invalid"];
  for (const condenses of ["all", "previous"] as const) {
    let frames: readonly Frame[] = [];
    for (let i = 1; i < 500; i += 1) {
      const frame = { kind: kinds[roll(kinds.length)]!, segments: [2 * i, 2 * i + 1] };
      const before = new Set(frames);
      frames = afterAction(frames, frame, condenses);
      assert.equal(frame.kind === "plan" ? frames[0] : frames.at(-1), frame);
      assert.ok(frames.every((each) => each === frame || before.has(each)));
      assert.ok(frames.filter(({ kind }) => kind === "plan").length <= 1);
      const visible = visibleSegments(frames);
      assert.equal(new Set(visible).size, visible.length);
    }
  }
});
