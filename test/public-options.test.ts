/** What the public calls do with keys that nobody knows, and with arguments of another type. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpServer } from "../apps/serve/http/http-server.ts";
import { type OptionDoor, optionDoors } from "./package/option-doors.ts";
import { everything } from "./public.ts";

type Untyped = ReturnType<typeof JSON.parse>;
type Options = Readonly<Record<string, unknown>>;

/** As callers without TypeScript see it. */
const seekrl = everything as Untyped;
const agent = async () => ({});
const served = { id: "m", contextTokens: 1 };
const codec = { specials: new Map(), template: { prefix: [], suffix: [] }, encode: () => [], pieces: {} };
const tokenizer = new seekrl.Tokenizer(codec, { eosIds: [] });
const search = async () => [];
const parts = { engine: {}, tokenizer, search };
const template = new seekrl.ChatTemplate("");
const url = "http://127.0.0.1:9";
const write = async () => "";
const said = { segments: [] };
const asked = { question: "who?", answers: [] };
const { Encoder, Reranker, Trainer, Critic, TripleStore, Model } = seekrl;
const triples = await TripleStore.of([]);
const completions = new seekrl.Completions({ url, model: "m" });
const chat = await seekrl.Chat.open({ url, model: "m" });
const attempts = { agent, isRight: () => true };
const learning = { trainer: {}, batch: () => [], steps: 1, learningRate: () => 1 };
const run = { folder: "folder" };
const evaluation = { every: 1, evaluate: async () => ({}) };
const clip = { low: 0.1, high: 0.1 };
const kl = { in: "loss", estimator: "k1", coef: 1 };
const algorithm = { advantage: "grpo", clip, kl };
const generation = {
  ...{ steps: 1, evaluation, algorithm, batch: { questions: 1 } },
  task: { questions: [], rollout: agent, reward: () => 0 },
};
const training = { ...generation, run, learningRate: { policy: () => 1 }, learners: { trainer: {} } };

