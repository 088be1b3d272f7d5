/** What a request may ask of an agent, and what it costs. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Refusal, statusOf } from "../../../apps/serve/http/refusal.ts";
import type { ReplyEvent, ReplyRequest, ServedModel } from "../../../apps/serve/reply/reply.ts";
import type { Search } from "../../../lib/search/search.ts";
import { characters, ScriptedSequence } from "../../rollout/doubles.ts";
import { asking, ofType, replied, scripted, single, summary } from "./asking.ts";

const search = "<search> a </search>";
const answer = "<answer> b </answer>";

/** Settles only when its signal fires, or never. */
const hanging: Search = () => new Promise(() => {});

/** Prompts and requests of sequences that play a script. */
function watchedEngine(...turns: string[]) {
  const prompts: string[] = [];
  const sequences: ScriptedSequence[] = [];
  const open = (ids: Int32Array): ScriptedSequence => {
    prompts.push(characters.decode(ids));
    const sequence = new ScriptedSequence(...turns);
    sequences.push(sequence);
    return sequence;
  };
  return { engine: { open }, prompts, sequences };
}

test("what an agent has itself or cannot be held to is refused by the name of the field", async () => {
  const tool = { name: "get_weather", parameters: { type: "object" } };
  const cases: [Partial<ReplyRequest>, RegExp][] = [
    [{ tools: [tool] }, /^tools: .*agent\/scripted has tools of its own, got get_weather/],
    [{ toolChoice: "required" }, /^tool_choice: /],
    [{ constraint: { jsonSchema: {} } }, /^response_format: /],
    [{ stop: ["\n"] }, /^stop: /],
    [{ topLogprobs: 3 }, /^top_logprobs: /],
    [{ sampling: { temperature: -1 } }, /^sampling: .*temperature/],
    [{ budget: { topK: 0 } }, /^budget.topK: /],
    [{ messages: [] }, /^messages: /],
    [{ messages: [{ role: "assistant", content: "a" }] }, /^messages: .*question/],
    [
      {
        messages: [
          { role: "tool", content: "a" },
          { role: "user", content: "b" },
        ],
      },
      /^messages\[0\]\.role: /,
    ],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, /^messages\[0\]\.content: /],
    [
      { messages: [{ role: "user", content: "x".repeat(9000) }] },
      /^messages: expected fewer than 8192 tokens/,
    ],
  ];
  for (const [changes, message] of cases) {
    await assert.rejects(replied(scripted([answer]), asking("q", changes)), (error) => {
      assert.ok(error instanceof Refusal);
      assert.equal(statusOf(error, "error"), 400);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("a single question is asked as it stands; what was said before stands in front of it", async () => {
  const { engine, prompts } = watchedEngine(answer);
  const agent = scripted([], { engine });
  await replied(agent, " who? ");
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "capital of France?" },
    { role: "assistant", content: "Paris", reasoning_content: "hm" },
    { role: "user", content: "and its river?" },
  ];
  await replied(agent, asking("", { messages }));
  assert.deepEqual(prompts, [
    "who?",
    "What was said before:\nInstructions: Be brief.\nUser: capital of France?\nAssistant: Paris\n\nThe question now: and its river?",
  ]);
});

test("the request's sampling is the engine's; unless it says otherwise the likeliest token is taken", async () => {
  const { engine, sequences } = watchedEngine(answer);
  const agent = scripted([], { engine });
  await replied(agent, "q");
  await replied(agent, asking("q", { sampling: { temperature: 0.7, topP: 0.9, presencePenalty: 1 } }));
  const [first, second] = sequences.map(({ requests }) => requests[0] as Record<string, unknown> | undefined);
  assert.deepEqual([first?.temperature, first?.topP], [0, undefined]);
  assert.deepEqual([second?.temperature, second?.topP, second?.presencePenalty], [0.7, 0.9, 1]);
});

test("an agent's own sampling and template variables stand where a request does not say them, key by key", async () => {
  const { engine, prompts, sequences } = watchedEngine(answer);
  const chatTemplate = {
    render: ([message]: readonly { content?: unknown }[], options: object = {}) =>
      `${message?.content} ${JSON.stringify((options as { variables?: object }).variables)}`,
  };
  const agent = scripted([], {
    ...{ engine, chatTemplate, sampling: { temperature: 0.5, topK: 7 } },
    templateVariables: { enable_thinking: false, pace: "slow" },
  });
  assert.deepEqual(agent.sampling, { temperature: 0.5, topK: 7 });
  await replied(agent, "q");
  await replied(agent, asking("q", { sampling: { temperature: 1 }, templateVariables: { pace: "fast" } }));
  const drawn = sequences.map(({ requests }) => requests[0] as Record<string, unknown> | undefined);
  assert.deepEqual(
    drawn.map((request) => [request?.temperature, request?.topK]),
    [
      [0.5, 7],
      [1, 7],
    ],
  );
  assert.deepEqual(prompts, [
    'q {"enable_thinking":false,"pace":"slow"}',
    'q {"enable_thinking":false,"pace":"fast"}',
  ]);
  assert.throws(() => scripted([], { sampling: { temperatur: 1 } as object }), /unknown key "temperatur"/);
});

test("what was found counts as read, and all that was sampled as sampled", async () => {
  const { engine, prompts, sequences } = watchedEngine(search, answer);
  const events = await replied(scripted([], { engine }), "who?");
  const [start] = ofType(events, "start");
  const [finish] = ofType(events, "finish");
  const observed = sequences[0]?.appended.join("").length ?? 0;
  assert.equal(start?.numPromptTokens, prompts[0]?.length);
  assert.equal(finish?.numPromptTokens, (prompts[0]?.length ?? 0) + observed);
  assert.equal(finish?.numTokens, search.length + answer.length);
  assert.equal(finish?.weightsVersion, 3);
});

test("choices are rollouts of their own, with seeds of their own, and each is told by its number", async () => {
  const seeds: number[] = [];
  const engine = {
    open: (_: Int32Array, { seed }: { readonly seed: number }) => {
      seeds.push(seed);
      return new ScriptedSequence(search, answer);
    },
  };
  const events = await replied(scripted([], { engine }), asking("q", { n: 3 }));
  assert.equal(new Set(seeds).size, 3);
  for (const choice of [0, 1, 2]) {
    assert.equal(summary(events.filter((event) => event.choice === choice)).said, "b");
  }
  const alone = [...seeds];
  seeds.length = 0;
  await replied(scripted([], { engine }), "q");
  assert.deepEqual(seeds, alone.slice(0, 1), "the first choice is what a single one would be");
});

test("when one choice fails the others are ended, and the reply fails with its error", async () => {
  let numOpened = 0;
  const signals: (AbortSignal | undefined)[] = [];
  const engine = {
    open: () => {
      numOpened += 1;
      if (numOpened === 2) throw new Error("no room");
      return new ScriptedSequence(search, answer);
    },
  };
  const slow: Search = (_, { signal }) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  await assert.rejects(replied(scripted([], { engine, search: slow }), asking("q", { n: 2 })), /no room/);
  assert.ok(signals.every((signal) => signal?.aborted));
});

test("a search that fails is told without passages, and the agent goes on (law 7)", async () => {
  const failing: Search = async () => {
    throw new Error("http://10.0.0.1: down");
  };
  const events = await replied(scripted([search, answer], { search: failing }), "q");
  assert.deepEqual(summary(events), { thought: "", said: "b", reason: "stop" });
  const [begun, ended] = ofType(events, "search");
  assert.deepEqual([ended?.id, ended?.passages, ended?.hasFailed], [begun?.id, [[]], true]);
  assert.ok(!JSON.stringify(events).includes("10.0.0.1"), "where a search failed is nobody's business");
});

test("a search that hangs costs its deadline and no more", async () => {
  const agent = scripted([search, answer], { search: hanging, limits: { searchTimeoutMs: 20 } });
  const events = await replied(agent, "q");
  assert.equal(summary(events).said, "b");
  assert.equal(ofType(events, "search")[1]?.hasFailed, true);
});

test("behind the last search that a request allows comes the last turn", async () => {
  const { engine, sequences } = watchedEngine(search, answer);
  const agent = scripted([], { engine });
  const asked = (maxSearches: number) => asking("q", { budget: { maxSearches } });
  assert.equal(summary(await replied(agent, asked(1))).said, "b");
  assert.ok(sequences[0]?.appended[0]?.endsWith(single.lastTurn));
  assert.equal(summary(await replied(agent, asked(2))).said, "b");
  assert.ok(!sequences[1]?.appended[0]?.endsWith(single.lastTurn));
  const none = await replied(agent, asked(0));
  assert.deepEqual(sequences[2]?.appended, [single.lastTurn]);
  assert.deepEqual(summary(none), { thought: "", said: "", reason: "length" });
});

test("a request says how many passages a query finds", async () => {
  const wanted: number[] = [];
  const counted: Search = async (queries, { topK }) => {
    wanted.push(topK);
    return queries.map(() => []);
  };
  const agent = scripted([search, answer], { search: counted });
  await replied(agent, asking("q", { budget: { topK: 7 } }));
  await replied(agent, "q");
  assert.deepEqual(wanted, [7, 3]);
});

/** Asks with a deadline, and lets time pass once the search has begun. */
async function askedUntil(t: TestContext, agent: ServedModel, ticks: readonly number[]) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const events: ReplyEvent[] = [];
  const asked = asking("q", { budget: { deadlineMs: 1000 } });
  for await (const event of agent.reply(asked, new AbortController().signal)) {
    events.push(event);
    if (event.type === "search" && event.passages === undefined) {
      for (const ms of ticks) t.mock.timers.tick(ms);
    }
  }
  return events;
}

test("at three quarters of its time a search under way is given up and the answer is asked for", async (t) => {
  const { engine, sequences } = watchedEngine(search, answer);
  const events = await askedUntil(t, scripted([], { engine, search: hanging }), [749, 1]);
  assert.deepEqual(summary(events), { thought: "", said: "b", reason: "stop" });
  assert.ok(sequences[0]?.appended[0]?.endsWith(single.lastTurn));
  assert.equal(ofType(events, "search")[1]?.hasFailed, true);
});

test("at the deadline the reply is what there is, where nothing can ask for the answer", async (t) => {
  const format = { ...single, lastTurn: "" };
  const agent = scripted([`<think> hm </think>${search}`, answer], { search: hanging, format });
  const events = await askedUntil(t, agent, [999, 1]);
  assert.deepEqual(summary(events), { thought: "hm", said: "", reason: "length" });
});

test("a request's tokens are those of all turns together", async () => {
  const agent = scripted([`${search}`, answer]);
  const asked = (maxTokens: number) => asking("q", { maxTokens });
  const cut = await replied(agent, asked(search.length + "<answer> ".length));
  assert.deepEqual([summary(cut).reason, ofType(cut, "finish")[0]?.numTokens], ["length", search.length + 9]);
  assert.equal(summary(await replied(agent, asked(search.length))).reason, "length");
  const whole = await replied(agent, asked(search.length + answer.length));
  assert.deepEqual(summary(whole), { thought: "", said: "b", reason: "stop" });
});

test("the signal ends a search at once, gives the sequence back, and is the error of the reply", async () => {
  const { engine, sequences } = watchedEngine(search, answer);
  const abort = new AbortController();
  const agent = scripted([], { engine, search: hanging });
  const reason = new Error("the client has gone");
  const reading = (async () => {
    for await (const { type } of agent.reply(asking("q"), abort.signal)) {
      if (type === "search") abort.abort(reason);
    }
  })();
  await assert.rejects(reading, reason);
  assert.equal(sequences[0]?.closed, true);
});

test("leaving the reply gives the sequence back", async () => {
  const { engine, sequences } = watchedEngine(search, answer);
  for await (const { type } of scripted([], { engine, search: hanging }).reply(
    asking("q"),
    new AbortController().signal,
  )) {
    if (type === "search") break;
  }
  assert.equal(sequences[0]?.closed, true);
});
