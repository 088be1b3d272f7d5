/**
 * What is compared with what. Each pair has one of our benches and the peer's program, or a bench that asks its peers itself.
 *
 * `{threads}`, `{rounds}`, `{python}`, `{cache}`, `{scratch}` and names of npm's needs in braces are put into arguments; an argument
 * list under `quick` takes the place of `full` for a first impression, and a pair without one is left out of it. A figure
 * has its place in each side's last line of JSON (or in each round's `contenders`), and says whether more or less is better.
 */
import { comparedVectors } from "./vector-pairs.mjs";

const threads = ["--threads", "{threads}"];
const qwenOf = (dtype) => ["--shape", "qwen2.5-0.5b", "--dtype", dtype];
const qwen = qwenOf("bfloat16");

/** OpenMP's threads wait by spinning or asleep: which is faster depends on what else the machine does. */
const waits = [
  { name: "threads spin while they wait" },
  { name: "threads sleep while they wait", env: { OMP_WAIT_POLICY: "passive" } },
];

const decoded = { name: "tokens sampled a second", ours: ["decode", "median"], better: "more" };
const read = { name: "tokens of prompts read a second", ours: ["prefill", "median"], better: "more" };
const ofTransformers = (figure) => ({ ...figure, peers: [figure.ours] });

function generation(name, full, { quick, figures }) {
  return {
    name: `generate: ${name}`,
    needs: ["transformers"],
    ours: { bench: "engine/generate" },
    peer: { name: "transformers", program: "bench/engine/generate_peer.py", variants: waits },
    full: [...full, "--rounds", "1", ...threads],
    quick: quick && [...quick, "--rounds", "1", ...threads],
    figures: figures.map(ofTransformers),
  };
}

function againstLlama(name, type, { weights, batch = 1, prompt = 64, hasQuick = false }) {
  const args = (numNew) => [...sampled(`${prompt}`, numNew, `${batch}`), ...["--rounds", "1", ...threads]];
  const ofLlama = (figure, key) => ({ ...figure, peers: [[key]] });
  return {
    name: `generate: Qwen2.5-0.5B's sizes, ${name}, ${batch} of ${prompt} tokens, against llama.cpp`,
    needs: ["node-llama-cpp"],
    ours: { bench: "engine/generate", args: [...qwen, ...(weights ? ["--weights", weights] : [])] },
    peer: {
      name: `llama.cpp ${type}`,
      program: "bench/engine/generate_llama.mjs",
      args: ["--modules", "{node-llama-cpp}", "--type", type, "--file", `{cache}/random-${type}.gguf`],
    },
    full: args("48"),
    quick: hasQuick ? args("16") : undefined,
    figures: [ofLlama(decoded, "decode"), ofLlama(read, "prefill")],
  };
}

function rollout(name, args, isQuick) {
  const against = (key, says) => ({
    name: `seconds of a rollout, against a loop that ${says}`,
    ours: ["median"],
    peers: [[key, "median"]],
    better: "less",
  });
  return {
    name: `rollout: ${name}`,
    needs: ["transformers"],
    ours: { bench: "engine/rollout" },
    peer: { name: "transformers", program: "bench/engine/rollout_peer.py", variants: waits },
    full: [...args, "--rounds", "1", ...threads],
    quick: isQuick
      ? [...args, "--trajectories", "4", "--turns", "2", "--rounds", "1", ...threads]
      : undefined,
    figures: [
      against("keeping", "keeps its cache"),
      against("resubmitting", "sends the whole context again"),
    ],
  };
}

/** `variants` are the peer's; full precision of its state is compared with ours by the first figure. */
function tuning(name, args, { variants, quick, ours = [] }) {
  return {
    name: `sft: ${name}`,
    needs: ["transformers"],
    ours: { bench: "train/sft", args: ours },
    peer: { name: "transformers", program: "bench/train/sft_peer.py", variants },
    full: [...args, ...threads],
    quick: quick && [...quick, ...threads],
    figures: [
      {
        name: "tokens trained a second",
        ours: ["tokensPerSecond"],
        peers: [["tokensPerSecond"]],
        better: "more",
      },
    ],
  };
}

/** Every setting of torch's under both ways of waiting. */
const underBothWaits = (settings) =>
  settings.flatMap(({ name, args }) =>
    waits.map((wait) => ({ ...wait, name: name ? `${name}; ${wait.name}` : wait.name, args })),
  );

const small = ["--sequences", "2", "--length", "256", "--share", "0.3", "--steps", "2"];