/** Each call with its options, and those that it cannot do without. */
const calls: Readonly<Record<string, readonly [(options: Untyped) => unknown, Options?]>> = {
  "Engine.open(options)": [(o) => seekrl.Engine.open(Object.create(Model.prototype), o)],
  "compareRuns(options)": [(o) => seekrl.compareRuns("a", "b", o)],
  "evaluate(options)": [seekrl.evaluate, { questions: [], agent }],
  "evaluateSets(options)": [(o) => seekrl.evaluateSets([], o), { agent }],
  "fetchModel(options)": [(o) => seekrl.fetchModel("a/b", o)],
  "pushModel(options)": [(o) => seekrl.pushModel("folder", "a/b", o)],
  "Model.load(options)": [(o) => Model.load("folder", o)],
  "Model.create(options)": [(o) => Model.create({}, o)],
  "Adapter.create(options)": [(o) => seekrl.Adapter.create(Object.create(Model.prototype), o)],
  "Model#save(options)": [(o) => Model.prototype.save("folder", o)],
  "Chat.open(options)": [seekrl.Chat.open, { url, model: "m" }],
  "Chat#ask(request)": [(o) => chat.ask("hi", o)],
  "new Completions(options)": [(o) => new seekrl.Completions(o), { url, model: "m" }],
  "Completions#complete(request)": [(o) => completions.complete(o), { prompt: "", maxTokens: 1, stop: [] }],
  "ownAgent(parts).limits": [(o) => seekrl.ownAgent({ ...parts, limits: o }, agent)],
  "ownAgent(parts).sampling": [(o) => seekrl.ownAgent({ ...parts, sampling: o }, agent)],
  "WorkerPool.open(options)": [
    (o) => seekrl.WorkerPool.open(o),
    { workers: [{ url }], agent, engine: {}, tokenizer, policy: {} },
  ],
  "searchAgent(parts).limits": [(o) => seekrl.searchAgent({ ...parts, format: {}, limits: o })],
  "searchAgent(parts).sampling": [(o) => seekrl.searchAgent({ ...parts, format: {}, sampling: o })],
  "baselineAgent(parts).limits": [(o) => seekrl.baselineAgent({ ...parts, limits: o }, "direct")],
  "baselineAgent(parts).sampling": [(o) => seekrl.baselineAgent({ ...parts, sampling: o }, "direct")],
  "ChatTemplate#render(options)": [(o) => template.render([], o)],
  "new Detokenizer(options)": [(o) => new seekrl.Detokenizer(tokenizer, o)],
  "Tokenizer#encode(options)": [(o) => tokenizer.encode("text", o)],
  "Tokenizer#decode(options)": [(o) => tokenizer.decode([], o)],
  "countSchedule(options)": [seekrl.countSchedule, { from: 2, to: 1, steps: 1 }],
  "schedule(options)": [seekrl.schedule, { peak: 1 }],
  "sftSequence(options)": [(o) => seekrl.sftSequence([], o)],
  "ProcessGroup.open(options)": [seekrl.ProcessGroup.open, { rank: 0, size: 1, port: 29_500 }],
  "Critic.open(options)": [(o) => Critic.open({ clone: async () => ({ close: () => undefined }) }, o)],
  "Critic#values(options)": [(o) => Critic.prototype.values([], o)],
  "Critic#accumulate(options)": [(o) => Critic.prototype.accumulate([], o)],
  "Critic#step(options)": [(o) => Critic.prototype.step(o), { learningRate: 1 }],
  "Trainer.open(options)": [(o) => Trainer.open({}, o)],
  "Trainer#accumulate(options)": [(o) => Trainer.prototype.accumulate([], o)],
  "Trainer#logprobs(options)": [(o) => Trainer.prototype.logprobs([], o)],
  "Trainer#step(options)": [(o) => Trainer.prototype.step(o), { learningRate: 1 }],
  "openLearners(algorithm)": [(o) => seekrl.openLearners({}, o), algorithm],
  "openLearners(options)": [(o) => seekrl.openLearners({}, algorithm, o)],
  "rl(options)": [seekrl.rl, training],
  "rollOut(options)": [
    seekrl.rollOut,
    { ...generation, policy: {}, roles: Object.create(seekrl.RankRoles.prototype) },
  ],
  "RankRoles.open(options)": [(o) => seekrl.RankRoles.open({}, o), { rolloutRanks: 1 }],
  "epochs(options)": [(o) => seekrl.epochs([{}], o), { batchSize: 1, epochs: 1 }],
  "sft(options)": [seekrl.sft, { ...learning, run, evaluation }],
  "Encoder.open(options)": [(o) => Encoder.open("folder", o)],
  "Encoder#embedPassages(options)": [(o) => Encoder.prototype.embedPassages([], o)],
  "Encoder#embedQueries(options)": [(o) => Encoder.prototype.embedQueries([], o)],
  "Encoder#embedIds(options)": [(o) => Encoder.prototype.embedIds([], o)],
  "Reranker.open(options)": [(o) => Reranker.open("folder", o)],
  "Reranker#score(options)": [(o) => Reranker.prototype.score("q", [], o)],
  "Reranker#scorePairs(options)": [(o) => Reranker.prototype.scorePairs([], o)],
  "buildIndex(options)": [seekrl.buildIndex, { corpus: [], out: "folder" }],
  "addToIndex(options)": [(o) => seekrl.addToIndex("folder", [], o)],
  "removeFromIndex(options)": [(o) => seekrl.removeFromIndex("folder", [], o)],
  "mergeIndexes(options)": [(o) => seekrl.mergeIndexes(["a"], "b", o)],
  "splitIndex(options)": [(o) => seekrl.splitIndex("a", "b", o), { shards: 2 }],
  "indexInfo(options)": [(o) => seekrl.indexInfo("folder", o)],
  "openIndex(options)": [(o) => seekrl.openIndex("folder", o)],
  "remoteEmbedder(options)": [seekrl.remoteEmbedder, { url, model: "m", dim: 1 }],
  "remoteSearch(options)": [seekrl.remoteSearch, { url }],
  "shardedSearch(options)": [seekrl.shardedSearch, { shards: [[url]] }],
  "withBatching(options)": [(o) => seekrl.withBatching(search, o)],
  "hybridSearch(options)": [(o) => seekrl.hybridSearch([search], o)],
  "withReranking(options)": [(o) => seekrl.withReranking(search, o), { reranker: {}, topK: 3 }],
  "elasticsearchSearch(options)": [seekrl.elasticsearchSearch, { url, index: "i" }],
  "importToElasticsearch(options)": [(o) => seekrl.importToElasticsearch([], o), { url, index: "i" }],
  "importToPg(options)": [(o) => seekrl.importToPg([], o), { embedder: {} }],
  "openPgSearch(options)": [seekrl.openPgSearch],
  "importToQdrant(options)": [(o) => seekrl.importToQdrant([], o), { url, collection: "c", embedder: {} }],
  "qdrantSearch(options)": [seekrl.qdrantSearch, { url, collection: "c", embedder: {} }],
  "pageReader(options)": [seekrl.pageReader],
  "withPages(options)": [(o) => seekrl.withPages(search, o), { read: agent }],
  "withSummaries(options)": [(o) => seekrl.withSummaries(search, o), { write }],
  "webSearch(options)": [seekrl.webSearch, { engine: "serper" }],
  "parseBracketCall(options)": [(o) => seekrl.parseBracketCall("", o)],
  "parseBracketCalls(options)": [(o) => seekrl.parseBracketCalls("", o)],
  "calculatorTool(wording)": [seekrl.calculatorTool],
  "documentTool(options)": [(o) => seekrl.documentTool({}, o)],
  "graphTool(options)": [(o) => seekrl.graphTool({}, o)],
  "pageTool(options)": [(o) => seekrl.pageTool(agent, o)],
  "searchTool(options)": [(o) => seekrl.searchTool(search, o)],
  "TripleStore#paths(options)": [(o) => triples.paths("a", "b", o)],
  "McpServer.open(place)": [(o) => seekrl.McpServer.open(o), { command: "none" }],
  "McpServer.open(options)": [(o) => seekrl.McpServer.open({ command: "none" }, o)],
  "tool(definition)": [seekrl.tool, { name: "n", description: "d", input: {}, run: write }],
  "toolBox(options)": [(o) => seekrl.toolBox([], o)],
  "fewSearchesBonus(options)": [seekrl.fewSearchesBonus],
  "judgeReward(judging)": [(o) => seekrl.judgeReward({}, o)],
  "relevanceReward(options)": [(o) => seekrl.relevanceReward({}, o)],
  "overlongPenalty(options)": [seekrl.overlongPenalty, { maxTokens: 9 }],
  "repetitionPenalty(options)": [seekrl.repetitionPenalty],
  "exactMatch(options)": [(o) => seekrl.exactMatch("", [], o)],
  "f1(options)": [(o) => seekrl.f1("", [], o)],
  "scoreAnswer(options)": [(o) => seekrl.scoreAnswer("", [], "squad", o)],
  "remoteReward(options)": [seekrl.remoteReward, { url }],
  "agenticFormatReward(options)": [(o) => seekrl.agenticFormatReward(said, o)],
  "agenticFormReward(options)": [(o) => seekrl.agenticFormReward(said, o)],
  "r1SearcherReward(options)": [seekrl.r1SearcherReward, { stage: 1 }],
  "reCallReward(options)": [seekrl.reCallReward],
  "reSearchReward(options)": [seekrl.reSearchReward],
  "reSearchScore(options)": [(o) => seekrl.reSearchScore(said, asked, o)],
  "formatReward(scores)": [seekrl.formatReward],
  "agenticRagR1(options)": [seekrl.agenticRagR1],
  "r1Searcher(options)": [seekrl.r1Searcher, { stage: 1 }],
  "ragR1(options)": [seekrl.ragR1, { queries: "single" }],
  "reSearch(options)": [seekrl.reSearch],
  "searchR1(options)": [seekrl.searchR1],
  "ragFormat(options)": [(o) => seekrl.ragFormat("multi", o)],
  "toolFormat(options)": [(o) => seekrl.toolFormat([], o)],
  "PassageStore.open(options)": [(o) => seekrl.PassageStore.open("file", o)],
  "writePassageStore(options)": [(o) => seekrl.writePassageStore("none/file", [], o)],
  "readDocuments(options)": [(o) => seekrl.readDocuments("file", o).next()],
  "reportOf(options)": [(o) => seekrl.reportOf({}, o)],
  "splitDocuments(options)": [(o) => seekrl.splitDocuments([], o).next()],
  "splitCorpus(options)": [seekrl.splitCorpus, { input: "none", out: "none" }],
  "attemptQuestions(options)": [(o) => seekrl.attemptQuestions([], o), attempts],
  "r1SearcherCurriculum(given)": [(o) => seekrl.r1SearcherCurriculum([], o), attempts],
  "ragCurriculum(given)": [(o) => seekrl.ragCurriculum([], o), { ...attempts, solved: new Set() }],
  "prepareQuestions(options)": [(o) => seekrl.prepareQuestions([], o), { format: "jsonl" }],
  "checkCorpus(given)": [seekrl.checkCorpus, { corpus: "none", sets: [] }],
  "HttpServer#close(options)": [(o) => HttpServer.prototype.close(o)],
  "agentModel(parts)": [
    seekrl.agentModel,
    { ...parts, id: "agent/a", recipe: { format: {}, limits: {} }, contextTokens: 1 },
  ],
  "serveModels(options)": [seekrl.serveModels, { models: [served], port: 0 }],
  "serveModels(options).limits": [(o) => seekrl.serveModels({ models: [served], port: 0, limits: o })],
  "LearningModel.open(options)": [
    seekrl.LearningModel.open,
    { name: "m", model: Object.create(Model.prototype), serve: () => served },
  ],
  "languageModels(options)": [seekrl.languageModels, { name: "m", engine: {}, tokenizer }],
  "seekrlProvider(options)": [seekrl.seekrlProvider, { models: [] }],
  "serveRetriever(options)": [seekrl.serveRetriever, { search, port: 0 }],
  "serveRewards(options)": [seekrl.serveRewards, { reward: () => 0, questions: [], family: "rag", port: 0 }],
  "worldRecipe(options)": [seekrl.worldRecipe, { queries: "single" }],
  "createWorld(options)": [seekrl.createWorld, { seed: 1 }],
  "lint(subject)": [seekrl.lint, { parts, tokenizer, model: {}, reward: () => 0, question: asked }],
};

