/**
 * How long does a client wait for its first token, beside llama.cpp's server?
 *
 * `npm run bench -- serve/load/first-token --model MODEL.gguf --llama PATH/llama-server [--prompts 32,512] [--beside 0,8]
 * [--rounds 7] [--dtype float32] [--weights int8]`: the same file for both, and a thread for each core, which are asked in
 * turn. Prompts are ids that no prompt before began with, so that nothing is found cached; with `--beside`, so many streams of
 * others run meanwhile.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freePort } from "../../../apps/cluster/free-port.ts";
import { Dice } from "../../../lib/base/random.ts";
import { Client, requestText } from "./client.ts";
import { median, serve } from "./served.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "model.gguf" },
    llama: { type: "string", default: "llama-server" },
    prompts: { type: "string", default: "32,512" },
    beside: { type: "string", default: "0,8" },
    rounds: { type: "string", default: "7" },
    dtype: { type: "string", default: "float32" },
    weights: { type: "string", default: "plain" },
  },
});

const threads = `${availableParallelism()}`;

/** Ids that both tokenizers know and that end nothing. */
const numIds = 10_000;
const dice = new Dice(1);

async function startLlama(): Promise<{ child: ChildProcess; url: URL }> {
  const port = await freePort();
  const slots = 1 + Math.max(...values.beside.split(",").map(Number));
  const args = ["-m", values.model, "--port", `${port}`, "-t", threads, "-tb", threads];
  const child = spawn(values.llama, [...args, "-np", `${slots}`, "-c", `${2048 * slots}`], {
    stdio: "ignore",
  });
  const url = new URL(`http://127.0.0.1:${port}`);
  for (;;) {
    const answer = await fetch(new URL("/health", url)).catch(() => undefined);
    if (answer?.ok) return { child, url };
    await sleep(100);
  }
}

/** @returns milliseconds to the first event with text */
async function ask(url: URL, { numPrompt, maxTokens }: { numPrompt: number; maxTokens: number }) {
  const prompt = Array.from({ length: numPrompt }, () => Math.floor(numIds * dice.next()));
  const body = { model: "m", prompt, max_tokens: maxTokens, stream: true, temperature: 1 };
  const client = new Client(url, '"text":"');
  const { status, firstMs } = await client.stream(requestText("/v1/completions", body));
  client.close();
  if (status !== 200) throw new Error(`${url}: status ${status}`);
  return firstMs;
}

/** Asks once while others stream. */
async function besideOthers(url: URL, numBeside: number, numPrompt: number): Promise<number> {
  let isOver = false;
  let numBegun = 0;
  const others = Array.from({ length: numBeside }, async () => {
    while (!isOver) {
      await ask(url, { numPrompt: 32, maxTokens: 16 });
      numBegun += 1;
    }
  });
  while (numBegun < numBeside) await sleep(1);
  const ms = await ask(url, { numPrompt, maxTokens: 2 });
  isOver = true;
  await Promise.all(others);
  return ms;
}

await using served = await serve(values.model, "--dtype", values.dtype, "--weights", values.weights);
const llama = await startLlama();
process.stdout.write(
  "| prompt tokens | streams beside | first token ms | llama.cpp ms | ratio of medians | worst pair |\n|---|---|---|---|---|---|\n",
);
for (const numBeside of values.beside.split(",").map(Number)) {
  for (const numPrompt of values.prompts.split(",").map(Number)) {
    const [ours, theirs]: [number[], number[]] = [[], []];
    for (let round = 0; round <= Number(values.rounds); round++) {
      const pair = [];
      for (const { url } of [served, llama]) pair.push(await besideOthers(url, numBeside, numPrompt));
      // The first one warms up.
      if (round === 0) continue;
      ours.push(pair[0]!);
      theirs.push(pair[1]!);
    }
    const [our, their] = [median(ours), median(theirs)];
    const worst = Math.max(...ours.map((ms, i) => ms / theirs[i]!));
    const row = [
      numPrompt,
      numBeside,
      our.toFixed(1),
      their.toFixed(1),
      (our / their).toFixed(2),
      worst.toFixed(2),
    ];
    process.stdout.write(`| ${row.join(" | ")} |\n`);
  }
}
llama.child.kill();
