/** Law 1 for every kind of agent: what the engine's sequences hold is what the trajectory says, at any limits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { baselineAgent, baselineNames } from "../../apps/baselines/baselines.ts";
import { type AgentFunction, ownAgent } from "../../lib/rollout/agents/agent.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { stackParser, stackTurnEnds } from "../../lib/rollout/grammars/stack-grammar.ts";
import { defaultLimits } from "../../lib/rollout/limits.ts";
import { defaultMemory } from "../../lib/rollout/memory.ts";
import type { GeneratedSpan, GenerateRequest, OpenSequence } from "../../lib/rollout/seams.ts";
import type { RolloutParts } from "../../lib/rollout/session/rollout.ts";
import { type Trajectory, trajectoryTokens } from "../../lib/rollout/trajectory.ts";
import { dice } from "../dice.ts";
import { characters, hitOf } from "./doubles.ts";

type Roll = ReturnType<typeof dice>;

const kinds = ["plan", "reasoning", "search", "backtrack", "summary", "answer"];

/** A sequence as strict as the engine's: it refuses what does not fit, and writes anything. */
class StrictSequence implements OpenSequence {
  held: number[];
  readonly contexts: number[][] = [];
  readonly #roll: Roll;
  readonly #maxTokens: number;

  constructor(ids: Iterable<number>, roll: Roll, maxTokens: number) {
    this.held = [...ids];
    this.#roll = roll;
    this.#maxTokens = maxTokens;
  }

  async generate({ maxTokens, signal }: GenerateRequest): Promise<GeneratedSpan> {
    assert.ok(maxTokens >= 1 && this.held.length + maxTokens <= this.#maxTokens, "a turn within the limits");
    this.contexts.push([...this.held]);
    const kind = kinds[this.#roll(kinds.length)]!;
    const text = this.#roll(4) === 0 ? "no tag" : `<${kind}> ${this.#roll(99)} </${kind}>`;
    const ids = characters.encode(text).subarray(0, maxTokens);
    this.held.push(...ids);
    const stop = signal?.aborted ? "aborted" : ids.length < text.length ? "length" : "stop";
    const logprobs = Float32Array.from(ids, () => -this.#roll(4));
    return { ids, logprobs, entropies: new Float32Array(ids.length), stop, weightsVersion: 1 };
  }

  append(ids: Int32Array): void {
    assert.ok(this.held.length + ids.length < this.#maxTokens, "an observation within the limits");
    this.held.push(...ids);
  }

  truncate(length: number): void {
    this.held = this.held.slice(0, length);
  }

  fork(): OpenSequence {
    throw new Error("one rollout needs no fork");
  }

  close(): void {}
}

/** An agent that reads much and does not look at what `append` says. */
function careless(roll: Roll): AgentFunction {
  return async (rollout, { question }) => {
    for (let sessions = 1 + roll(2); sessions > 0; sessions -= 1) {
      const documents = roll(2) === 0 ? undefined : "d".repeat(roll(40));
      const prompt = documents === undefined ? question : `${question}\u{F5EE}`;
      const session = await rollout.open({ prompt, documents, prefix: ">" });
      for (let turns = roll(6); turns > 0; turns -= 1) {
        await session.generate({ stop: [">"], maxTokens: 1 + roll(30) });
        const entry = await rollout.use("q", () => "x".repeat(roll(120)));
        await session.append(entry ?? "lost", { asMessage: roll(2) === 0 });
        if (roll(3) === 0) await session.append(`${roll(9)}`);
      }
    }
    return roll(2) === 0 ? "yes" : undefined;
  };
}

const render = (messages: readonly { readonly role: string; readonly content: string }[]): string =>
  `${messages.map(({ role, content }) => `[${role}]${content}[end]`).join("")}[assistant]`;

const single = ragFormat("single");
const stack = {
  ...{ ...ragFormat("multi"), turnEnds: stackTurnEnds(), parse: stackParser() },
  memory: { ...defaultMemory, stateValue: "none", minActions: 2 } as const,
};

const agents: Readonly<Record<string, (parts: RolloutParts, roll: Roll) => ReturnType<typeof ownAgent>>> = {
  own: (parts, roll) => ownAgent(parts, careless(roll)),
  ...Object.fromEntries(
    Object.entries({ search: single, messages: { ...single, isMessage: true }, stack }).map(
      ([name, format]) => [
        name,
        (parts: RolloutParts) => {
          const limits = { ...defaultLimits, ...parts.limits };
          return searchAgent({
            ...parts,
            format: { ...format, prompt: (text) => text },
            limits,
            sampling: {},
          });
        },
      ],
    ),
  ),
  ...Object.fromEntries(
    baselineNames.map((name) => [name, (parts: RolloutParts) => baselineAgent(parts, name)]),
  ),
};

/** Every turn saw what was held, and in the end each session holds what is recorded of it. */
function check(trajectory: Trajectory, sequences: readonly StrictSequence[]): void {
  const { segments, memory } = trajectory;
  const seen = segments.flatMap(({ kind, visible }, i) => {
    if (kind !== "policy") return [];
    const context = visible ?? Array.from({ length: i }, (_, place) => place);
    return [context.flatMap((place) => [...segments[place]!.tokens])];
  });
  assert.deepEqual(
    seen,
    sequences.flatMap(({ contexts }) => contexts),
  );
  const held = sequences.flatMap((sequence) => sequence.held);
  if (memory === undefined) assert.deepEqual([...trajectoryTokens(trajectory)], held);
  else assert.equal(memory.finalTokens, held.length);
}

async function play(name: string, agentOf: (typeof agents)[string]): Promise<void> {
  const roll = dice(11);
  const stops = new Set<string>();
  for (let round = 0; round < 150; round += 1) {
    const limits = {
      ...{ maxTurns: 1 + roll(8), maxResponseTokens: 1 + roll(60), searchTimeoutMs: 1000, topK: 1 },
      ...{ maxObservationTokens: roll(60), maxTokens: (name === "own" ? 1 : 500) + roll(900) },
    };
    const [abort, due] = [new AbortController(), new AbortController()];
    if (roll(10) === 0) due.abort();
    const sequences: StrictSequence[] = [];
    const parts: RolloutParts = {
      engine: {
        open: (ids) => {
          sequences.push(new StrictSequence(ids, roll, limits.maxTokens));
          return sequences.at(-1)!;
        },
      },
      tokenizer: characters,
      chatTemplate: roll(2) === 0 ? undefined : { render },
      search: async (queries) => {
        if (roll(20) === 0) abort.abort();
        if (roll(10) === 0) due.abort();
        if (roll(5) === 0) throw new Error("down");
        return queries.map((query) => [hitOf(query, "found ".repeat(roll(30)))]);
      },
      limits,
    };
    const documents = [{ title: "", text: "given ".repeat(roll(60)) }];
    const asked = { question: "who?", documents };
    const trajectory = await agentOf(parts, roll)(asked, {
      ...{ signal: abort.signal, answerNow: due.signal },
    });
    check(trajectory, sequences);
    stops.add(trajectory.stop);
  }
  assert.ok(stops.size > 1, [...stops].join());
}

test("at any limits the sequences hold what the trajectory says, for every kind of agent", async (suite) => {
  for (const [name, agentOf] of Object.entries(agents)) await suite.test(name, () => play(name, agentOf));
});
