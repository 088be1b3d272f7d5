/** Pairs of texts and vectors: splitting, word search, embedding, vector search, serving. Most benches ask their peers themselves. */

const between = (name, ours, theirs, better) => ({ name, ours, peers: theirs, better });

const split = {
  name: "corpus: documents to passages",
  needs: ["python"],
  ours: { bench: "corpus/split", args: ["--folder", "{scratch}"] },
  peer: {
    name: "the published script in plain Python",
    program: "bench/corpus/split_peer.py",
    full: ["{scratch}/kilt-100000.jsonl", "{scratch}/peer.jsonl"],
    quick: ["{scratch}/kilt-20000.jsonl", "{scratch}/peer.jsonl"],
  },
  full: ["--documents", "100000"],
  quick: ["--documents", "20000"],
  same: ["sha256"],
  figures: [
    between("passages a second", ["passagesPerSecond"], [["passagesPerSecond"]], "more"),
    between("passages a processor second", ["passagesPerCpuSecond"], [["passagesPerCpuSecond"]], "more"),
  ],
};

const words = {
  name: "bm25: build and search",
  needs: ["bm25s"],
  ours: { bench: "search/bm25", args: ["--json", "--embed", "0", "--python", "{python}"] },
  peer: { name: "bm25s with numba" },
  full: ["--passages", "1000000", "--rounds", "{rounds}"],
  quick: ["--passages", "20000", "--rounds", "{rounds}"],
  figures: [
    between(
      "passages indexed a second (ours from text, the peer from numbers; once)",
      ["seekrl", "build"],
      [["bm25s", "build"]],
      "more",
    ),
    between("queries a second, 2,000 together", ["seekrl", "together"], [["bm25s", "together"]], "more"),
    between("milliseconds of one query alone", ["seekrl", "single"], [["bm25s", "single"]], "less"),
  ],
};

const makeModels = {
  program: "bench/embed/make_models.py",
  args: ["{cache}/encoders"],
  makes: "{cache}/encoders/texts.json",
};

function embedding(name, { model, quick, needs, only, ours, peers, peer }) {
  const args = (folder, rest) => [
    `{cache}/encoders/${folder}`,
    "{cache}/encoders/texts.json",
    ...rest,
    "--rounds",
    "{rounds}",
  ];
  const figure = (key, says, better) =>
    between(
      says,
      [ours, key],
      peers.map((each) => [each, key]),
      better,
    );
  return {
    name: `embed: ${name}`,
    needs,
    prepare: makeModels,
    ours: { bench: "embed/embed", args: ["--json", "--only", only] },
    peer: { name: peer },
    env: { SEEKRL_PYTHON: "{python}", SEEKRL_PEER_MODULES: "{transformers.js}/node_modules" },
    full: args(model, []),
    quick: quick && args("minilm-l6", ["--sample", "16"]),
    figures: [
      figure("ragged", "tokens a second, texts of all lengths", "more"),
      figure("even", "tokens a second, texts of 128", "more"),
      figure("query", "milliseconds of one query", "less"),
    ],
  };
}

const bothSentences = ["sentence-transformers bfloat16", "sentence-transformers float32"];
const embeddings = [
  embedding("BERT base (MiniLM with --quick), bf16", {
    ...{ model: "bge-base", quick: true, needs: ["sentence-transformers"], only: "sentence|seekrl bfloat16" },
    ...{
      ours: "seekrl bfloat16",
      peers: bothSentences,
      peer: "sentence-transformers, the faster of bf16 and f32",
    },
  }),
  embedding("BERT base, f32", {
    ...{
      model: "bge-base",
      needs: ["sentence-transformers"],
      only: "sentence-transformers float32|seekrl float32",
    },
    ...{
      ours: "seekrl float32",
      peers: ["sentence-transformers float32"],
      peer: "sentence-transformers f32",
    },
  }),
  embedding("BERT base (MiniLM with --quick), f32, against transformers.js", {
    ...{ model: "bge-base", quick: true, needs: ["onnx", "sentence-transformers", "transformers.js"] },
    ...{ only: "seekrl float32|transformers.js", ours: "seekrl float32" },
    ...{ peers: ["transformers.js float32"], peer: "transformers.js f32 (onnxruntime)" },
  }),
];

function nearest(name, { only, needs, ours, peer, table, hasSingle = true }) {
  const figure = (key, says) => between(says, [table, ours, key], [[table, peer, key]], "more");
  return {
    name: `vectors: ${name}`,
    needs: ["faiss", ...needs],
    ours: { bench: "search/peers", args: ["--json", "--folder", "{scratch}/vectors", "--only", only] },
    peer: { name: peer },
    env: { SEEKRL_PYTHON: "{python}" },
    full: ["--rounds", "{rounds}"],
    quick: ["--count", "10000", "--queries", "256", "--rounds", "{rounds}"],
    figures: [
      figure("together", "queries a second, 256 at once"),
      ...(hasSingle ? [figure("single", "queries a second, one at a time")] : []),
    ],
  };
}

const graphs = {
  only: "^(faiss hnsw|usearch hnsw bf16|seekrl hnsw bf16)$",
  ours: "SeekRL hnsw bf16",
  table: "graph, recall 0.95",
};
const vectors = [
  nearest("exact, f32", {
    ...{ only: "^(faiss exact|seekrl exact f32)$", needs: [], table: "exact" },
    ...{ ours: "SeekRL exact f32", peer: "faiss flat f32" },
  }),
  nearest("exact, bf16 scored again by f32", {
    ...{ only: "^(faiss exact|seekrl exact bf16 again)$", needs: [], table: "exact" },
    ...{ ours: "SeekRL exact bf16, 2x scored again", peer: "faiss flat f32" },
  }),
  nearest("graph, recall 0.95, against faiss", { ...graphs, needs: ["usearch"], peer: "faiss hnsw f32" }),
  nearest("graph, recall 0.95, against usearch", {
    ...graphs,
    needs: ["usearch"],
    peer: "usearch hnsw bf16",
  }),
];

const serving = {
  name: "serve: single queries of 32 clients, f32 vectors",
  needs: ["faiss"],
  ours: { bench: "serve/clients", args: ["--json", "--dtype", "f32", "--python", "{python}"] },
  peer: { name: "Python's HTTP server before faiss, one search a request" },
  full: ["--rounds", "{rounds}"],
  quick: ["--passages", "20000", "--seconds", "2", "--rounds", "{rounds}"],
  figures: [
    between(
      "requests a second",
      ["batches, adaptive", "rate"],
      [["Python, faiss, one by one", "rate"]],
      "more",
    ),
    between(
      "milliseconds of a request, median",
      ["batches, adaptive", "p50"],
      [["Python, faiss, one by one", "p50"]],
      "less",
    ),
  ],
};

export const comparedVectors = [split, words, ...embeddings, ...vectors, serving];