const training = [
  tuning("small model, f32", ["--steps", "6"], {
    variants: underBothWaits([{ args: [] }]),
    quick: ["--sequences", "8", "--steps", "2"],
  }),
  tuning("Qwen2.5-0.5B's sizes, bf16 with f32 master weights", [...small], {
    ours: qwen,
    variants: underBothWaits([
      { name: "all in bf16", args: [...qwen, "--batch", "2"] },
      {
        name: "f32 with bf16 products",
        args: ["--shape", "qwen2.5-0.5b", "--dtype", "float32", "--autocast", "--batch", "2"],
      },
    ]),
  }),
  tuning("Qwen2.5-0.5B's sizes, f32", [...qwenOf("float32"), ...small], {
    variants: underBothWaits([{ args: ["--batch", "2"] }]),
  }),
  tuning("Qwen2.5-0.5B's sizes, adapter of rank 16, bf16", [...qwen, ...small, "--lora", "16"], {
    variants: underBothWaits([{ args: ["--batch", "2"] }]),
  }),
  {
    name: "grpo: small model, f32, one step",
    needs: ["transformers"],
    ours: { bench: "train/grpo" },
    peer: {
      name: "a plain loop over transformers",
      program: "bench/train/grpo_peer.py",
      variants: waits,
    },
    full: ["--steps", "3", ...threads],
    quick: ["--questions", "2", "--samples", "4", "--new", "32", "--steps", "1", ...threads],
    figures: ["rolloutSeconds", "trainSeconds", "seconds"].map((key) => ({
      name: {
        rolloutSeconds: "seconds of a rollout",
        trainSeconds: "seconds of an update",
        seconds: "seconds of both",
      }[key],
      ours: [key],
      peers: [[key]],
      better: "less",
    })),
  },
];

const sampled = (prompt, numNew, batch) => ["--prompt", prompt, "--new", numNew, "--batch", batch];

const generating = [
  generation("small model, f32, 128 sequences", sampled("64", "128", "128"), {
    quick: sampled("64", "16", "128"),
    figures: [decoded, read],
  }),
  generation("small model, f32, 1 sequence", sampled("64", "128", "1"), { figures: [decoded] }),
  generation("Qwen2.5-0.5B's sizes, bf16, 1 sequence", [...qwen, ...sampled("512", "64", "1")], {
    figures: [decoded, read],
  }),
  generation("Qwen2.5-0.5B's sizes, bf16, 8 sequences", [...qwen, ...sampled("64", "48", "8")], {
    figures: [decoded, read],
  }),
  generation("Qwen2.5-0.5B's sizes, bf16, 32 sequences", [...qwen, ...sampled("64", "32", "32")], {
    figures: [decoded, read],
  }),
  generation("Qwen2.5-0.5B's sizes, bf16, a prompt of 2,048", [...qwen, ...sampled("2048", "2", "1")], {
    figures: [read],
  }),
  generation("Qwen2.5-0.5B's sizes, f32, 1 sequence", [...qwenOf("float32"), ...sampled("512", "24", "1")], {
    figures: [decoded, read],
  }),
  generation("Qwen2.5-0.5B's sizes, f32, 8 sequences", [...qwenOf("float32"), ...sampled("64", "24", "8")], {
    figures: [decoded],
  }),
  againstLlama("bf16", "BF16", { prompt: 512 }),
  againstLlama("int8", "Q8_0", { weights: "int8", hasQuick: true }),
  againstLlama("int8", "Q8_0", { weights: "int8", prompt: 512 }),
  againstLlama("int8", "Q8_0", { weights: "int8", batch: 8 }),
  againstLlama("int4", "Q4_0", { weights: "int4", prompt: 512 }),
  againstLlama("int4", "Q4_0", { weights: "int4", batch: 8 }),
  rollout("small model, f32, with searches", [], true),
  rollout("Qwen2.5-0.5B's sizes, bf16, with searches", qwen, false),
];

/** All comparisons, in the page's order. */
export const pairs = [...generating, ...training, ...comparedVectors];

/** Machines and servers that no package brings; they are measured by hand. */
export const byHand = [
  {
    name: "products and engine on a GPU against torch",
    why: "needs an NVIDIA GPU and nvcc: `bench/gpu/run.sh`",
  },
  {
    name: "graph against PostgreSQL with pgvector",
    why: "needs a server of PostgreSQL with pgvector: `npm run bench -- stores/pgvector --connection postgresql://...`",
  },
  {
    name: "GRPO against TRL's trainer",
    why: "not compared: the plain loop over transformers does the same arithmetic and less around it, so it is the harder peer",
  },
];