/** Objects that are handed in whole and are no options. */
const data = new Set([
  "Question",
  "Recipe",
  "Training",
  "Outcome",
  "DecoderShape",
  "Codec",
  "Lead",
  "Format",
]);

/** What is not called here, by the beginning of its name, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  "ownAgent(parts)": "a whole recipe may be spread into the parts",
  "searchAgent(parts)": "a whole recipe may be spread into the parts",
  "baselineAgent(parts)": "a whole recipe may be spread into the parts",
  "lint(subject).": "as the parts of an agent",
  "withWorldPrompt(recipe).": "a recipe is data",
  "optimiserOf(training).": "a recipe is data",
  "policyAnswer(options)": "a trajectory is data",
  "emReward(trajectory)": "a trajectory is data",
  "f1Reward(trajectory)": "a trajectory is data",
  "passAtK(options)": "counts are data",
  "askSearch(options)": "handed to the search as they are, for every query",
  "Engine#": "test/engine/refused.test.ts has an engine",
  "Sequence#": "test/engine/refused.test.ts has an engine",
  "Session#": "test/rollout/rollout.test.ts has sessions",
  "Rollout#": "test/rollout/rollout.test.ts has rollouts",
  "Engine.open(options).tokenizer": "a tokenizer, or what stands in its place",
  "WorkerPool.open(options).engine": "an engine, or what stands in its place",
  "WorkerPool#": "the agent of the place checks them",
  "Learner#": "Trainer and Critic are called",
  "agentModel(parts).recipe": "recipes are spread into what takes them, so they are not refused for a key",
  "LearningModel#reply(request)": "protocols read requests, and agents refuse what they are not",
};

/** `calls` has the door itself, or the options that it is in. */
function callOf(name: string): readonly [string, readonly string[]] | undefined {
  const path: string[] = [];
  for (let door = name; ; ) {
    if (door in calls) return [door, path];
    const at = door.lastIndexOf(".");
    if (at <= door.lastIndexOf(")")) return undefined;
    path.unshift(door.slice(at + 1));
    door = door.slice(0, at);
  }
}

