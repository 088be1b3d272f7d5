/** What scripts/fuzz.mjs damages, and how each is used afterwards. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { native } from "../../dist/lib/base/addon/native.js";
import { digestsBelow } from "../../dist/lib/base/files/digests.js";
import { Engine } from "../../dist/lib/engine/engine.js";
import { Adapter } from "../../dist/lib/model/adapter.js";
import { Model } from "../../dist/lib/model/model.js";
import { Tokenizer } from "../../dist/lib/text/tokenizers/tokenizer.js";
import { Trainer } from "../../dist/lib/train/learner/trainer.js";
import { epochs, sft } from "../../dist/lib/train/sft.js";
import { tinyModel as letterModel, letters, prompt } from "../../dist/test/engine/models.js";
import { goldenRows, writeBlockModel } from "../../dist/test/model/gguf/block-model.js";
import { byteLetter, writeGguf } from "../../dist/test/model/gguf/fixture.js";
import { filled, tinySequence, tinyShape } from "../../dist/test/train/tiny.js";
import { changedGrammar, changedSchema } from "./constraints.mjs";
import { mutateFile, pick } from "./mutate.mjs";

const golden = new URL("../../test/golden/model/", import.meta.url).pathname;
const families = [
  "gemma2",
  "gemma3",
  "llama",
  "mistral",
  "mixtral",
  "phi3",
  "qwen2",
  "qwen3",
  "qwen3_moe",
  "smollm3",
];
/** Wide enough for blocks of GGUF and groups of quantised weights. */
const { qkvBias: _, ...sizes } = tinyShape;
const wideShape = { ...sizes, hiddenSize: 64, intermediateSize: 96, tieEmbeddings: false };
const forms = [undefined, "int8", "int4", "nf4"];
const dtypes = ["float32", "bfloat16"];

function expectFinite(numbers, what) {
  for (const each of numbers) if (!Number.isFinite(each)) throw new Error(`${what}: ${each}`);
}

/** Closes what it opened. */
async function within(opening, use) {
  const opened = await opening;
  try {
    return await use(opened);
  } finally {
    await opened.close();
  }
}

/** Scores and generates a few tokens. */
async function useModel(policy) {
  const ids = Int32Array.of(3, 1, 4, 1, 5);
  expectFinite((await policy.scoreLogprobs(ids)).slice(1), "log-probability");
  await within(Engine.open(policy, { cacheBytes: 2 ** 22, maxBatchTokens: 64 }), (engine) =>
    within(engine.open(ids, { seed: 1 }), async (sequence) =>
      expectFinite((await sequence.generate({ maxTokens: 4 })).logprobs, "drawn log-probability"),
    ),
  );
}

async function loadAndUse(path, roll) {
  const options = { dtype: pick(roll, dtypes), weights: roll(3) === 0 ? pick(roll, forms) : undefined };
  await within(Model.load(path, options), useModel);
}

const sequenceOf = (seed) => {
  const sequence = tinySequence(seed, 14);
  return { ...sequence, weights: filled(sequence.rows.length, () => 0.1) };
};

const ggufTokenizer = () => {
  const tokens = [...Array.from({ length: 37 }, (_, i) => byteLetter(97 + i)), "ab", "<s>", "</s>"];
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "llama-bpe",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": tokens.map((token) => (token.startsWith("<") ? 3 : 1)),
    "tokenizer.ggml.merges": ["a b"],
    "tokenizer.ggml.bos_token_id": 38,
    "tokenizer.ggml.eos_token_id": 39,
  };
};

async function prepareGguf(folder) {
  const numForms = ["F32", "F16", "BF16", "Q8_0", "Q4_0"];
  for (const [i, type] of numForms.entries()) {
    const architecture = i % 2 === 0 ? "LlamaForCausalLM" : "Qwen3ForCausalLM";
    await within(Model.create({ ...wideShape, architecture }, { seed: i, std: 0.2 }), (model) =>
      writeGguf(join(folder, `${type}.gguf`), model, { type, tokenizer: ggufTokenizer() }),
    );
  }
  const sizes = { hiddenSize: 256, feedForward: 256, isTied: false };
  for (const type of [...goldenRows().keys()].filter((each) => !numForms.includes(each))) {
    const own = join(folder, `${type}.gguf`);
    await writeBlockModel({ own }, { ...sizes, typeOf: () => type }, ggufTokenizer());
  }
}

async function useGguf(path, roll) {
  if (roll(4) === 0) {
    const tokenizer = await Tokenizer.load(path);
    return void tokenizer.decode(tokenizer.encode("abcab", { beginsText: true }));
  }
  await loadAndUse(path, roll);
}

async function prepareQuantised(folder) {
  for (const weights of forms.slice(1)) {
    await within(Model.create(wideShape, { seed: 1, std: 0.2, weights }), (model) =>
      model.save(join(folder, weights)),
    );
  }
}

/** Whose states are damaged. */
const states = {
  plain: {},
  codes: { moments: "8-bit" },
  low: { dtype: "bfloat16", moments: "8-bit" },
};

