/** What a hurried or hostile user types: every mistake has a name, an expectation and what was found, and costs nothing. */
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { retrieveReply, startFaultServer } from "../../connectors/remote/fault-server.ts";
import { projectRoot } from "../../project.ts";
import { runCli } from "../run-cli.ts";
import { writeTinyModel } from "../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const at = (...names: string[]): string => join(folder, ...names);
const line = (row: object): string => `${JSON.stringify(row)}\n`;

await writeTinyModel(at("model"));
await writeFile(at("questions.jsonl"), line({ question: "capital of France?", answers: ["Paris"] }));
await writeFile(at("corpus.jsonl"), line({ id: "1", title: "Paris", text: "The capital of France." }));
await writeFile(at("empty.jsonl"), "");
const built = await runCli("index", "build", "--corpus", at("corpus.jsonl"), "--out", at("index"));
assert.equal(built.code, 0, built.stderr);

/** Runs a command that must fail with a sentence and no stack. */
async function assertRefused(args: readonly string[], message: RegExp, code = 1): Promise<void> {
  const result = await runCli(...args);
  assert.match(result.stderr, message);
  assert.doesNotMatch(result.stderr, /^ {4}at /m, "no stack");
  assert.deepEqual([result.code, result.stdout], [code, ""]);
}

/** A copy of the model with one file made wrong. */
async function brokenModel(name: string, change: (model: string) => Promise<void>): Promise<string> {
  await cp(at("model"), at(name), { recursive: true });
  await change(at(name));
  return at(name);
}

const agent = ["--index", at("index"), "--recipe", "search-r1", "--limits", "maxTokens=1000"];
const short = ["--limits", "maxResponseTokens=4,maxTurns=1"];

test("a broken model folder is refused by the name of the file that is wrong", async () => {
  const asFolder = await brokenModel("as-folder", async (model) => {
    await rm(join(model, "model.safetensors"));
    await mkdir(join(model, "model.safetensors"));
  });
  const cut = await brokenModel("cut", (model) => truncate(join(model, "model.safetensors"), 2000));
  const bare = await brokenModel("bare", (model) => rm(join(model, "config.json")));
  const end = await brokenModel("end", (model) =>
    writeFile(join(model, "generation_config.json"), '{"eos_token_id": "x"}'),
  );
  const tokenizer = await brokenModel("tokenizer", async (model) => {
    await rm(join(model, "tokenizer.json"));
    await mkdir(join(model, "tokenizer.json"));
  });
  const generate = (model: string) => ["generate", "--model", model, "--prompt", "a", "--max-tokens", "1"];
  await assertRefused(generate(asFolder), /^ERR_IO: .*model\.safetensors: expected a file, got a folder$/m);
  await assertRefused(
    generate(cut),
    /^ERR_FORMAT: .*model\.safetensors: header: \d+ bytes do not fit the file's 2000$/m,
  );
  const holdsNone =
    /^ERR_IO: --model: .*bare holds no config\.json\. Remedy: a model folder, a GGUF file or /m;
  await assertRefused(generate(bare), holdsNone);
  await assertRefused(generate(end), /generation_config\.json: eos_token_id: expected .*, received string/m);
  await assertRefused(generate(tokenizer), /^ERR_IO: .*tokenizer\.json: expected a file, got a folder/m);
});

test("a path that is not there is named with its option and a remedy, and a run's folder with its model's", async () => {
  const [nowhere, out] = [at("nowhere"), ["--out", at("never")]];
  const missing = (flag: string): RegExp =>
    new RegExp(`^ERR_IO: ${flag}: .*nowhere: no such file or folder\\. Remedy: .*; paths begin at /`, "m");
  const model = ["--model", at("model")];
  const questions = ["--questions", at("questions.jsonl")];
  for (const [flag, ...args] of [
    ["--model", "generate", "--model", nowhere, "--prompt", "a"],
    ["--model", "ask", "Who?", "--model", nowhere],
    ["--model", "quantize", "--model", nowhere, "--weights", "int8", ...out],
    ["--adapter", "score", ...model, "--adapter", nowhere, "--ids", "1,2"],
    ["--json-schema", "generate", ...model, "--prompt", "a", "--json-schema", nowhere],
    ["--data", "sft", ...model, "--data", nowhere, ...out],
    ["run", "runs", "show", nowhere],
    ["folder", "push", nowhere, "--to", "acme/model", "--dry-run"],
    ["first", "eval", "compare", nowhere, nowhere],
    ["--index folder", "search", "--index", nowhere, "--query", "a"],
    ["--index folder", "train", ...model, "--index", nowhere, ...questions, ...out],
    ["--questions", "eval", ...model, ...agent, "--questions", nowhere, ...out],
    ["--corpus", "index", "build", "--corpus", nowhere, ...out],
    ["--input", "corpus", "split", "--input", nowhere, ...out],
    ["--predictions", "score-answers", "--predictions", nowhere, "--rules", "squad"],
  ] as const) {
    await assertRefused(args, missing(flag));
  }
  await mkdir(at("run", "checkpoints"), { recursive: true });
  await mkdir(at("run", "model"));
  const run = ["score", "--model", at("run"), "--ids", "1"];
  await assertRefused(run, /^ERR_IO: --model: .*run is a training run\. Remedy: --model .*run\/model$/m);
  await assertRefused(
    ["score", ...model, "--adapter", at("run"), "--ids", "1"],
    /^ERR_IO: --adapter: .*run is a training run\. Remedy: --adapter .*run\/model$/m,
  );
  await assertRefused(
    ["train", ...model, ...agent, ...questions, ...out, "--weights", "int8", "--dry-run"],
    /--model: the weights of .* are int8 and cannot be trained\. Remedy: --lora/,
    2,
  );
});