/** Options with one more key, which they do not have, in the options at the end of a path. */
function withTypo(options: unknown, [first, ...rest]: readonly string[]): Options {
  const given = (typeof options === "object" ? options : {}) as Options;
  if (first === undefined) return { ...given, topKK: 3 };
  return { ...given, [first]: withTypo(given[first], rest) };
}

const doors = optionDoors();
const isElsewhere = ({ name, type }: OptionDoor): boolean =>
  data.has(type) ||
  type === "SequenceSource" ||
  (!(name in calls) && Object.keys(elsewhere).some((prefix) => name.startsWith(prefix)));

test("every public call that takes options is called here, or a reason stands for it", () => {
  const missing = doors.filter((door) => callOf(door.name) === undefined && !isElsewhere(door));
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
    "check the options with checkOptions, and add the call",
  );
  const names = doors.map(({ name }) => name);
  const gone = (known: readonly string[]): readonly string[] =>
    known.filter((one) => !names.some((name) => name.startsWith(one)));
  assert.deepEqual([gone(Object.keys(calls)), gone(Object.keys(elsewhere))], [[], []]);
});

for (const door of doors) {
  const [name = "", path = []] = callOf(door.name) ?? [];
  const [call, base = {}] = calls[name] ?? [];
  if (call === undefined || isElsewhere(door)) continue;
  test(`${door.name} refuses an unknown key, and what is no object`, async () => {
    const message = /: unknown key "topKK"; (did you mean|expected one of)/;
    await assert.rejects(async () => call(withTypo(base, path)), { code: "ERR_ARGUMENT", message });
    if (path.length > 0) return;
    await assert.rejects(async () => call(5), {
      code: "ERR_ARGUMENT",
      message: /: expected an object( of options)?, got 5$/,
    });
  });
}

