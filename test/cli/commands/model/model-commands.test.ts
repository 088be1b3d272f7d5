/** tokenize, score and generate from outside, on a tiny random model. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runCli } from "../../run-cli.ts";
import { spawnAndDisturb } from "../../spawn-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const model = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(model, { recursive: true }));
await writeTinyModel(model);

interface Sample {
  readonly ids: number[];
  readonly text: string;
  readonly logprobs: number[];
  readonly stop: string;
}

async function runJson<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await runCli(...args, "--model", model, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as T;
}

async function generate(...args: string[]): Promise<Sample[]> {
  return (await runJson<{ samples: Sample[] }>("generate", "--max-tokens", "6", ...args)).samples;
}

test("tokenize gives ids", async () => {
  assert.deepEqual(await runJson("tokenize", "--text", "né"), { ids: [110, 0xc3, 0xa9] });
});

test("score gives one natural log per id, and null for the first", async () => {
  const { logprobs } = await runJson<{ logprobs: (number | null)[] }>("score", "--ids", "1,2,3");
  assert.equal(logprobs[0], null);
  assert.equal(logprobs.length, 3);
  assert.ok(logprobs.slice(1).every((logprob) => typeof logprob === "number" && logprob < 0));
});

test("score takes a text, and shows each token of it", async () => {
  const ids = [110, 0xc3, 0xa9];
  const told = await runJson<{ ids: number[]; logprobs: (number | null)[] }>("score", "--text", "né");
  assert.deepEqual(told.ids, ids);
  assert.deepEqual(told, await runJson("score", "--ids", ids.join()));
  const { stdout } = await runCli("score", "--model", model, "--text", "né");
  assert.match(stdout, /^110\t-\t"n"\n195\t-\d/);
  const both = await runCli("score", "--model", model, "--text", "a", "--ids", "1");
  assert.equal(both.code, 2);
  assert.match(both.stderr, /expected either --text or --ids/);
});

test("a text that the context ends before --max-tokens is told of", async () => {
  const short = join(model, "short");
  await writeTinyModel(short, { maxPosition: 16 });
  const asked = ["generate", "--model", short, "--ids", "97,98", "--logit-bias", "256=-Infinity"];
  const cut = await runCli(...asked, "--max-tokens", "40");
  assert.equal(cut.code, 0, cut.stderr);
  assert.match(
    cut.stderr,
    /^warning: the model's context of 16 tokens ended the text after 1\d of --max-tokens 40$/m,
  );
  assert.equal((await runCli(...asked, "--max-tokens", "8")).stderr, "");
});

test("generate gives samples whose log-probabilities are score's", async () => {
  const [sample, ...others] = await generate("--prompt", "ab", "--temperature", "1", "--seed", "4");
  assert.ok(sample);
  assert.deepEqual(others, []);
  assert.deepEqual(Object.keys(sample).sort(), ["ids", "logprobs", "stop", "text"]);
  assert.ok(["length", "eos"].includes(sample.stop));
  const ids = [97, 98, ...sample.ids].join(",");
  const { logprobs } = await runJson<{ logprobs: number[] }>("score", "--ids", ids);
  assert.equal(sample.logprobs.length, logprobs.length - 2);
  sample.logprobs.forEach((logprob, i) => {
    assert.ok(Math.abs(logprob - logprobs[i + 2]!) < 1e-5);
  });
});

test("a seed fixes the samples, and each sample has its own", async () => {
  const three = await generate("--ids", "97,98", "--samples", "3", "--seed", "4");
  const again = await generate("--ids", "97,98", "--samples", "3", "--seed", "4");
  assert.deepEqual(again, three);
  assert.equal(new Set(three.map(({ ids }) => ids.join())).size, 3);
  const [alone] = await generate("--prompt", "ab", "--seed", "4");
  assert.deepEqual(alone?.ids, three[0]?.ids, "alone or among others");
});

test("without --json the text streams to standard output", async () => {
  const args = ["--model", model, "--prompt", "ab", "--max-tokens", "6", "--temperature", "0"];
  const { code, stdout } = await runCli("generate", ...args);
  const [sample] = await generate("--prompt", "ab", "--temperature", "0");
  assert.deepEqual([code, stdout], [0, `${sample?.text}\n`]);
});

test("a prompt and ids at once, or neither, are a usage error", async () => {
  const [both, neither] = await Promise.all([
    runCli("generate", "--model", model, "--prompt", "a", "--ids", "1"),
    runCli("generate", "--model", model),
  ]);
  assert.deepEqual([both.code, neither.code], [2, 2]);
  assert.match(both.stderr, /expected either --prompt or --ids/);
});

async function longGeneration(): Promise<string[]> {
  const long = join(model, "long");
  await writeTinyModel(long, { maxPosition: 16_384 });
  return ["generate", "--model", long, "--prompt", "ab", "--temperature", "0", "--max-tokens", "16000"];
}

test("a folder without a model is named as such, one without a tokenizer too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const generateThere = () => runCli("generate", "--model", folder, "--prompt", "ab");
  assert.match(
    (await generateThere()).stderr,
    /^ERR_IO: --model: .* holds no config\.json\. Remedy: a model folder/m,
  );
  await writeTinyModel(folder);
  await rm(join(folder, "tokenizer.json"));
  assert.match((await generateThere()).stderr, /has no tokenizer: expected --ids instead of --prompt/);
  await rm(folder, { recursive: true });
});

test("Ctrl-C ends the command with exit code 1 and keeps what was written", async () => {
  const { code, stdout } = await spawnAndDisturb(
    (child) => child.kill("SIGINT"),
    ...(await longGeneration()),
  );
  assert.equal(code, 1);
  assert.ok(stdout.length > 0 && stdout.endsWith("\n"));
});

test("a reader that leaves, as head does, ends the command without a complaint", async () => {
  const args = await longGeneration();
  const { code, stderr } = await spawnAndDisturb((child) => child.stdout.destroy(), ...args);
  assert.deepEqual([code, stderr], [1, ""]);
});

test("generate takes every option of sampling and holds a text to a form", async () => {
  const seeds = ["--samples", "8", "--temperature", "2"];
  for (const { text } of await generate("--prompt", "ab", ...seeds, "--regex", "[xyz]{3}")) {
    assert.match(text, /^[xyz]{3}/);
  }
  const schema = join(model, "schema.json");
  await writeFile(schema, JSON.stringify({ enum: ["on", "off"] }));
  for (const { text } of await generate("--prompt", "ab", ...seeds, "--json-schema", schema)) {
    assert.match(text, /^"(on|off)"/);
  }
  const penalties = ["--repetition-penalty", "1.2", "--presence-penalty", "1", "--frequency-penalty", "0.5"];
  const limits = ["--top-k", "50", "--top-p", "0.9", "--min-p", "0.01"];
  const bias = ["--logit-bias", "113=1000", "--logit-bias", "114=1000", "--bad-words", "q"];
  for (const { text } of await generate("--prompt", "ab", ...seeds, ...penalties, ...limits, ...bias)) {
    assert.equal(text, "rrrrrr");
  }
  const both = await runCli("generate", "--model", model, "--prompt", "a", "--regex", "a", "--grammar", "b");
  assert.match(both.stderr, /expected one of --json-schema, --regex and --grammar/);
});

test("a text of a form parses as it is printed: the token that ends it stands in the ids alone", async () => {
  const schema = join(model, "switch.json");
  await writeFile(schema, JSON.stringify({ enum: ["on", "off"] }));
  const asked = ["--prompt", "ab", "--json-schema", schema, "--temperature", "2", "--max-tokens", "9"];
  const samples = await generate(...asked, "--samples", "3");
  for (const { ids, text, stop } of samples) {
    assert.deepEqual([stop, ids.at(-1)], ["eos", 256]);
    assert.ok(["on", "off"].includes(JSON.parse(text)));
  }
  const streamed = await runCli("generate", "--model", model, ...asked);
  assert.equal(streamed.stdout, `${samples[0]?.text}\n`);
  assert.equal(streamed.stderr, "");
  const several = await runCli("generate", "--model", model, ...asked, "--samples", "3");
  assert.deepEqual(
    several.stdout.trim().split("\n").sort(),
    samples.map(({ text }, i) => `[${i + 1}] ${text}`),
  );
});

test("a text of a form that --max-tokens cuts off is told of", async () => {
  const asked = ["generate", "--model", model, "--prompt", "ab", "--max-tokens", "2"];
  const cut = await runCli(...asked, "--regex", "[xyz]{5}");
  assert.equal(cut.code, 0, cut.stderr);
  assert.equal(cut.stderr, "warning: cut off by --max-tokens: the text is not whole\n");
  assert.equal((await runCli(...asked, "--logit-bias", "256=-Infinity")).stderr, "");
});