test("an option without its value says what it takes", async () => {
  await assertRefused(
    ["generate", "--model", at("model"), "--seed"],
    /^error: --seed: expected <n>, got nothing$/m,
    2,
  );
  const lora = /^error: --lora: expected <rank,key=value,\.\.\.>, got nothing$/m;
  await assertRefused(["sft", "--lora"], lora, 2);
});

test("weights that are not numbers end a training without a model", async () => {
  const broken = await brokenModel("nan", async (model) => {
    const file = join(model, "model.safetensors");
    const bytes = await readFile(file);
    for (let i = 8 + Number(bytes.readBigUInt64LE(0)); i + 4 <= bytes.length; i += 4)
      bytes.writeFloatLE(Number.NaN, i);
    await writeFile(file, bytes);
  });
  const given = ["--questions", at("questions.jsonl"), "--steps", "1", "--batch-questions", "1"];
  const train = ["train", "--model", broken, ...agent, ...short, ...given, "--out", at("weights-run")];
  await assertRefused(train, /ERR_RANGE: .*embed_tokens\.weight: expected finite numbers.*got nan/);
  await assert.rejects(stat(at("weights-run", "model")));
});

test("a wrong chat template is refused by name, whether it is broken, refuses or forgets the question", async () => {
  const templates: [string, RegExp][] = [
    [
      "{% for m in messages %}{{ m.content }",
      /ERR_FORMAT: .*template-0: chat template default: Parser Error/,
    ],
    ["{{ raise_exception('no such role') }}", /ERR_ARGUMENT: chat template: no such role/],
    ["hello", /ERR_FORMAT: chat template: expected the user message in the prompt, got "hello"/],
  ];
  for (const [i, [template, message]] of templates.entries()) {
    const model = await brokenModel(`template-${i}`, (to) =>
      writeFile(join(to, "chat_template.jinja"), template),
    );
    await assertRefused(
      ["eval", "--model", model, ...agent, ...short, "--questions", at("questions.jsonl")],
      message,
    );
  }
});

test("rows that are no questions are refused with file, line, expected and actual, before anything is written", async () => {
  const rows: [string, string, RegExp][] = [
    ["missing", line({ text: "a?" }), /missing\.jsonl:1: expected column "question", got columns text/],
    [
      "blank",
      line({ question: "  ", answers: ["x"] }),
      /blank\.jsonl:1: expected column "question": a question, got " {2}"/,
    ],
    ["none", line({ question: "a?", answers: {} }), /none\.jsonl:1: expected column "answers": .* got \{\}/],
    ["number", line({ question: "a?", answers: [{}] }), /number\.jsonl:1: .*got \[\{\}\]/],
    ["nan", '{"question": NaN}\n', /nan\.jsonl:1: expected JSON/],
    ["empty", "", /empty\.jsonl: expected at least one question, got none/],
  ];
  for (const [name, text, message] of rows) {
    await writeFile(at(`${name}.jsonl`), text);
    const given = ["--model", at("model"), ...agent, ...short, "--questions", at(`${name}.jsonl`)];
    const out = at(`${name}-run`);
    await assertRefused(["eval", ...given, "--out", out], message);
    if (name === "empty") {
      const steps = ["--steps", "1", "--batch-questions", "1"];
      await assertRefused(["train", ...given, ...steps, "--out", out], message);
      const check = ["corpus", "check", "--corpus", at("index"), "--questions", at("empty.jsonl")];
      await assertRefused(check, message);
    }
    await assert.rejects(stat(out), "nothing was written");
  }
});

test("SFT data without anything to learn is refused with its place", async () => {
  const rows: [string, string, RegExp][] = [
    [
      "half",
      line({ prompt: "a" }),
      /half\.jsonl:1: expected .*\{prompt, completion\}.*, got \{"prompt":"a"\}/,
    ],
    ["mute", line({ prompt: "a", completion: "" }), /mute\.jsonl:1: expected words of the policy, got none/],
    ["void", "", /void\.jsonl: expected at least one conversation, got none/],
  ];
  for (const [name, text, message] of rows) {
    await writeFile(at(`${name}.jsonl`), text);
    const out = at(`${name}-run`);
    await assertRefused(
      ["sft", "--model", at("model"), "--data", at(`${name}.jsonl`), "--out", out],
      message,
    );
    await assert.rejects(stat(out), "nothing was written");
  }
});

