/** What the public calls do with keys that nobody knows, and with arguments of another type. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { everything } from "./public.ts";

/** As callers without TypeScript see it. */
const untyped = (value: unknown): ReturnType<typeof JSON.parse> => value;
const seekrl = untyped(everything);
const typo = { topKK: 3 };
const agent = async () => ({});
const codec = { specials: new Map(), template: { prefix: [], suffix: [] }, encode: () => [], pieces: {} };
const tokenizer = new seekrl.Tokenizer(codec, { eosIds: [] });
const search = async () => [];
const parts = { engine: {}, tokenizer, search };
const template = new seekrl.ChatTemplate("");

/** Each is given a key that it does not have. */
const calls: Readonly<Record<string, () => unknown>> = {
  ragR1: () => seekrl.ragR1({ queries: "single", ...typo }),
  searchR1: () => seekrl.searchR1(typo),
  reSearch: () => seekrl.reSearch(typo),
  r1Searcher: () => seekrl.r1Searcher({ stage: 1, ...typo }),
  agenticRagR1: () => seekrl.agenticRagR1(typo),
  rl: () => seekrl.rl(typo),
  sft: () => seekrl.sft(typo),
  evaluate: () => seekrl.evaluate({ questions: [], agent, ...typo }),
  evaluateSets: () => seekrl.evaluateSets([], { agent, ...typo }),
  schedule: () => seekrl.schedule({ peak: 1, ...typo }),
  "Trainer.open": () => seekrl.Trainer.open({}, typo),
  "limits of an agent": () => seekrl.searchAgent({ ...parts, limits: typo }),
  "agent.rollouts": () => seekrl.ownAgent(parts, agent).rollouts({ question: "who?" }, typo),
  "Model.load": () => seekrl.Model.load("folder", typo),
  "Model.create": () => seekrl.Model.create({}, typo),
  "model.save": () => seekrl.Model.prototype.save("folder", typo),
  "tokenizer.encode": () => tokenizer.encode("text", typo),
  "tokenizer.decode": () => tokenizer.decode([], typo),
  "chatTemplate.render": () => template.render([], typo),
  withBatching: () => seekrl.withBatching(search, typo),
  withReranking: () => seekrl.withReranking(search, { reranker: {}, topK: 3, ...typo }),
  hybridSearch: () => seekrl.hybridSearch([search], typo),
  remoteSearch: () => seekrl.remoteSearch({ url: "http://127.0.0.1:9", ...typo }),
  toolBox: () => seekrl.toolBox([], typo),
  judgeReward: () => seekrl.judgeReward({}, typo),
  relevanceReward: () => seekrl.relevanceReward({}, typo),
  overlongPenalty: () => seekrl.overlongPenalty({ maxTokens: 9, ...typo }),
  repetitionPenalty: () => seekrl.repetitionPenalty(typo),
  "Encoder.open": () => seekrl.Encoder.open("folder", typo),
  "Reranker.open": () => seekrl.Reranker.open("folder", typo),
  serveRetriever: () => seekrl.serveRetriever({ search, port: 0, ...typo }),
  "limits of serveRetriever": () => seekrl.serveRetriever({ search, port: 0, limits: typo }),
  "batch of serveRetriever": () => seekrl.serveRetriever({ search, port: 0, batch: typo }),
  serveRewards: () => seekrl.serveRewards({ questions: [], family: "rag", ...typo }),
  buildIndex: () => seekrl.buildIndex({ corpus: [], out: "folder", ...typo }),
  openIndex: () => seekrl.openIndex("folder", typo),
};

for (const [name, call] of Object.entries(calls)) {
  test(`${name} refuses an unknown key`, async () => {
    await assert.rejects(async () => call(), { code: "ERR_ARGUMENT", message: /unknown key "topKK"/ });
  });
}

/** Each is given something of another type, and says this of it. */
const wrong: Readonly<Record<string, () => unknown>> = {
  'ragR1: queries: expected "single" or "multi", got "many"': () => seekrl.ragR1({ queries: "many" }),
  'r1Searcher: stage: expected 1 or 2 or "zero", got 3': () => seekrl.r1Searcher({ stage: 3 }),
  'agenticRagR1: accuracy: expected "em" or "f1" or "option", got "no"': () =>
    seekrl.agenticRagR1({ accuracy: "no" }),
  "rl: learners: expected an object, got undefined": () => seekrl.rl({}),
  "sft: expected an object of options, got undefined": () => seekrl.sft(),
  "evaluate: expected an object of options, got undefined": () => seekrl.evaluate(),
  'remoteSearch: expected an object of options, got "http://x"': () => seekrl.remoteSearch("http://x"),
  "hybridSearch: searches: expected a list, got 5": () => seekrl.hybridSearch(5),
  "withBatching: search: expected a function, got undefined": () => seekrl.withBatching(),
  "openIndex: folder: expected a string, got undefined": () => seekrl.openIndex(),
  "Model.load: folder: expected a string, got 5": () => seekrl.Model.load(5),
  "Tokenizer.load: path: expected a string, got 5": () => seekrl.Tokenizer.load(5),
  "tokenizer.encode: text: expected a string, got 5": () => tokenizer.encode(5),
  'agent: samples: expected a number, got "x"': () =>
    seekrl.ownAgent(parts, agent).rollouts({ question: "who?" }, { samples: "x" }),
  "chatTemplate.render: now: expected an object, got 5": () => template.render([], { now: 5 }),
};

for (const [message, call] of Object.entries(wrong)) {
  test(message, async () => {
    await assert.rejects(async () => call(), { code: "ERR_ARGUMENT", message });
  });
}