/** Opens a model and its trainer. */
const withTrainer = ({ dtype, ...options }, use) =>
  within(Model.create(tinyShape, { seed: 1, std: 0.2, dtype }), (model) =>
    within(Trainer.open(model, options), (trainer) => use(trainer, model)),
  );

/** A step of AdamW. */
async function step(trainer, seed) {
  await trainer.accumulate([sequenceOf(seed)]);
  await trainer.step({ learningRate: 1e-2 });
}

async function prepareState(folder) {
  for (const [name, form] of Object.entries(states)) {
    await withTrainer(form, async (trainer) => {
      await step(trainer, 1);
      await trainer.saveState(join(folder, `${name}.safetensors`));
    });
  }
}

const useState = (path) =>
  withTrainer(states[basename(path, ".safetensors")], async (trainer, model) => {
    await trainer.loadState(path, 1);
    await step(trainer, 2);
    for (const { name } of model.handle.tensors()) expectFinite(await model.parameter(name), name);
  });

async function train(folder, onStep = () => {}) {
  const data = epochs([1, 2, 3, 4].map(sequenceOf), { batchSize: 2, epochs: 3, seed: 3 });
  const run = { folder, checkpointEvery: 3 };
  await withTrainer({}, async (trainer, model) => {
    await sft({ trainer, ...data, steps: 6, learningRate: () => 1e-3, seed: 3, run, onStep });
    await useModel(model);
  });
}

async function prepareRun(folder) {
  const stop = new Error("stopped");
  const stopped = train(join(folder, "run"), ({ step }) => {
    if (step === 5) throw stop;
  });
  await stopped.catch((error) => {
    if (error !== stop) throw error;
  });
}

/** Half the time the digests are forged, so that what stands behind them is met. */
async function useRun(folder, roll) {
  const checkpoint = join(folder, "step-000003");
  if (roll(2) === 0) {
    const path = join(checkpoint, "state.json");
    try {
      const { "state.json": _, ...files } = await digestsBelow(checkpoint);
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path)), files }));
    } catch {
      // The state itself cannot be parsed.
    }
  }
  await train(folder);
}

/** A copy of one of the entries of a folder, with one of its files changed, or two. */
function damagedCopy({ folder, scratch }, roll, entries = readdirSync(folder)) {
  const entry = pick(roll, entries);
  const path = join(scratch, entry);
  rmSync(scratch, { recursive: true, force: true });
  cpSync(join(folder, entry), path, { recursive: true });
  const below = entry.includes(".") ? [""] : readdirSync(path, { recursive: true });
  const files = below.filter(
    (name) => /\.(json|jsonl|safetensors|gguf)$/.test(name || entry) && name !== "reference.json",
  );
  for (let left = roll(4) === 0 ? 2 : 1; left > 0; left -= 1) {
    const file = join(path, pick(roll, files));
    writeFileSync(file, mutateFile(file, readFileSync(file), roll));
  }
  return path;
}

/** A target of files that `prepare` writes, or that lie in `from`. */
const files = (use, { prepare = async () => {}, from, entries } = {}) => ({
  prepare: async (folder, scratch) => {
    await prepare(folder);
    return { folder: from ?? folder, scratch };
  },
  run: (context, roll) => use(damagedCopy(context, roll, entries), roll, context),
});

async function prepareAdapter(folder, scratch) {
  const model = await Model.create(tinyShape, { seed: 1, std: 0.2 });
  const shapes = {
    all: { rank: 4 },
    few: { rank: 2, targets: ["q_proj", "down_proj"], rankStabilised: true },
  };
  for (const [name, options] of Object.entries(shapes)) {
    await within(Adapter.create(model, options), async (adapter) => {
      await within(Trainer.open(adapter), (trainer) => step(trainer, 1));
      await adapter.save(join(folder, name));
    });
  }
  return { folder, scratch, model };
}

const useAdapter = (context, roll) =>
  within(Adapter.load(context.model, damagedCopy(context, roll)), useModel);

async function prepareConstraint() {
  const engine = await Engine.open(await letterModel(), { tokenizer: letters });
  return { engine };
}

async function constrained({ engine }, constraint) {
  await within(engine.open(prompt(6), { seed: 1 }), async (sequence) =>
    expectFinite((await sequence.generate({ maxTokens: 8, constraint })).logprobs, "drawn log-probability"),
  );
}

/** Each prepares once, then runs a case: ends, throws a typed error, or shows a defect. */
export const targets = {
  gguf: files(useGguf, { prepare: prepareGguf }),
  model: files(loadAndUse, { from: golden, entries: families }),
  quantised: files(loadAndUse, { prepare: prepareQuantised }),
  adapter: { prepare: prepareAdapter, run: useAdapter },
  state: files(useState, { prepare: prepareState }),
  run: files(useRun, { prepare: prepareRun }),
  schema: {
    prepare: prepareConstraint,
    run: (context, roll) => constrained(context, { jsonSchema: changedSchema(roll) }),
  },
  grammar: { prepare: prepareConstraint, run: (context, roll) => constrained(context, changedGrammar(roll)) },
};

/** One thread: the tests of many files run at the same time. */
export const calmDown = () => native().setNumThreads(1);