test("an output that cannot be written is refused with its name and why, and leaves nothing behind", async () => {
  const file = at("corpus.jsonl");
  const questions = ["--questions", at("questions.jsonl")];
  const training = ["--model", at("model"), ...agent, ...questions, "--steps", "1", "--batch-questions", "1"];
  await assertRefused(
    ["demo", "--quick", "--out", file],
    /^ERR_IO: .*corpus\.jsonl: cannot be made: EEXIST/m,
  );
  await assertRefused(
    ["train", ...training, ...short, "--out", file],
    /corpus\.jsonl.*: cannot be .*: E[A-Z]+/,
  );
  await assertRefused(
    ["index", "build", "--corpus", file, "--out", file],
    /corpus\.jsonl: cannot be made: EEXIST/,
  );
  const before = await readdir(folder);
  const split = ["corpus", "split", "--input", file, "--out", at("model")];
  await assertRefused(split, /^ERR_IO: .*model: expected the name of a file, got a folder$/m);
  assert.deepEqual(await readdir(folder), before);
});

test("a server that is down is an error for a search, a judge, and agents before their first question", async () => {
  const down = ["--retriever", "http://127.0.0.1:1"];
  await assertRefused(["search", ...down, "--query", "x"], /ERR_REMOTE: .*127\.0\.0\.1:1.*ECONNREFUSED/);
  const questions = ["--questions", at("questions.jsonl")];
  for (const name of ["eval", "train"]) {
    const out = ["--out", at(`down-${name}`)];
    await assertRefused(
      [name, "--model", at("model"), ...down, ...questions, ...out],
      /ERR_REMOTE: .*ECONNREFUSED/,
    );
  }
  const judged = ["--judge", "http://127.0.0.1:1/v1,model=x"];
  await writeFile(at("said.jsonl"), line({ question: "a", answer: "x", prediction: "x" }));
  const score = ["score-answers", "--predictions", at("said.jsonl"), "--rules", "squad", ...judged];
  await assertRefused(score, /ERR_REMOTE: no answer could be judged; the first: .*ECONNREFUSED/);
});

test("prompts that leave no room are counted out loud", async () => {
  const given = ["--model", at("model"), "--questions", at("questions.jsonl"), "--recipe", "search-r1"];
  const long = [...given, "--index", at("index"), "--limits", "maxTokens=100"];
  const evaluated = await runCli("eval", ...long);
  assert.equal(evaluated.code, 0, evaluated.stderr);
  assert.match(evaluated.stderr, /^1 question was never answered: the prompt leaves no room for a token$/m);
  const run = ["--algorithm", "grpo", "--samples", "2", "--steps", "1", "--batch-questions", "1"];
  const trained = await runCli("train", ...long, ...run, "--out", at("mute-run"));
  assert.match(trained.stderr, /^step 1: 2 prompts do not fit the window and got no answer; remedy: /m);
});

test("searches that fail in a training are counted out loud", async () => {
  await using server = await startFaultServer(retrieveReply);
  // The first search is the one that tries the address.
  server.script.push("answer");
  server.otherwise = { status: 400, body: "no such index" };
  const world = ["--model", join(projectRoot, "world", "checkpoint"), "--recipe", "world"];
  const run = ["--algorithm", "grpo", "--samples", "2", "--steps", "1", "--batch-questions", "1"];
  const given = [...world, ...run, "--retriever", server.url, "--questions", at("questions.jsonl")];
  const { code, stderr } = await runCli("train", ...given, "--out", at("failing-run"));
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^step 1: \d+ searches failed, the first one with: .*got 400: no such index/m);
});

test("empty files, folders of other things and folders in the place of files are refused before any work", async () => {
  const empty = at("empty.jsonl");
  await mkdir(at("photographs"));
  await writeFile(at("photographs", "beach.jpg"), "");
  const build = ["index", "build", "--corpus"];
  await assertRefused(
    [...build, empty, "--out", at("unbuilt")],
    /^ERR_FORMAT: .*empty\.jsonl: expected passages, got an empty corpus$/m,
  );
  await assertRefused(
    [...build, at("corpus.jsonl"), "--out", at("photographs")],
    /^ERR_ARGUMENT: .*photographs: expected a new or empty folder, or an index; it holds beach\.jpg$/m,
  );
  const search = ["search", "--index", at("index"), "--questions"];
  await assertRefused(
    [...search, empty, "--out", at("hits.jsonl")],
    /^ERR_FORMAT: .*empty\.jsonl: expected at least one question, got none$/m,
  );
  await assertRefused(
    ["data", "generate", "--model", at("model"), ...agent, "--questions", at("questions.jsonl")].concat(
      "--out",
      at("photographs"),
    ),
    /^ERR_IO: .*photographs: expected a file to write, got a folder$/m,
  );
  assert.deepEqual(await readdir(at("photographs")), ["beach.jpg"]);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => /^(unbuilt|hits|photographs\.)/.test(name)),
    [],
  );
});