/** Each is given something of another type, and says this of it. */
const wrong: Readonly<Record<string, () => unknown>> = {
  'ragR1: queries: expected "single" or "multi", got "many"': () => seekrl.ragR1({ queries: "many" }),
  'r1Searcher: stage: expected 1 or 2 or "zero", got 3': () => seekrl.r1Searcher({ stage: 3 }),
  'agenticRagR1: accuracy: expected "em" or "f1" or "option", got "no"': () =>
    seekrl.agenticRagR1({ accuracy: "no" }),
  "rl: learners: expected an object of options, got undefined": () => seekrl.rl({}),
  "sft: expected an object of options, got undefined": () => seekrl.sft(),
  "evaluate: expected an object of options, got undefined": () => seekrl.evaluate(),
  'remoteSearch: expected an object of options, got "http://x"': () => seekrl.remoteSearch("http://x"),
  'remoteSearch: transport: retries: expected a number, got "2"': () =>
    seekrl.remoteSearch({ url, transport: { retries: "2" } }),
  'buildIndex: split: expected "auto" or false, got true': () =>
    seekrl.buildIndex({ corpus: [], out: "folder", split: true }),
  'buildIndex: dense: embedder: expected "hashed", got "bge"': () =>
    seekrl.buildIndex({ corpus: [], out: "folder", dense: { embedder: "bge" } }),
  "hybridSearch: searches: expected a list, got 5": () => seekrl.hybridSearch(5),
  "withBatching: search: expected a function, got undefined": () => seekrl.withBatching(),
  "openIndex: folder: expected a string, got undefined": () => seekrl.openIndex(),
  "Model.load: folder: expected a string, got 5": () => Model.load(5),
  "Tokenizer.load: path: expected a string, got 5": () => seekrl.Tokenizer.load(5),
  "ChatTemplate.load: folder: expected a string, got 5": () => seekrl.ChatTemplate.load(5),
  "tokenizer.encode: text: expected a string, got 5": () => tokenizer.encode(5),
  'agent: unknown key "topKK"; expected one of seed, sampling, signal, answerNow, onEvent, samples': () =>
    seekrl.ownAgent(parts, agent).rollouts({ question: "who?" }, { topKK: 3 }),
  'agent: samples: expected a number, got "x"': () =>
    seekrl.ownAgent(parts, agent).rollouts({ question: "who?" }, { samples: "x" }),
  "chatTemplate.render: now: expected an object, got 5": () => template.render([], { now: 5 }),
};

for (const [message, call] of Object.entries(wrong)) {
  test(message, async () => {
    await assert.rejects(async () => call(), { code: "ERR_ARGUMENT", message });
  });
}
