/** Prints the map of the sources: every folder and file of lib, connectors, apps, web and native with the sentence that opens it. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Folders of entries: what users import. */
const entries = ["lib", "connectors", "apps", "web"];

/** What each folder is for; its files speak for themselves. */
const folders = {
  "native/base": "what every native folder needs; no torch, no JavaScript",
  "native/base/platform": "the system calls by which Linux and macOS differ",
  "native/baseline": "what lets a binary run on systems older than the one it was linked on",
  "native/comm": "the processes of one job: rendezvous, collectives, who is still there",
  "native/comm/check": "whether libtorch's collectives are what is declared here",
  "native/comm/gloo/gloo": "the declarations that c10d's headers need of Gloo",
  "native/comm/gloo/gloo/common": "the same",
  "native/comm/gloo/gloo/rendezvous": "the same: the store",
  "native/comm/gloo/gloo/transport": "the same: devices and buffers",
  "native/comm/nccl": "collectives between GPUs, by NCCL as it is found",
  "native/node/comm": "handles of process groups",
  "native/graphs": "what a GPU is asked for as one launch: CUDA's graphs, a library of its own",
  "native/kernels": "inner loops over raw pointers: what each computes, and which version a processor gets",
  "native/kernels/cpu": "a plain reference of each kernel, and fast versions by instruction set",
  "native/kernels/cpu/adamw": "the optimiser's update, and the 8-bit numbers of its moments",
  "native/kernels/cpu/attention":
    "attention of a few rows: tiles of scores, softmax, values; in bf16 by AMX tiles too",
  "native/kernels/cpu/products": "their matrix products: register tiles, AMX tiles, transposition",
  "native/kernels/cuda": "the same for NVIDIA's GPUs, a library of its own; tests run it in an emulator",
  "native/kernels/cuda/attention": "over keys and values in blocks, and over packed texts, with gradients",
  "native/kernels/cuda/encoder": "what encoders of texts do between products: layer norms, GELU, pooling",
  "native/kernels/cuda/experts":
    "the experts of a block: which a token goes through, and their products in one launch",
  "native/kernels/cuda/layer": "norms, gates, rotary positions and the way into the cache",
  "native/kernels/cuda/product":
    "products with weights in 16 bits and their gradients, and those of adapters by rows",
  "native/kernels/cuda/quant": "products with weights in 8 and 4 bits, and what they are in 16",
  "native/kernels/cuda/sampling": "draws of tokens, and what the next step takes of them",
  "native/kernels/cuda/search": "exact search of the nearest vectors",
  "native/kernels/cuda/train": "losses: rows of logits, objectives and values; the optimiser's update",
  "native/kernels/products": "matrix products: of f32, of bf16, of quantised weights",
  "native/ops": "kernels as differentiable tensor operations",
  "native/ops/attention": "attention over a packed batch: spans, the tree they form, forward and backward",
  "native/ops/gpu": "the same ops on a GPU: the library of kernels for CUDA, called on libtorch's tensors",
  "native/ops/gpu/products":
    "products of a GPU with plain and quantised weights, and the head's scores over them",
  "native/ops/elementwise": "sums, roundings, gates and caps of single numbers",
  "native/ops/head": "the language-model head: its products, and the log-probability of the chosen ids",
  "native/ops/products": "products with weights: cut for the threads, differentiable, or for reading only",
  "native/ops/quant": "quantised weights: how they are kept, and made of f32",
  "native/model": "the decoder and its attention seam",
  "native/model/adapters": "LoRA: numbers beside the weights, which rows go through which, merging",
  "native/model/encoders": "models that turn texts into vectors or scores",
  "native/search": "what the files of an index share",
  "native/search/passages": "the passage store, and what is counted over its texts",
  "native/search/vectors": "vectors on disk and in memory, and the search of the nearest",
  "native/search/vectors/dots": "products of queries and rows, by instruction set",
  "native/search/vectors/hnsw": "the graph that finds near vectors without comparing all",
  "native/search/words": "texts as words: BM25, the hashed embedder",
  "native/model/gguf": "weights as GGUF files keep them",
  "native/model/stored": "numbers of files, looked at while they are copied",
  "native/model/parallel":
    "one decoder over the ranks of a group: who holds what, sums over ranks, what rank 0 tells the others",
  "native/model/pass":
    "what goes on between the layers of a training pass: observers, activations made again",
  "native/model/rope": "rotary frequencies of every kind, and their tables",
  "native/engine": "batched generation over a paged KV pool",
  "native/engine/follow":
    "steps of rank 0 as the other ranks of a model under tensor parallelism are told of them",
  "native/follow":
    "what a rank other than 0 does with a model that ranks share: its part of what rank 0 does",
  "native/engine/attention": "attention of a step's rows over the block pool, on the CPU and on a GPU",
  "native/engine/decode": "decoding on a GPU: inputs kept there, steps as graphs, the host one step behind",
  "native/engine/memory":
    "keys and values in blocks, found again by prefixes; what they and a step take of a GPU",
  "native/engine/sampling": "draws of tokens: edits of logits, limits, masks",
  "native/train": "losses, optimiser and packed training steps",
  "native/train/follow": "what learns on a model that ranks share: rank 0 is asked, and tells the others",
  "native/train/zero": "what ranks share out: gradients, weights, the pieces of a state, the norm over all",
  "native/node": "the only folder that knows JavaScript: exports, queues, values",
  "native/node/model": "handles of decoders, engines and encoders",
  "native/node/search": "handles of passages, words and vectors",
  "native/node/train": "handles of what learns",
  "native/preload": "opens libtorch's libraries before the engine's addon",
  "lib/base/packages": "finds addon and libtorch in a clone or in packages, and says what does not fit",
  "lib/base": "what every folder needs: errors, deadlines, seeds",
  "lib/base/disk": "where caches are, and why the file system takes no file",
  "lib/base/files": "files, caches and locks on disk",
  "lib/base/gguf": "the header of GGUF files: metadata and tensors",
  "lib/base/slices": "long work that lets others have their turn",
  "lib/base/addon": "the native addon: how it is loaded, and its types, area by area",
  "lib/comm": "many processes as one training: which one this is, and what they say to each other",
  "apps/cluster": "what a launcher tells each process of a job, and a port for them to meet at",
  "apps/cluster/launchers": "the variables that each launcher sets for its processes",
  "lib/text": "what a model reads and writes",
  "lib/text/templates": "chat templates",
  "lib/text/tokenizers": "from text to ids and back",
  "lib/text/analysis": "from text to the words and terms of search: forms of letters, scripts, languages",
  "lib/text/words": "texts cut natively into words and phrases, and answers as scoring normalises them",
  "lib/data": "JSON rows and questions on disk",
  "lib/search/corpus": "documents, passages and the store they are read from",
  "lib/model": "Hugging Face model folders and the weights' handle",
  "lib/model/config": "config.json of every family, as one set of sizes and choices",
  "lib/model/form":
    "what a model and an adapter will be in memory, from files that say it, before a weight is read",
  "lib/model/gguf": "a GGUF file as a model folder",
  "lib/search/embed": "from text to vectors: the hashed embedder, encoders, re-ranking",
  "lib/search": "from passages to hits",
  "lib/search/batching": "what many callers ask one by one as calls for many",
  "connectors/remote": "servers of other systems as searches: protocols, retries, limits",
  "connectors/stores": "databases of passages as searches, and how passages get there",
  "lib/search/index-folder": "an index on disk: segments under one manifest, built, changed and opened",
  "lib/search/corpus-check": "whether a corpus can answer questions",
  "connectors/web": "search engines of the web, and the text of its pages",
  "apps/world": "the built-in fictional world",
  "lib/engine": "sequences that generate, append and fork",
  "lib/engine/constraint": "text held to a schema, an expression or a grammar",
  "lib/engine/constraint/grammar": "grammars over bytes, and which tokens may follow in them",
  "lib/engine/constraint/json-schema": "JSON schemas as grammars",
  "lib/rollout/tools": "what agents may call: definitions, the box that runs calls, grammars of calls",
  "lib/rollout/tools/built-in": "search, documents, knowledge graph and calculator as tools",
  "connectors/tools": "tools that ask others: pages of the web, servers of the Model Context Protocol",
  "connectors/reward": "rewards from a server",
  "connectors/tools/mcp": "servers of the Model Context Protocol as tools",
  "lib/rollout": "one agent on one question: model and search as it sees them, limits, trajectory",
  "lib/rollout/grammars": "the action in what a policy wrote",
  "lib/rollout/formats": "each family's conversation: its prompt, its grammar, what the environment answers",
  "lib/rollout/session": "sessions, searches and calls of one question: recorded, within limits",
  "lib/rollout/stack": "rollouts over a memory stack, whose turns drop context",
  "lib/rollout/agents": "agents from plain functions; the search agent",
  "apps/baselines": "published ways to answer with a search, to compare an agent with",
  "connectors/endpoint": "a server of completions in place of the engine",
  "connectors/workers":
    "servers that roll out for a training: a pool, its places, the weights that they are given",
  "connectors/workers/servers": "one file for each kind of server: ids in, ids and log-probabilities out",
  "lib/reward": "from a trajectory to a number",
  "lib/evaluate": "a policy over a question set",
  "lib/train": "SFT and RL loops, advantages, checkpoints, run log",
  "apps/runs": "run folders read while they are written: metrics, trajectories, state",
  "apps/runs/logs": "growing files of lines, and columns of numbers out of them",
  "apps/runs/metrics": "curves and pace",
  "apps/runs/evaluations": "files of results: numbers of questions, figures",
  "apps/runs/export": "runs as CSV, Inspect's log, Trackio's database",
  "apps/runs/export/html": "a run as one page to send: curves, figures, conversations",
  "apps/runs/trajectories": "an index over any number of them: filters, order, groups, single ones",
  "lib/recipes": "published systems as plain options",
  "apps/push": "models to the hub: which files, whole, with a card",
  "apps/push/card": "the model card: recipe, data, settings, scores, use",
  "apps/plan": "how long a training step takes on many devices, and what each holds, computed",
  "apps/lint": "conversations with an agent's real parts, and whether the laws hold in them",
  "apps/lint/checks": "one file for each check",
  "apps/lint/checks/text": "checks of what is written: template, tokenizer, tags",
  "apps/lint/checks/loop": "checks of what is run: rollouts, log-probabilities, batches",
  "apps/studio": "a local page over runs, and the server behind it",
  "apps/studio/api": "what page and server say to each other",
  "apps/studio/page": "the built page's files",
  "apps/studio/routes": "the paths of the API",
  "apps/studio/runs": "runs as the page shows them, and what it does with them",
  "apps/studio/search": "the index, and why its passages rank",
  "web/base": "what the studio's page computes, without a browser",
  "web/base/colour": "colours from numbers: even steps that text can be read on",
  "web/base/chat": "replies from their streams, conversations that branch, the Markdown in them",
  "web/api": "requests to the page's server",
  "web/parts": "controls, charts, long lists",
  "web/shell": "the frame of the page: its way between panels, theme, key",
  "web/conversation": "a trajectory as a conversation, its tokens in colour",
  "web/panels": "one folder for each panel",
  "web/panels/runs": "runs: the list, curves, options, stop and resume",
  "web/panels/trajectories": "trajectories: the list and its filters, groups, memory",
  "web/panels/evaluation": "evaluations: figures, questions, two side by side",
  "web/panels/corpus": "the index: why passages rank, what is in it",
  "web/panels/chat": "chat with models and agents",
  "web/panels/live": "a run while it trains",
  "apps/serve": "models, searches and rewards over HTTP",
  "apps/world/demo": "the whole loop in one command",
  "apps/world/demo/parts": "its parts, each in a process of its own, and their lines of progress",
  "apps/world/demo/report": "what it found: curves, table, conversations",
  "lib/train/curate": "training data from a teacher: right trajectories, samples, chosen questions",
  "apps/world/ablations": "RAG-R1 with one part left out at a time, on the built-in world",
  "apps/cli": "the seekrl command: options, progress, what commands open",
  "apps/world/story": "who lives in the world, what is written about them, what is asked",
  "apps/world/teachers": "who shows how questions are answered, and what they write",
  "apps/world/recipes": "recipes for the world's model and its short window",
  "apps/cli/chat": "a conversation in the terminal: who answers, what is typed, commands within it",
  "apps/cli/options": "options that commands share, and what they describe",
  "apps/cli/machine": "drivers, GPUs and libraries of the machine, and whether they run a model",
  "apps/cli/config": "options that files bring along, and what of them somebody else may have written",
  "apps/cli/fetch": "files and models that options name elsewhere, fetched before a command reads them",
  "apps/cli/open": "what commands open: models, learners, policies, files",
  "apps/cli/report": "what commands print: tables, progress, pace",
  "lib/text/tokenizers/gguf": "the tokenizer and chat template of a GGUF file",
  "lib/text/tokenizers/json": "tokenizer.json files",
  "lib/text/tokenizers/patterns": "patterns in a tokenizer.json: translation, cost, sets of code points",
  "lib/text/tokenizers/sentencepiece": "SentencePiece model files",
  "lib/data/files": "rows from files of every kind",
  "lib/data/logs": "logs of a run",
  "lib/search/index-folder/build": "from passages to segments on disk",
  "lib/search/index-folder/explain": "why passages rank where they do",
  "lib/search/index-folder/shard": "an index as a part of a larger one",
  "lib/search/index-folder/change": "adding, removing and merging under a journal",
  "connectors/remote/files": "files at an address",
  "connectors/remote/hub": "models and data sets of the Hugging Face hub by their names",
  "connectors/remote/hub/upload": "files into a repository of the hub, as one commit",
  "connectors/remote/network": "how a request leaves: straight, or through a proxy",
  "connectors/remote/shards": "one search over the parts of an index on several machines",
  "lib/reward/metrics": "answers against references: EM, F1, BLEU, ROUGE, each system's rules",
  "lib/reward/systems": "the published systems' rewards, one file each",
  "lib/evaluate/statistics": "intervals, tests, pass@k",
  "lib/train/algorithm": "what is optimised: presets, advantages, schedules",
  "lib/train/batch": "from trajectories to packed rows",
  "lib/train/pipeline": "rollouts ahead of their step: how far, how stale, what corrects them",
  "lib/train/roles": "who generates and who trains, and what the ranks of a job go through together",
  "lib/train/memory": "what a training holds at its peak, and what layers keep for the backward pass",
  "lib/train/learner": "models that learn: policy, critic, one update",
  "lib/train/run": "a run's folder: checkpoints, logs, resuming",
  "apps/serve/agent": "a search agent as a model: thoughts, searches, answer and citations as they come",
  "apps/serve/ai-sdk": "served models for the AI SDK, in the same process",
  "apps/serve/api": "the protocols that clients of language models speak",
  "apps/serve/api/fields": "what requests of all protocols share",
  "apps/serve/api/responses": "the Responses protocol, as Open Responses specifies it",
  "apps/serve/api/responses/items": "what its conversations are made of",
  "apps/serve/api/messages": "Anthropic's messages",
  "apps/serve/api/completions": "OpenAI's completions, which continue texts",
  "apps/serve/api/chat": "OpenAI's chat completions",
  "apps/serve/generation": "which requests run, and their tokens as text",
  "apps/serve/model": "language models under names, and the server of them",
  "apps/serve/telemetry": "spans and metrics of replies for OpenTelemetry",
  "apps/serve/http/socket": "WebSockets on the server's port",
  "apps/serve/http/body": "bodies of requests: read, bounded, checked",
  "apps/serve/http/access": "who may ask",
  "apps/serve/api/texts": "tokens, prompts and models without a reply",
  "apps/serve/learn": "replies recorded and scored, and a model that learns from them",
  "apps/serve/http": "requests, refusals, concurrency",
  "apps/serve/retriever": "a search as a server",
  "apps/serve/retriever/protocols": "one file for each protocol of the published systems",
  "apps/serve/mcp": "search, documents and agent as tools of the Model Context Protocol",
  "apps/serve/reply": "what stands between protocols and models: what is asked, what is replied",
  "apps/serve/reading": "what a reply says: reasoning, text and calls, in the form of each model",
  "apps/serve/reading/grammars": "what a reply is held to: calls that meet their schemas, behind reasoning",
  "apps/serve/reading/templates": "conversations with functions, as chat templates expect them",
  "apps/cli/commands": "one file for each command",
  "apps/cli/commands/serve": "servers of models, agents and tools",
  "apps/cli/commands/corpus": "corpora, indexes and retrievers",
  "apps/cli/commands/data": "questions and SFT data",
  "apps/cli/commands/evaluate": "figures: evaluation, scoring, rewards over HTTP",
  "apps/cli/commands/launch": "one command as many processes: their variables, logs and ends",
  "apps/cli/commands/model": "one model: ask, generate, score, tokenize, lint",
  "apps/cli/commands/runs": "runs: list, show, tail, compare, export",
  "apps/cli/commands/setup": "what the machine needs, and what it has",
  "apps/cli/commands/studio": "the page over runs",
  "apps/cli/commands/train": "commands that change weights, and the built-in world",
};

