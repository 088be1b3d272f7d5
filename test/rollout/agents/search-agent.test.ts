/** The search agent from outside: its prompt, groups of rollouts, what it refuses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentFunction, ownAgent } from "../../../lib/rollout/agents/agent.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { ScriptedSequence } from "../doubles.ts";
import { environment, single } from "../scripted.ts";

test("a group shares one prompt, and each of its rollouts has a seed of its own", async () => {
  const seeds: number[] = [];
  const root = new ScriptedSequence("<answer> a </answer>");
  const fork = root.fork.bind(root);
  const engine = {
    open: (_: Int32Array, { seed }: { seed: number }) => {
      seeds.push(seed);
      return Object.assign(root, {
        fork: (options: { seed: number }) => {
          seeds.push(options.seed);
          return fork();
        },
      });
    },
  };
  const parts = { ...environment(), engine };
  const group = await searchAgent(parts).rollouts({ id: "q", question: "who" }, { samples: 3, seed: 5 });
  assert.deepEqual(
    group.map(({ id }) => id),
    ["q#0", "q#1", "q#2"],
  );
  assert.equal(new Set(seeds).size, 3);
  assert.ok([root, ...root.forks].every(({ closed }) => closed));
  const repeated = seeds.splice(0);
  await searchAgent({ ...parts, engine: { open: engine.open } })
    .rollouts({ id: "q", question: "who" }, { samples: 3, seed: 5 })
    .catch(() => {});
  assert.deepEqual(seeds, repeated);
});

test("an engine that fails rejects the whole group and closes its sequences", async () => {
  const sequences = [new ScriptedSequence("<answer> a </answer>"), new ScriptedSequence()];
  const [root, broken] = sequences as [ScriptedSequence, ScriptedSequence];
  const engine = { open: () => Object.assign(root, { fork: () => broken }) };
  await assert.rejects(
    searchAgent({ ...environment(), engine }).rollouts({ id: "q", question: "who" }, { samples: 2 }),
    /script/,
  );
  assert.ok(sequences.every(({ closed }) => closed));
});

test("an agent reads the chat template's rendering of the prompt", async () => {
  const sequence = new ScriptedSequence("<answer> a </answer>");
  const chatTemplate = {
    render: ([message]: readonly { content: string }[]) => `USER ${message?.content} BOT`,
  };
  const agent = searchAgent({ ...environment(), engine: { open: () => sequence }, chatTemplate });
  const { segments } = await agent({ id: "q", question: " who ", answers: ["a"] });
  assert.match(segments[0]?.text ?? "", /^USER Answer the given question\. .* Question: who\?\n BOT$/s);
});

test("the prompt of parallel queries says how many there may be", () => {
  assert.match(ragFormat("multi").prompt("who"), /with up to three queries each time/);
  assert.match(ragFormat("multi", { maxQueries: 5 }).prompt("who"), /with up to 5 queries each time/);
  assert.doesNotMatch(single.prompt("who"), /queries/);
});

test("what is no question and unknown options are refused by name", async () => {
  const agent = searchAgent({ ...environment(), engine: { open: () => new ScriptedSequence() } });
  const wrong = [
    [() => agent("who?" as never), /^agent: expected \{question: "\.\.\."\}, got "who\?"$/],
    [() => agent({} as never), /^agent: expected \{question: "\.\.\."\}, got \{\}$/],
    [() => agent({ question: "q" }, { sed: 1 } as never), /did you mean "seed"/],
    [() => agent({ question: "q" }, { seed: "1" } as never), /seed: expected a number, got "1"/],
    [() => agent.rollouts({ question: "q" }, { sample: 2 } as never), /sample/],
    [() => agent.stream("who?" as never).next(), /expected \{question/],
    [() => agent({ question: "q" }, { signal: {} } as never), /signal: expected an AbortSignal/],
    [() => agent.rollouts({ question: "q" }, { signal: {} } as never), /signal: expected an AbortSignal/],
    [
      () => agent.stream({ question: "q" }, { signal: {} } as never).next(),
      /signal: expected an AbortSignal/,
    ],
  ] as const;
  for (const [call, message] of wrong) await assert.rejects(call, { code: "ERR_ARGUMENT", message });
});

test("a session refuses what is no text, no options and no opening", async () => {
  const parts = { ...environment(), engine: { open: () => new ScriptedSequence("x") } };
  const wrong: [AgentFunction, RegExp][] = [
    [async (rollout) => void (await rollout.open({ promt: "q" } as never)), /did you mean "prompt"/],
    [
      async (rollout) => void (await (await rollout.open({ prompt: "q" })).append(undefined as never)),
      /a text/,
    ],
    [
      async (rollout) => void (await rollout.generate({ prompt: "q" }, "x" as never)),
      /stop: expected a list/,
    ],
  ];
  for (const [run, message] of wrong)
    await assert.rejects(ownAgent(parts, run)({ question: "q" }), { code: "ERR_ARGUMENT", message });
});