function sources() {
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "lib", "connectors", "apps", "web", "native"],
    {
      cwd: root,
      encoding: "utf8",
    },
  );
  const files = [...new Set(listed.split("\n"))].filter((file) =>
    /\.(tsx?|mjs|h|cpp|cu|cuh|cmake)$/.test(file),
  );
  // A folder's own files stand before those of its folders.
  const place = (file) => `${dirname(file)}/ ${file}`;
  return files.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

/** The first sentence of the comment that opens a file. */
function purposeOf(file) {
  const lines = readFileSync(join(root, file), "utf8").split("\n");
  const words = [];
  for (const line of lines) {
    if (!/^(\/\*\*| \*|\/\/|#)/.test(line)) break;
    words.push(
      line
        .replace(/^(\/\*\*| \*\/?|\/\/|#) ?/, "")
        .replace(/\*\/$/, "")
        .trim(),
    );
    if (words.at(-1) === "" && words.length > 1) break;
  }
  const text = words.join(" ").trim();
  return (/^.*?[.](?= |$)/.exec(text)?.[0] ?? text).replace(/[.:]$/, "");
}

let folder = "";
for (const file of sources()) {
  const current = dirname(file);
  if (current !== folder && !entries.includes(current)) {
    if (!folders[current]) throw new Error(`scripts/map.mjs: say what ${current} is for`);
    process.stdout.write(`${current}/  ${folders[current]}\n`);
  }
  folder = current;
  process.stdout.write(`  ${file}  ${purposeOf(file)}\n`);
}
